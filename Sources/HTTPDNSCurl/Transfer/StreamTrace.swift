/// A line of libcurl's trace about HTTP/2 (7.88: `http2.c`, `transfer.c`). libcurl reports this nowhere else.
///
/// A line is identified by its beginning: the rest may repeat data from the server.
enum StreamTrace: Equatable {
    /// The request has a stream.
    case opened(UInt32)
    /// The server ends the connection, and will process no stream after this one (RFC 9113 section 6.8).
    case goAway(lastStream: UInt32)
    /// The server refused the stream of a new connection (RFC 9113 section 8.7). For a kept one libcurl writes it only with
    /// ``EasyHandle/repeatOnlyRefused(_:)``.
    case refused

    /// - Parameter line: The line, with its end.
    init?(_ line: UnsafeRawBufferPointer) {
        if line.starts(with: "Using Stream ID: ".utf8) {
            guard let number = StreamTrace.number(in: line, after: "Using Stream ID: ") else { return nil }
            self = .opened(number)
        } else if line.starts(with: "recveived GOAWAY, ".utf8) || line.starts(with: "received GOAWAY, ".utf8) {
            guard let number = StreamTrace.number(in: line, after: "last_stream=") else { return nil }
            self = .goAway(lastStream: number)
        } else if line.starts(with: "REFUSED_STREAM, retrying a fresh connect".utf8) {
            self = .refused
        } else {
            return nil
        }
    }

    /// Returns the number after a text.
    private static func number(in line: UnsafeRawBufferPointer, after text: StaticString) -> UInt32? {
        let text = UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        guard line.count > text.count else { return nil }
        for start in 0..<(line.count - text.count) where line[start] == text[0] {
            guard UnsafeRawBufferPointer(rebasing: line[start...]).starts(with: text) else { continue }
            let digits = line[(start + text.count)...].prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            return UInt32(String(decoding: digits, as: UTF8.self))
        }
        return nil
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

    /// Returns whether the server certainly processed nothing of the request (RFC 9113 sections 6.8 and 8.7), so that even a
    /// POST may be sent again.
    /// - Parameter lastStream: The last stream in the GOAWAY on its connection.
    func isUnprocessed(lastStream: UInt32?) -> Bool {
        if isRefused { return true }
        guard let number, let lastStream else { return false }
        return number > lastStream || isAfterGoAway
    }

    /// Reads a line of the trace of its handle.
    /// - Parameter lastStream: The last stream of the connection.
    mutating func read(_ trace: StreamTrace, lastStream: inout UInt32?) {
        switch trace {
        case .opened(let number):
            self.number = number
            isAfterGoAway = lastStream != nil
        case .goAway(let last):
            // A server may first announce that it will end the connection, with the highest possible number.
            lastStream = last
        case .refused:
            isRefused = true
        }
    }
}
