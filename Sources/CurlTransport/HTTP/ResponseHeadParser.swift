internal import HTTPTypes

/// Reads the head of a response as libcurl hands it over: a status line and field lines, each ended by CR LF or LF.
enum ResponseHeadParser {
    /// - Throws: ``TransferFailure`` with code `protocolViolation`.
    static func parse(_ bytes: [UInt8]) throws(TransferFailure) -> (HTTPResponse, HTTPVersion) {
        var lines = FieldLines(bytes)
        guard let statusLine = lines.next(), let (version, status) = Self.status(bytes[statusLine]) else {
            throw violation("the answer does not begin with an HTTP status line")
        }
        var fields = HTTPFields()
        fields.reserveCapacity(16)
        var last: HTTPField?
        while let line = lines.next() {
            let first = bytes[line.lowerBound]
            if first == UInt8(ascii: " ") || first == UInt8(ascii: "\t") {
                // An obsolete folded line continues the value before it (RFC 9112 section 5.2).
                guard let field = last else { throw violation("the answer's first field line is folded") }
                last = HTTPField(name: field.name, value: field.value + " " + text(trimmed(bytes[line])))
                continue
            }
            if let last { fields.append(last) }
            guard let colon = bytes[line].firstIndex(of: UInt8(ascii: ":")),
                let name = FieldNames.name(bytes[line.lowerBound..<colon])
            else { throw violation("the answer has a field line without a valid name") }
            last = HTTPField(name: name, lenientValue: trimmed(bytes[(colon + 1)..<line.upperBound]))
            // HTTPFields stops the process above 65,534 fields; libcurl's 300 KiB limit for a head allows more.
            guard fields.count < 10_000 else { throw violation("the answer has more than 10,000 header fields") }
        }
        if let last { fields.append(last) }
        return (HTTPResponse(status: status, headerFields: fields), version)
    }

    private static func status(_ line: ArraySlice<UInt8>) -> (HTTPVersion, HTTPResponse.Status)? {
        let parts = line.split(separator: UInt8(ascii: " "), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count >= 2, parts[1].count == 3 else { return nil }
        var code = 0
        for digit in parts[1] {
            guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= digit else { return nil }
            code = code * 10 + Int(digit - UInt8(ascii: "0"))
        }
        guard code >= 100 else { return nil }
        let version: HTTPVersion
        if parts[0].elementsEqual("HTTP/1.1".utf8) {
            version = .http11
        } else if parts[0].elementsEqual("HTTP/2".utf8) || parts[0].elementsEqual("HTTP/2.0".utf8) {
            version = .http2
        } else if parts[0].elementsEqual("HTTP/1.0".utf8) {
            version = .http10
        } else {
            return nil
        }
        let reason = parts.count > 2 ? trimmed(parts[2]) : []
        if code == 200, reason.isEmpty || reason.elementsEqual("OK".utf8) { return (version, .ok) }
        let phrase = String(decoding: reason.map { $0 < 0x20 || $0 >= 0x7f ? UInt8(ascii: " ") : $0 }, as: UTF8.self)
        return (version, HTTPResponse.Status(code: code, reasonPhrase: phrase))
    }

    private static func trimmed(_ slice: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var slice = slice
        while let byte = slice.first, byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") { slice.removeFirst() }
        while let byte = slice.last, byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") { slice.removeLast() }
        return slice
    }

    private static func text(_ slice: ArraySlice<UInt8>) -> String { String(decoding: slice, as: UTF8.self) }

    private static func violation(_ message: String) -> TransferFailure {
        TransferFailure(code: .protocolViolation, phase: .firstByte, message: message)
    }
}

/// The lines of a head, without their ends; the empty line ends them.
private struct FieldLines {
    private let bytes: [UInt8]
    private var start = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func next() -> Range<Int>? {
        guard start < bytes.count else { return nil }
        let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
        let lineEnd = end > start && bytes[end - 1] == UInt8(ascii: "\r") ? end - 1 : end
        defer { start = end + 1 }
        return lineEnd == start ? nil : start..<lineEnd
    }
}
