internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The parser for libcurl's response heads: a status line and field lines, each ended by CR LF or LF.
enum ResponseHeadParser {
    /// The maximum number of fields. HTTPFields stops the process at 65,535, and libcurl's own limit for a head (300 KiB)
    /// allows more.
    private static let maximumFields = 10_000

    /// - Throws: ``TransferFailure`` with code `protocolViolation`.
    static func parse(_ bytes: [UInt8]) throws(TransferFailure) -> (HTTPResponse, HTTPDNSTransfer.HTTPVersion) {
        try bytes.withUnsafeBufferPointer { buffer throws(TransferFailure) in try parse(buffer) }
    }

    private typealias Line = Slice<UnsafeBufferPointer<UInt8>>

    private static func parse(_ bytes: UnsafeBufferPointer<UInt8>) throws(TransferFailure) -> (
        HTTPResponse, HTTPDNSTransfer.HTTPVersion
    ) {
        var start = 0
        guard let statusLine = nextLine(of: bytes, from: &start), let (version, status) = status(statusLine) else {
            throw violation("the answer does not begin with an HTTP status line")
        }
        var fields = HTTPFields()
        fields.reserveCapacity(12)
        while let line = nextLine(of: bytes, from: &start) {
            if isSpace(line[line.startIndex]) {
                // An obsolete folded line continues the value before it (RFC 9112 section 5.2).
                guard !fields.isEmpty else { throw violation("the answer's first field line is folded") }
                let last = fields.count - 1
                fields[last] = HTTPField(name: fields[last].name, value: fields[last].value + " " + text(trimmed(line)))
                continue
            }
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), let name = FieldNames.name(line[..<colon]) else {
                throw violation("the answer has a field line without a valid name")
            }
            guard fields.count < maximumFields else {
                throw violation("the answer has more than \(maximumFields) header fields")
            }
            let value = trimmed(line[(colon + 1)...])
            if value.allSatisfy({ $0 < 0x80 && $0 >= 0x20 }) {
                fields.append(HTTPField(name: name, value: text(value)))
            } else {
                // Bytes outside ASCII have no defined encoding (RFC 9110 section 5.5): they are kept unchanged.
                fields.append(HTTPField(name: name, lenientValue: value))
            }
        }
        return (HTTPResponse(status: status, headerFields: fields), version)
    }

    /// Returns the next line without its end; `nil` at the empty line and at the end.
    private static func nextLine(of bytes: UnsafeBufferPointer<UInt8>, from start: inout Int) -> Line? {
        guard start < bytes.count else { return nil }
        var end = start
        while end < bytes.count, bytes[end] != UInt8(ascii: "\n") { end += 1 }
        let lineEnd = end > start && bytes[end - 1] == UInt8(ascii: "\r") ? end - 1 : end
        let line = bytes[start..<lineEnd]
        start = end + 1
        return line.isEmpty ? nil : line
    }

    private static func status(_ line: Line) -> (HTTPDNSTransfer.HTTPVersion, HTTPResponse.Status)? {
        guard let space = line.firstIndex(of: UInt8(ascii: " ")), let version = version(line[..<space]) else {
            return nil
        }
        let rest = line[(space + 1)...]
        let digits = rest.prefix(3)
        guard digits.count == 3, digits.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }),
            rest.count == 3 || isSpace(rest[rest.startIndex + 3])
        else { return nil }
        let code = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        guard code >= 100 else { return nil }
        let reason = trimmed(rest.dropFirst(3))
        if code == 200, reason.isEmpty || reason.elementsEqual("OK".utf8) { return (version, .ok) }
        let phrase = String(decoding: reason.map { $0 < 0x20 || $0 >= 0x7f ? UInt8(ascii: " ") : $0 }, as: UTF8.self)
        return (version, HTTPResponse.Status(code: code, reasonPhrase: phrase))
    }

    private static func version(_ name: Line) -> HTTPDNSTransfer.HTTPVersion? {
        if name.elementsEqual("HTTP/1.1".utf8) { return .http11 }
        if name.elementsEqual("HTTP/2".utf8) || name.elementsEqual("HTTP/2.0".utf8) { return .http2 }
        if name.elementsEqual("HTTP/1.0".utf8) { return .http10 }
        return nil
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    private static func trimmed(_ line: Line) -> Line {
        var (start, end) = (line.startIndex, line.endIndex)
        while start < end, isSpace(line[start]) { start += 1 }
        while start < end, isSpace(line[end - 1]) { end -= 1 }
        return line[start..<end]
    }

    private static func text(_ line: Line) -> String {
        String(decoding: UnsafeBufferPointer(rebasing: line), as: UTF8.self)
    }

    private static func violation(_ message: String) -> TransferFailure {
        TransferFailure(code: .protocolViolation, phase: .firstByte, message: message)
    }
}

/// Header field names from bytes. The usual ones are created once, so that a response head needs no strings for names.
enum FieldNames {
    /// The usual names, by length.
    private static let known: [[(bytes: [UInt8], name: HTTPField.Name)]] = {
        let names: [HTTPField.Name] = [
            .acceptRanges, .accessControlAllowOrigin, .age, .allow, .cacheControl, .connection, .contentDisposition,
            .contentEncoding, .contentLanguage, .contentLength, .contentRange, .contentSecurityPolicy, .contentType,
            .date, .eTag, .expires, .lastModified, .location, .proxyAuthenticate, .retryAfter, .server, .setCookie,
            .strictTransportSecurity, .trailer, .transferEncoding, .vary, .wwwAuthenticate, .xContentTypeOptions,
        ]
        var table: [[(bytes: [UInt8], name: HTTPField.Name)]] = Array(repeating: [], count: 33)
        for name in names { table[name.canonicalName.utf8.count].append((Array(name.canonicalName.utf8), name)) }
        return table
    }()

    /// Returns the name, or `nil` when the bytes are not a token (RFC 9110 section 5.1).
    static func name(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> HTTPField.Name? {
        if bytes.count < known.count {
            for candidate in known[bytes.count] where matches(bytes, candidate.bytes) { return candidate.name }
        }
        return HTTPField.Name(String(decoding: UnsafeBufferPointer(rebasing: bytes), as: UTF8.self))
    }

    private static func matches(_ bytes: Slice<UnsafeBufferPointer<UInt8>>, _ lowercase: [UInt8]) -> Bool {
        var index = bytes.startIndex
        for letter in lowercase {
            let byte = bytes[index]
            guard byte == letter || (UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte && byte | 0x20 == letter) else {
                return false
            }
            index += 1
        }
        return true
    }
}

extension UnsafeRawBufferPointer {
    /// Returns the part after a field's name in a line of a head, including the line's end; `nil` for another field.
    /// - Parameter name: In lower case, with its colon.
    func value(of name: StaticString) -> Slice<UnsafeRawBufferPointer>? {
        let length = name.utf8CodeUnitCount
        guard count > length, self[0] | 0x20 == name.utf8Start[0],
            (1..<length).allSatisfy({ self[$0] | 0x20 == name.utf8Start[$0] })
        else { return nil }
        return self[length...]
    }

    /// Whether the line, with its end, is a field (RFC 9112 section 5), or continues the one before it (section 5.2).
    var isField: Bool {
        guard let first, first != UInt8(ascii: " "), first != UInt8(ascii: "\t") else { return true }
        guard let colon = firstIndex(of: UInt8(ascii: ":")), colon > 0 else { return false }
        return self[..<colon].allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "A")...UInt8(ascii: "Z"):
                true
            default: UnsafeRawBufferPointer.marks.utf8Contains(byte)
            }
        }
    }

    /// The characters of a token other than letters and digits (RFC 9110 section 5.6.2).
    private static let marks: StaticString = "!#$%&'*+-.^_`|~"
}

extension StaticString {
    fileprivate func utf8Contains(_ byte: UInt8) -> Bool {
        UnsafeBufferPointer(start: utf8Start, count: utf8CodeUnitCount).contains(byte)
    }
}
