// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The parser for libcurl's response heads: a status line and field lines, each ended by CR LF or LF.
enum ResponseHeadParser {
    /// The maximum number of fields. HTTPFields stops the process at 65,535, and libcurl's own limit for a head (300 KiB)
    /// allows more.
    static let maximumFields = 10_000

    /// Checks a head without making its fields: ``fields(_:)`` succeeds for each head that passes.
    /// - Throws: ``TransferFailure`` with code `protocolViolation`.
    static func check(_ bytes: [UInt8]) throws(TransferFailure) -> (
        HTTPResponse.Status, HTTPDNSTransfer.HTTPVersion
    ) {
        try bytes.withUnsafeBufferPointer { buffer throws(TransferFailure) in
            var start = 0
            guard let statusLine = nextLine(of: buffer, from: &start), let (version, status) = status(statusLine) else {
                throw violation("the answer does not begin with an HTTP status line")
            }
            var fields = 0
            while let line = nextLine(of: buffer, from: &start) {
                if isSpace(line[line.startIndex]) {
                    guard fields > 0 else { throw violation("the answer's first field line is folded") }
                    continue
                }
                guard UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: line)).fieldName != nil else {
                    throw violation("the answer has a field line without a valid name")
                }
                fields += 1
                guard fields <= maximumFields else {
                    throw violation("the answer has more than \(maximumFields) header fields")
                }
            }
            return (status, version)
        }
    }

    /// Returns the fields of a head that passed ``check(_:)``.
    static func fields(_ bytes: [UInt8]) -> HTTPFields { fields(bytes, skipsStatusLine: true) }

    /// Returns the fields of checked trailers (``TrailerLines``), which have no status line.
    static func trailers(_ bytes: [UInt8]) -> HTTPFields { fields(bytes, skipsStatusLine: false) }

    /// Returns the hash of the names in a head that passed ``check(_:)``, as they are written. It differs between processes.
    static func hashOfNames(_ bytes: [UInt8]) -> Int {
        bytes.withUnsafeBufferPointer { buffer in
            var (start, hasher) = (0, Hasher())
            _ = nextLine(of: buffer, from: &start)
            while let line = nextLine(of: buffer, from: &start) {
                let line = UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: line))
                guard !line.isContinuation, let colon = line.firstOffset(of: UInt8(ascii: ":")) else { continue }
                // With the colon: two lists of names have different bytes.
                hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: line[...colon]))
            }
            return hasher.finalize()
        }
    }

    private static func fields(_ bytes: [UInt8], skipsStatusLine: Bool) -> HTTPFields {
        bytes.withUnsafeBufferPointer { buffer in
            var start = 0
            if skipsStatusLine { _ = nextLine(of: buffer, from: &start) }
            var fields = HTTPFields()
            fields.reserveCapacity(12)
            while let line = nextLine(of: buffer, from: &start) {
                if isSpace(line[line.startIndex]) {
                    // An obsolete folded line continues the value before it (RFC 9112 section 5.2).
                    guard let last = fields.indices.last else { continue }
                    var value = fields[last].withUnsafeBytesOfValue { Array($0) }
                    value.append(UInt8(ascii: " "))
                    value += line.trimmed
                    fields[last] = HTTPField(name: fields[last].name, lenientValue: value)
                    continue
                }
                guard let colon = line.firstIndex(of: UInt8(ascii: ":")), let name = FieldNames.name(line[..<colon])
                else { continue }
                let value = line[(colon + 1)...].trimmed
                if value.allSatisfy({ $0 < 0x80 && $0 >= 0x20 }) {
                    fields.append(HTTPField(name: name, value: text(value)))
                } else {
                    // Bytes outside ASCII have no defined encoding (RFC 9110 section 5.5): they are kept unchanged.
                    fields.append(HTTPField(name: name, lenientValue: value))
                }
            }
            return fields
        }
    }

    private typealias Line = Slice<UnsafeBufferPointer<UInt8>>

    /// Returns the next line without its end; `nil` at the empty line and at the end.
    private static func nextLine(of bytes: UnsafeBufferPointer<UInt8>, from start: inout Int) -> Line? {
        guard start < bytes.count else { return nil }
        let rest = UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes[start...]))
        let end = rest.firstOffset(of: UInt8(ascii: "\n")).map { start + $0 } ?? bytes.count
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
        guard digits.count == 3, digits.allSatisfy({ $0.isDigit }),
            rest.count == 3 || isSpace(rest[rest.startIndex + 3])
        else { return nil }
        let code = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        guard code >= 100 else { return nil }
        let reason = rest.dropFirst(3).trimmed
        let reasonBytes = UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: reason))
        if code == 200, reason.isEmpty || reasonBytes.isEqual(to: "OK") { return (version, .ok) }
        let phrase = String(decoding: reason.map { $0 < 0x20 || $0 >= 0x7f ? UInt8(ascii: " ") : $0 }, as: UTF8.self)
        return (version, HTTPResponse.Status(code: code, reasonPhrase: phrase))
    }

    private static func version(_ name: Line) -> HTTPDNSTransfer.HTTPVersion? {
        let name = UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: name))
        if name.isEqual(to: "HTTP/1.1") { return .http11 }
        if name.isEqual(to: "HTTP/2") || name.isEqual(to: "HTTP/2.0") { return .http2 }
        if name.isEqual(to: "HTTP/1.0") { return .http10 }
        return nil
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

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

/// The transfer codings of a response (RFC 9112 section 6.1), as far as the client tells them apart.
enum TransferCoding {
    case chunked
    /// `identity`, which RFC 7230 has removed, is no coding; libcurl 8 also accepts it.
    case identity
    /// Another coding than `chunked`, or none: a folded line may follow it.
    case other
}

extension UnsafeRawBufferPointer {
    /// Returns the part after a field's name in a line of a head, including the line's end; `nil` for another field.
    /// - Parameter name: In lower case, with its colon.
    func value(of name: StaticString) -> Slice<UnsafeRawBufferPointer>? {
        let length = name.utf8CodeUnitCount
        // The colon is in another place in nearly all other fields.
        guard count > length, self[length - 1] == UInt8(ascii: ":") else { return nil }
        for index in 0..<(length - 1) where self[index] | 0x20 != name.utf8Start[index] { return nil }
        return self[length...]
    }

    /// The codings that a `Transfer-Encoding` declares; `nil` for another field.
    var transferCoding: TransferCoding? {
        guard let value = value(of: "transfer-encoding:") else { return nil }
        let codings = value.split { $0 <= UInt8(ascii: " ") || $0 == UInt8(ascii: ",") }
        func isNamed(_ name: StaticString, _ coding: Slice<UnsafeRawBufferPointer>) -> Bool {
            let name = UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
            return coding.elementsEqual(name) { $0 | 0x20 == $1 }
        }
        var result = codings.isEmpty ? TransferCoding.other : .identity
        for coding in codings where !isNamed("identity", coding) {
            guard isNamed("chunked", coding) else { return .other }
            result = .chunked
        }
        return result
    }

    /// Whether the line, with its end, is a field (RFC 9112 section 5), or continues the one before it (section 5.2).
    var isField: Bool {
        isContinuation || fieldName != nil
    }

    /// Whether the line continues the one before it.
    var isContinuation: Bool {
        guard let first else { return true }
        return first == UInt8(ascii: " ") || first == UInt8(ascii: "\t")
    }

    fileprivate func isEqual(to text: StaticString) -> Bool {
        guard let baseAddress, count == text.utf8CodeUnitCount else { return false }
        return memcmp(baseAddress, text.utf8Start, count) == 0
    }

    fileprivate func firstOffset(of byte: UInt8) -> Int? {
        guard let base = baseAddress, let place = memchr(base, Int32(byte), count) else { return nil }
        return UnsafeMutableRawPointer(mutating: base).distance(to: place)
    }

    /// The name of the field that the line is, a token (RFC 9110 section 5.6.2); `nil` when it is none.
    fileprivate var fieldName: Slice<UnsafeRawBufferPointer>? {
        var index = 0
        while index < count, UnsafeRawBufferPointer.isTokenCharacter(self[index]) { index += 1 }
        guard index > 0, index < count, self[index] == UInt8(ascii: ":") else { return nil }
        return self[..<index]
    }

    /// The characters of a token, one bit for each of the codes 0 to 63 and 64 to 127 (RFC 9110 section 5.6.2).
    private static var tokens0: UInt64 { 0x03ff_6cfa_0000_0000 }
    private static var tokens64: UInt64 { 0x57ff_ffff_c7ff_fffe }

    private static func isTokenCharacter(_ byte: UInt8) -> Bool {
        byte < 0x80 && (byte < 64 ? tokens0 : tokens64) >> UInt64(byte & 63) & 1 == 1
    }
}
