// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

// Response bodies that are dropped unread. Over HTTP/2 their stream is reset. An HTTP/1.1 connection can carry another request
// only after the last byte, so a short rest is read and dropped.
extension TransportLoop {
    /// The maximum number of bytes that are read: one read of libcurl (CURL_MAX_WRITE_SIZE). A longer rest takes more time than a
    /// new connection.
    static let maximumDiscardedBytes = EasyHandle.fullPiece

    /// Ends the transfer of a response whose body nobody will read.
    func endUnread(_ transfer: Transfer) {
        guard let handle = transfer.handle, !isDraining, handle.hasShortRest else { return cancel(transfer) }
        // Its connection permit stays: the connection cannot carry another request yet.
        handle.discardsUntil = moment(configuration.discardTime, after: now)
        handle.chunks = []
        handle.chunk = []
        handle.pendingBytes = 0
        handle.unreadBytes = 0
        deadlineMayBeEarlier(for: handle)
        // This may end the transfer.
        resumeReading(handle)
    }
}

extension EasyHandle {
    /// Whether the rest of the body is read and dropped.
    var isDiscarding: Bool { discardsUntil < .max }

    /// Whether the connection can be used again after a rest that may be short.
    fileprivate var hasShortRest: Bool {
        guard isSentOverHTTP1, isHeadComplete, !hasFailed, let transfer, !transfer.isCancelled else { return false }
        guard loop.keepsConnections, pin?.isRetired == false, head.starts(with: "HTTP/1.1".utf8) else { return false }
        // libcurl keeps no connection on which the request was not sent to its end.
        guard !transfer.hasBytesToSend || isBodySent else { return false }
        let fields = ResponseHeadParser.fields(head)
        if fields[values: .connection].contains(where: EasyHandle.listsClose) { return false }
        // The length is unknown: it may be short (RFC 9112 section 7.1).
        if fields.contains(.transferEncoding) { return true }
        guard let length = declaredLength.length else { return false }
        let received = UInt64(max(0, receivedBodyBytes))
        return length >= received && length - received <= UInt64(TransportLoop.maximumDiscardedBytes)
    }

    /// Whether a `Connection` field ends the connection (RFC 9112 section 9.6).
    private static func listsClose(_ value: String) -> Bool {
        value.lowercased().split(separator: ",").contains { $0.drop { $0 == " " || $0 == "\t" }.hasPrefix("close") }
    }

    /// Drops bytes of an unwanted body.
    /// - Returns: The number of bytes, or 0 to end the transfer.
    func discard(_ bytes: UnsafeRawBufferPointer) -> Int {
        discardedBytes += bytes.count
        guard discardedBytes <= TransportLoop.maximumDiscardedBytes else {
            failure = TransferFailure.tooLong(TransportLoop.maximumDiscardedBytes)
            return 0
        }
        return bytes.count
    }
}
