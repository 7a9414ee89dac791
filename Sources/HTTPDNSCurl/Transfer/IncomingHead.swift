// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The response head of a transfer while it arrives, and the trailer section after the body. A value type: it receives lines, and
/// tells the rule that they break.
struct IncomingHead {
    /// The bytes of the head so far, without those of interim responses.
    private(set) var bytes: [UInt8] = []
    /// The status in the head so far.
    private(set) var status: Int?
    private(set) var isComplete = false
    /// Whether the last piece of the head that was checked beforehand was no whole line.
    private var isInsideLine = false
    /// The head, checked when it arrived; taken for its delivery.
    private var received: (head: ResponseHead, version: HTTPDNSTransfer.HTTPVersion)?
    private(set) var isDelivered = false
    /// The interim responses of an attempt that competes with others.
    private var heldInterim: [ResponseHead] = []
    private(set) var declaredLength = DeclaredLength()
    /// Whether there is a `Content-Encoding`. Its codings are decoded when the body is read.
    private(set) var declaresCoding = false
    /// Whether there is a `Transfer-Encoding: chunked`.
    private(set) var isChunked = false
    /// The limits of the connection that are announced.
    private(set) var keepAlive = AnnouncedKeepAlive()
    /// Whether the response counts against limits of the connection.
    var countsKeepAlive = false
    /// The lines of the trailer section; `nil` without one.
    private(set) var trailers: TrailerLines?

    /// Whether anything of a response has arrived.
    var isBegun: Bool { isComplete || !bytes.isEmpty }

    /// Whether the head so far belongs to a 1xx response, which another one follows (RFC 9110 section 15.2).
    var isInterim: Bool { status.map { 100..<200 ~= $0 } ?? false }

    /// The end of a head.
    enum End {
        /// Another head follows.
        case interim(ResponseHead)
        case final(HTTPDNSTransfer.HTTPVersion)
    }

    /// Reads a line of the head, including its end; not the empty line that ends it.
    /// - Throws: ``TransferFailure`` when the transfer must end: inside libcurl, so that the connection is not kept.
    mutating func read(_ line: UnsafeRawBufferPointer) throws(TransferFailure) {
        // Two letters tell Content-Length and Content-Encoding from nearly all other fields.
        let isAboutBody = line.count > 8 && line[0] | 0x20 == UInt8(ascii: "c")
        let letter = isAboutBody ? line[8] | 0x20 : 0
        if letter == UInt8(ascii: "l"), let violation = declaredLength.read(line) {
            throw TransferFailure(code: .protocolViolation, phase: .firstByte, message: violation.message)
        }
        if bytes.isEmpty {
            bytes.reserveCapacity(512)
            status = IncomingHead.status(in: line)
        }
        if letter == UInt8(ascii: "e"), line.value(of: "content-encoding:") != nil { declaresCoding = true }
        switch line[0] | 0x20 {
        case UInt8(ascii: "t"): try takeTransferCodings(line)
        case UInt8(ascii: "k"):
            keepAlive.read(line)
            countsKeepAlive = countsKeepAlive || keepAlive.isAnnounced
        default:
            // libcurl reads each line of a Transfer-Encoding alone.
            if line.isContinuation, continuesTransferCoding, !isInterim { throw IncomingHead.otherTransferCoding }
        }
        bytes.append(contentsOf: line)
    }

    /// Checks the head that has ended, and keeps it if it is the final one.
    /// - Throws: ``TransferFailure`` when it breaks a rule: what the server sends next may be read in two ways.
    mutating func end(isHTTP2Only: Bool) throws(TransferFailure) -> End {
        let received = try ResponseHead.received(bytes, declaresCoding: declaresCoding)
        // 101 is the only 1xx response that no other follows (RFC 9110 section 15.2.2): the next bytes are not HTTP.
        if status == 101 { throw IncomingHead.switchedProtocols }
        if isInterim {
            bytes.removeAll(keepingCapacity: true)
            status = nil
            declaredLength = DeclaredLength()
            isChunked = false
            declaresCoding = false
            return .interim(received.0)
        }
        if isHTTP2Only, received.1 != .http2 { throw IncomingHead.otherVersion(received.1) }
        self.received = received
        isComplete = true
        return .final(received.1)
    }

    /// Checks a piece of the head before libcurl reads it.
    ///
    /// libcurl quirk: A folded first line (7.88.1; corrected in 8.2, by curl's pull request 11103). Before the first
    /// field libcurl appends a folded line to memory that it has freed (`unfold_value`). With CURLOPT_HEADER the write
    /// callback gets each line first, and refuses it. Tests: TransportConnectionTests.
    mutating func preview(_ piece: UnsafeRawBufferPointer) throws(TransferFailure) {
        guard CurlLibrary.foldsIntoFreedHeader else {
            throw TransferFailure(
                code: .protocolViolation,
                phase: .firstByte,
                message: "the answer has a body before its head is complete"
            )
        }
        let isFolded = !isInsideLine && piece.isContinuation
        isInsideLine = piece.last != UInt8(ascii: "\n")
        // The status line is all that precedes it.
        if isFolded, bytes.firstIndex(of: UInt8(ascii: "\n")) == bytes.count - 1 { throw IncomingHead.headViolation }
    }

    /// Reads a line of the trailer section.
    mutating func readTrailer(_ line: UnsafeRawBufferPointer) throws(TransferFailure) {
        var lines = trailers ?? TrailerLines()
        trailers = nil
        let violation = lines.append(line)
        trailers = lines
        switch violation {
        case nil: return
        case .noField: throw IncomingHead.trailerViolation
        case .tooLong: throw IncomingHead.trailersTooLong
        }
    }

    /// Returns the head for its delivery, and keeps no reference to it.
    mutating func take() -> (head: ResponseHead, version: HTTPDNSTransfer.HTTPVersion)? {
        guard isComplete, !isDelivered, let received else { return nil }
        self.received = nil
        isDelivered = true
        return received
    }

    /// Holds an interim response back.
    mutating func hold(_ interim: ResponseHead) {
        if heldInterim.count < InterimResponseQueue.maximumWaiting { heldInterim.append(interim) }
    }

    mutating func takeHeldInterim() -> [ResponseHead] {
        if heldInterim.isEmpty { return [] }
        defer { heldInterim = [] }
        return heldInterim
    }

    /// Forgets the status: the request is sent again from its beginning.
    mutating func forgetStatus() { status = nil }

    static let trailerViolation = TransferFailure(
        code: .protocolViolation,
        phase: .body,
        message:
            "the response has a chunk without a hexadecimal size, or a trailer that is no field (RFC 9112 section 7.1)"
    )

    static let headViolation = TransferFailure(
        code: .protocolViolation,
        phase: .firstByte,
        message: "the response head has a line that is no field, or a folded first line (RFC 9112 section 5)"
    )

    static let trailersTooLong = TransferFailure(
        code: .protocolViolation,
        phase: .body,
        message: "the response's trailers are too long: more than \(TrailerLines.maximumBytes / 1024) KiB or "
            + "\(ResponseHeadParser.maximumFields) fields"
    )

    /// libcurl 8 reports it as CURLE_BAD_CONTENT_ENCODING (libcurl quirk "Transfer codings pass undecoded").
    static let otherTransferCoding = TransferFailure(
        code: .undecodable,
        phase: .firstByte,
        message: "the response has another transfer coding than chunked, which the client has not asked for"
    )

    private static let switchedProtocols = TransferFailure(
        code: .protocolViolation,
        phase: .firstByte,
        message: "the server switched to another protocol (101), which nobody had asked for"
    )

    private static func otherVersion(_ version: HTTPDNSTransfer.HTTPVersion) -> TransferFailure {
        TransferFailure(
            code: .protocolViolation,
            phase: .firstByte,
            message: "the server answered with \(version), and HTTP/2 was asked for"
        )
    }

    /// Notes the codings of a `Transfer-Encoding`.
    ///
    /// libcurl quirk: Transfer codings pass undecoded (7.88.1; refused by 8.14.1). Without content decoding libcurl
    /// delivers `Transfer-Encoding: gzip, chunked` compressed. The client refuses such a head.
    /// Tests: TransportConnectionTests.
    private mutating func takeTransferCodings(_ line: UnsafeRawBufferPointer) throws(TransferFailure) {
        switch line.transferCoding {
        case .chunked: isChunked = true
        case .other: if !isInterim { throw IncomingHead.otherTransferCoding }
        case .identity, nil: break
        }
    }

    /// Whether the next line, if it is a continuation, is one of a `Transfer-Encoding` (RFC 9112 section 5.2): its first line may
    /// name `chunked` alone.
    private var continuesTransferCoding: Bool {
        let before = bytes.dropLast(2)
        let start = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        return bytes[start...].withUnsafeBytes { $0.value(of: "transfer-encoding:") != nil }
    }

    /// Returns the status in a head's first line; `nil` when there is none.
    private static func status(in line: UnsafeRawBufferPointer) -> Int? {
        guard let space = line.firstIndex(of: UInt8(ascii: " ")) else { return nil }
        let digits = line[(space + 1)...].prefix(3)
        guard digits.count == 3, digits.allSatisfy({ $0.isDigit }) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }
}
