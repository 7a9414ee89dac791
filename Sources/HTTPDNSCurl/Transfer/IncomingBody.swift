// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The response body of a transfer, between libcurl and its reader. A value type: it receives bytes, and tells whether reading
/// pauses.
struct IncomingBody {
    /// The full chunks of this loop turn; the current one is separate.
    private var chunks: [[UInt8]] = []
    private var chunk: [UInt8] = []
    /// The most bytes of a chunk. A chunk above the usual size is delivered when it is full, or at the end.
    private var chunkSize = EasyHandle.maximumChunk
    /// The most bytes that a larger chunk can get.
    private var gatheredBytes = 0
    /// Bytes that were not delivered yet.
    private(set) var pendingBytes = 0
    /// Bytes received in the last turn that had any.
    private var lastTurnBytes = 0
    /// The number of unread bytes when the caller's buffer was last checked.
    private(set) var unreadBytes = 0
    private(set) var count = 0
    /// The maximum number of bytes.
    var maximum = Int.max
    private(set) var isPaused = false
    /// The time at which reading first paused; `Int64.max` if it never did.
    private(set) var firstPausedAt = Int64.max
    /// Whether libcurl is delivering the bytes that it kept while reading was paused.
    var isTakingKept = false
    /// The time until which the rest of an unwanted body is read and dropped; `Int64.max` when the body is wanted.
    private(set) var discardsUntil = Int64.max
    /// The number of dropped bytes.
    private var discardedBytes = 0
    /// Whether only the end of the connection ends the body, and TLS must prove that end (libcurl quirk "Truncated TLS
    /// bodies pass").
    var awaitsCloseNotify = false
    /// Whether TLS has proved it.
    var hasCloseNotify = false

    /// Whether the rest of the body is read and dropped.
    var isDiscarding: Bool { discardsUntil < .max }
    /// Whether the end of the body was not proved by TLS: somebody on the path may have cut it off.
    var isCutOff: Bool { awaitsCloseNotify && !hasCloseNotify }
    private var gathers: Bool { chunkSize > EasyHandle.maximumChunk }
    /// The number of unread bytes at which reading pauses.
    var window: Int { max(Transfer.window, 2 * min(chunkSize, Int.max / 2)) }
    /// Whether the reader's buffer may be full.
    var mayFillWindow: Bool { unreadBytes + pendingBytes >= window }

    /// Takes bytes, unless they exceed the maximum.
    /// - Returns: Whether more may follow.
    mutating func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
        count += bytes.count
        if count > maximum { return false }
        if chunk.count + bytes.count > chunkSize, !chunk.isEmpty {
            chunks.append(chunk)
            chunk = []
        }
        if gathers, chunk.count + bytes.count > chunk.capacity {
            // 64 times of what has arrived: a server that only declares a length takes no memory, and copies are rare.
            chunk.reserveCapacity(min(gatheredBytes, 64 * (chunk.count + bytes.count)))
        }
        // A second piece in one turn usually means many: reserve a whole chunk once instead of growing to it. In a long body the
        // first piece reserves it, so that it is not copied again.
        let isLong = bytes.count >= EasyHandle.fullPiece && max(lastTurnBytes, pendingBytes) >= EasyHandle.maximumChunk
        if isLong || chunk.count >= EasyHandle.fullPiece, chunk.capacity < EasyHandle.maximumChunk {
            chunk.reserveCapacity(EasyHandle.maximumChunk)
        }
        chunk.append(contentsOf: bytes)
        pendingBytes += bytes.count
        return true
    }

    /// Gathers chunks of another size from now on, for a reader of large pieces: it is woken less often, and a body that it wants
    /// whole is copied once.
    /// - Parameters:
    ///   - unread: The chunks that the reader has not taken.
    ///   - length: The most bytes that the body can have.
    mutating func gather(_ size: Int, unread: [[UInt8]], length: UInt64) {
        chunkSize = size
        gatheredBytes = min(size, Int(clamping: length), maximum)
        var gathered: [UInt8] = []
        for piece in unread + chunks { gathered += piece }
        gathered += chunk
        chunks = []
        chunk = gathered
        pendingBytes = gathered.count
        unreadBytes = 0
    }

    /// Ends a loop turn, or the body.
    /// - Returns: The chunks that it received, the last one apart.
    mutating func takeChunks(atEnd: Bool) -> (full: [[UInt8]], last: [UInt8]) {
        let kept = gathers && !atEnd ? chunk.count : 0
        let taken = (chunks, kept > 0 ? [] : chunk)
        chunks = []
        if kept == 0 { chunk = [] }
        unreadBytes += pendingBytes - kept
        if pendingBytes > kept { lastTurnBytes = pendingBytes - kept }
        pendingBytes = kept
        return taken
    }

    /// Pauses reading if the reader's buffer is full.
    /// - Returns: Whether it pauses.
    mutating func pauses(for transfer: Transfer, ifOver limit: Int, at now: Int64) -> Bool {
        let pending = pendingBytes
        let (pauses, unread) = transfer.response.withLock {
            ($0.pauseReading(ifOver: limit, pending: pending), $0.bufferedBytes)
        }
        unreadBytes = unread
        guard pauses else { return false }
        isPaused = true
        firstPausedAt = min(firstPausedAt, now)
        return true
    }

    mutating func resume() {
        isPaused = false
        unreadBytes = 0
    }

    /// Drops what has arrived, and the rest until a time.
    mutating func discard(until end: Int64) {
        discardsUntil = end
        chunks = []
        chunk = []
        pendingBytes = 0
        unreadBytes = 0
    }

    /// Drops bytes of an unwanted body.
    /// - Returns: Whether more may follow.
    mutating func discard(_ bytes: UnsafeRawBufferPointer) -> Bool {
        discardedBytes += bytes.count
        return discardedBytes <= TransportLoop.maximumDiscardedBytes
    }
}
