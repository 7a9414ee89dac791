// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The request of a transfer while it is sent: how far it has got, and whether it may be sent again.
struct RequestSending {
    private(set) var mayHaveBeenSent = false
    /// Whether libcurl has begun the transfer again after its request was sent, and counts sent bytes from zero.
    private(set) var countsFromZero = false
    /// Whether it was sent over HTTP/1.x.
    private(set) var isOverHTTP1 = false
    /// The time at which it was sent.
    private(set) var sentAt: Int64 = 0
    /// The time at which its last byte was sent; `Int64.max` before.
    var bodySentAt: Int64 = .max
    /// The number of sent bytes of its body.
    private(set) var bodyBytes = 0
    /// Whether the source of its body has nothing to send.
    var isPaused = false
    /// Whether it was sent before, and may have been processed then.
    private(set) var isRepeated = false
    /// Whether it was sent once more because its connection became silent.
    var isElsewhere = false
    /// Whether its kept connection died, and libcurl connects again.
    private(set) var isRedialed = false
    /// Its stream; `nil` over HTTP/1.x.
    var stream: RequestStream?
    /// Whether it is counted in ``Connection/unrepeatable``.
    var isCounted = false

    /// Notes that it is about to be sent.
    mutating func begin(isOverHTTP1: Bool, at now: Int64) {
        mayHaveBeenSent = true
        countsFromZero = false
        self.isOverHTTP1 = isOverHTTP1
        sentAt = now
    }

    /// Notes that nothing of it was sent after all.
    mutating func takeBack() { mayHaveBeenSent = false }

    /// Notes that libcurl begins its transfer again.
    mutating func beginAgain(countsFromZero: Bool) {
        isRepeated = true
        if countsFromZero { self.countsFromZero = true }
    }

    /// Notes that it will be sent on another connection.
    mutating func redial() {
        isRedialed = true
        isElsewhere = false
    }

    /// Notes that it starts from its beginning.
    mutating func restart() {
        mayHaveBeenSent = false
        bodyBytes = 0
        isPaused = false
    }

    /// Notes sent bytes of the body.
    mutating func add(_ count: Int) { bodyBytes += count }

    /// Copies the next bytes of a body in memory.
    mutating func copy(_ bytes: [UInt8], into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(buffer.count, bytes.count - bodyBytes)
        buffer.copyBytes(from: bytes[bodyBytes..<(bodyBytes + count)])
        bodyBytes += count
        return count
    }
}
