// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl
internal import HTTPDNSPrimitives

// Requests on HTTP/2 connections: detection of those that the server did not process.
extension EasyHandle {
    /// Whether the server certainly processed nothing of the request.
    var isUnprocessed: Bool {
        guard !head.isBegun, let stream = sending.stream else { return false }
        return stream.isUnprocessed(lastStream: connection?.streams.last)
    }

    /// Whether the request may be sent again only if it was certainly not processed.
    private var mustNotBeRepeated: Bool { transfer?.mayBeRepeated != true || sending.isRepeated }

    /// Whether the response is complete while the request is still being sent. The server may want no more of it.
    ///
    /// libcurl quirk: Early response, whole (7.88.1). libcurl waits until the rest of the request is accepted. The loop ends a
    /// transfer whose response is complete by length, method or status. Tests: EarlyResponseTests.
    var isAnsweredWhole: Bool {
        guard sending.stream != nil, let transfer, transfer.hasBytesToSend, head.isComplete, !isBodySent else {
            return false
        }
        return isResponseWhole
    }

    /// Whether the response is complete and the request sent, and libcurl may have missed the end of the stream.
    ///
    /// libcurl quirk: The end of a stream is missed (7.88.1). libcurl misses an end that arrives while the last part of the
    /// request is sent. The loop ends such a transfer 100 ms after its complete response. Tests: none.
    var mayHaveMissedEnd: Bool {
        guard sending.stream != nil, let transfer, transfer.hasBytesToSend, head.isComplete, !ending.hasFailed else {
            return false
        }
        return isResponseWhole && isBodySent
    }

    /// Whether the whole body of the request was sent; false for a stream without a length.
    var isBodySent: Bool {
        let length: Int64? =
            switch transfer?.request.body {
            case .bytes(let bytes): Int64(bytes.count)
            case .stream(let length, _): length
            case nil, .some(.none): 0
            }
        // Counts sent bytes: those that libcurl has taken may not be sent yet.
        return length.map { $0 <= microseconds(CURLINFO_SIZE_UPLOAD_T) } ?? false
    }

    /// Whether the whole body can be sent once more.
    var isBodyAtHand: Bool {
        guard let transfer else { return false }
        if case .stream = transfer.request.body { return sending.bodyBytes == 0 }
        return true
    }

    /// Turns libcurl's reports about the transfer on or off (CURLOPT_VERBOSE). They cost 6 to 10 us a request.
    func setTracing(_ isOn: Bool) {
        guard options.isTracing != isOn else { return }
        // The connection has its traced transfers last.
        connection?.carried.remove(self)
        options.setTracing(isOn)
        connection?.carried.insert(self)
    }

    /// Ends the trace once its connection has no request that must not be repeated.
    func endTracing() {
        if sending.stream != nil, connection?.streams.unrepeatable == 0 { setTracing(false) }
    }

    /// Notes that the request is about to be sent. Over HTTP/2 any handle of the connection may read a GOAWAY. So all of them
    /// trace while the connection has a request that must not be repeated.
    func openStream() {
        closeStream()
        guard let connection, connection.version == .http2 else {
            setTracing(false)
            options.repeatOnlyRefused(false)
            return
        }
        sending.stream = RequestStream()
        transfer?.wasSentOverHTTP2 = true
        options.repeatOnlyRefused(true)
        // The trace tells a GOAWAY from a refused stream (libcurl quirk "Old requests wait longest").
        if mustNotBeRepeated || transfer?.refusals.isEmpty == false {
            sending.isCounted = true
            connection.streams.unrepeatable += 1
            if connection.streams.unrepeatable == 1 { connection.traceAll() }
        }
        setTracing(connection.streams.unrepeatable > 0)
    }

    /// Notes that the request leaves its connection.
    func closeStream() {
        sending.stream = nil
        guard sending.isCounted, let connection else { return }
        sending.isCounted = false
        connection.streams.unrepeatable -= 1
    }

    /// Notes that libcurl is about to send the request again (libcurl quirk "HTTP/1.1 on demand").
    /// - Returns: Whether the reason is a refused stream.
    func noteRepetition() -> Bool {
        guard var stream = sending.stream, !head.isBegun else { return false }
        if memory.errorBuffer[0] == 0 {
            if options.repeatsOnlyRefused || hasOpenedConnection { stream.isRefused = true }
        } else if transfer?.mayBeRepeated == true {
            // The only other reason. A request that must not be repeated is traced, which proves the reason.
            stream.requiresHTTP1 = true
        }
        sending.stream = stream
        return stream.isRefused || stream.requiresHTTP1
    }

    /// Whether the server requires that the request be sent over HTTP/1.1, and has not processed it.
    var requiresHTTP1: Bool {
        isUnprocessed && (sending.stream?.requiresHTTP1 == true || connection?.streams.requiresHTTP1 == true)
    }

    /// Replaces libcurl's handle for the same transfer, which starts from its beginning (libcurl quirks "A stopped handle is
    /// spoiled", "Repetitions are counted by handle").
    /// - Returns: Whether there is a new handle.
    func renew() -> Bool {
        guard let next = curl_easy_init() else { return false }
        replaceHandle(with: next)
        closeStream()
        use(nil, isOpenedHere: false)
        freeLists()
        memory.errorBuffer[0] = 0
        if sending.mayHaveBeenSent { transfer?.sendings -= 1 }
        sending.restart()
        head.forgetStatus()
        findings.negotiated = nil
        return true
    }
}

/// A line of libcurl's trace about HTTP/2 (7.88 and 8.14: `http2.c`, `transfer.c`). libcurl reports this nowhere else.
///
/// libcurl quirk: GOAWAY is only traced (7.88 and 8.14.1: `http2.c`, `transfer.c`). GOAWAY and stream numbers are only in the
/// trace of one handle, at 6 to 10 us a request. A connection traces while one of its requests must not be repeated.
/// Tests: StreamTraceTests, GoAwayTests.
enum StreamTrace: Equatable {
    /// The request has a stream.
    case opened(UInt32)
    /// The server ends the connection, and will process no stream after this one (RFC 9113 section 6.8). It may require HTTP/1.1 for
    /// them (section 7).
    case goAway(lastStream: UInt32, requiresHTTP1: Bool)
    /// The server refused the stream of a new connection (RFC 9113 section 8.7). For a kept one libcurl writes it only with
    /// ``EasyOptions/repeatOnlyRefused(_:)``.
    case refused
    /// The server reset the stream because it requires HTTP/1.1 (RFC 9113 section 7).
    case requiresHTTP1

    /// - Parameter line: The line, with its end.
    init?(_ line: UnsafeRawBufferPointer) {
        if line.begins(with: "Using Stream ID: ") {
            guard let number = StreamTrace.number(in: line, after: "Using Stream ID: ") else { return nil }
            self = .opened(number)
        } else if line.begins(with: "[HTTP/2] [") {
            // libcurl 8. A line of a field has its text in brackets behind the number: "[HTTP/2] [1] [name: value]".
            guard let number = StreamTrace.number(in: line, after: "[HTTP/2] [", before: "] OPENED stream for ") else {
                return nil
            }
            self = .opened(number)
        } else if line.begins(with: "recveived GOAWAY, ") || line.begins(with: "received GOAWAY, ") {
            guard let number = StreamTrace.number(in: line, after: "last_stream=") else { return nil }
            self = .goAway(
                lastStream: number,
                requiresHTTP1: StreamTrace.number(in: line, after: "error=", before: ",") == 13
            )
        } else if line.begins(with: "REFUSED_STREAM, retrying a fresh connect") {
            self = .refused
        } else if line.begins(with: "Downgrades to HTTP/1.1") {
            self = .requiresHTTP1
        } else {
            return nil
        }
    }

    /// Returns the number after a text, and right before another one.
    private static func number(
        in line: UnsafeRawBufferPointer,
        after text: StaticString,
        before end: StaticString = ""
    ) -> UInt32? {
        let text = UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        guard line.count > text.count else { return nil }
        for start in 0..<(line.count - text.count) where line[start] == text[0] {
            guard UnsafeRawBufferPointer(rebasing: line[start...]).starts(with: text) else { continue }
            let digits = line[(start + text.count)...].prefix(while: \.isDigit)
            guard UnsafeRawBufferPointer(rebasing: line[digits.endIndex...]).begins(with: end) else { return nil }
            return UInt32(String(decoding: digits, as: UTF8.self))
        }
        return nil
    }
}

extension UnsafeRawBufferPointer {
    /// Whether the bytes begin with a text. Each line of a trace is compared with several.
    func begins(with text: StaticString) -> Bool {
        guard count >= text.utf8CodeUnitCount else { return false }
        for index in 0..<text.utf8CodeUnitCount where self[index] != text.utf8Start[index] { return false }
        return true
    }
}

/// The HTTP/2 stream that a request is sent on.
struct RequestStream {
    /// The stream's number, as far as it was traced.
    var number: UInt32?
    /// Whether the stream was opened after the server's GOAWAY. nghttp2 sends nothing of it.
    var isAfterGoAway = false
    /// Whether the server refused the stream (REFUSED_STREAM).
    var isRefused = false
    /// Whether the server requires HTTP/1.1 for the request (HTTP_1_1_REQUIRED).
    var requiresHTTP1 = false

    /// Returns whether the server certainly processed nothing of the request (RFC 9113 sections 6.8, 7 and 8.7), so that even a
    /// POST may be sent again.
    /// - Parameter lastStream: The last stream in the GOAWAY on its connection.
    func isUnprocessed(lastStream: UInt32?) -> Bool {
        isRefused || requiresHTTP1 || isPastGoAway(lastStream: lastStream)
    }

    /// Returns whether the stream is beyond those that the server still processes before it ends the connection.
    func isPastGoAway(lastStream: UInt32?) -> Bool {
        guard let number, let lastStream else { return false }
        return number > lastStream || isAfterGoAway
    }

    /// Returns whether the server processes earlier requests of the connection, although it refused this one.
    func isBehindOthers(lastStream: UInt32?) -> Bool {
        guard let number, let lastStream, !isAfterGoAway else { return false }
        return lastStream > 0 && number > lastStream
    }

    /// Reads a line of the trace of its handle.
    /// - Parameter lastStream: The last stream of the connection.
    mutating func read(_ trace: StreamTrace, lastStream: inout UInt32?) {
        switch trace {
        case .opened(let number):
            self.number = number
            isAfterGoAway = lastStream != nil
        case .goAway(let last, _):
            // A server may first announce that it will end the connection, with the highest possible number.
            lastStream = last
        case .refused:
            isRefused = true
        case .requiresHTTP1:
            requiresHTTP1 = true
        }
    }
}
