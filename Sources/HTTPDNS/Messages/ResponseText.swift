// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
public import HTTPDNSPrimitives
internal import HTTPTypes

extension HTTPDNSClient.Response {
    /// Reads the whole body as text, in the charset of its `Content-Type` field.
    ///
    /// - Known charsets are UTF-8, US-ASCII, ISO-8859-1, Windows-1252, UTF-16, UTF-16LE and UTF-16BE. A text without a charset
    ///   is in UTF-8.
    /// - A byte order mark of UTF-8 or UTF-16 wins over the field, and is no part of the text. UTF-16 without one has the order
    ///   little-endian, as browsers read it.
    /// - A byte sequence that the charset does not have becomes U+FFFD.
    /// - Parameter limit: The longest body that is read.
    /// - Throws: ``HTTPDNSClientError``, with code `decodingFailed` for another charset, before the body is read;
    ///   `CancellationError`.
    public func text(upTo limit: HTTPDNSByteCount = .mebibytes(16)) async throws -> String {
        let charset = try Charset(of: headerFields)
        return charset.text(of: try await body.collect(upTo: limit))
    }
}

extension HTTPDNSClient.Response.Collected {
    /// Returns the body as text, see ``HTTPDNSClient/Response/text(upTo:)``.
    /// - Throws: ``HTTPDNSClientError`` with code `decodingFailed` for an unknown charset.
    public func text() throws(HTTPDNSClientError) -> String { try Charset(of: headerFields).text(of: body) }
}

/// The charset of a text.
enum Charset: Hashable, Sendable {
    case utf8, latin1, windows1252, utf16LittleEndian, utf16BigEndian

    /// The names of the IANA registry and of the Encoding standard.
    private static let names: [String: Charset] = [
        "utf-8": .utf8, "utf8": .utf8, "us-ascii": .utf8, "ascii": .utf8,
        "iso-8859-1": .latin1, "iso8859-1": .latin1, "iso_8859-1": .latin1, "latin1": .latin1, "l1": .latin1,
        "windows-1252": .windows1252, "cp1252": .windows1252, "x-cp1252": .windows1252,
        "utf-16": .utf16LittleEndian, "utf-16le": .utf16LittleEndian, "utf-16be": .utf16BigEndian,
    ]

    /// - Throws: ``HTTPDNSClientError`` with code `decodingFailed` for another charset.
    init(of fields: HTTPFields) throws(HTTPDNSClientError) {
        guard let type = fields.singleton(.contentType), let name = MediaTypeText(type.value).charset else {
            self = .utf8
            return
        }
        guard let charset = Charset.names[name.lowercased()] else {
            throw HTTPDNSClientError(
                code: .decodingFailed,
                phase: .body,
                message: "the text of the response is in the charset \(name.escaped(limit: 40)), which is not known",
                hint: "read the bytes with body.collect(upTo:), and decode them with a library that has the charset"
            )
        }
        self = charset
    }

    /// Returns the text of bytes.
    func text(of bytes: [UInt8]) -> String {
        if bytes.starts(with: [0xef, 0xbb, 0xbf]) { return String(decoding: bytes.dropFirst(3), as: UTF8.self) }
        if bytes.starts(with: [0xff, 0xfe]) { return Charset.utf16(bytes.dropFirst(2), isLittleEndian: true) }
        if bytes.starts(with: [0xfe, 0xff]) { return Charset.utf16(bytes.dropFirst(2), isLittleEndian: false) }
        switch self {
        case .utf8: return String(decoding: bytes, as: UTF8.self)
        case .latin1:
            var text = String.UnicodeScalarView()
            text.append(contentsOf: bytes.lazy.map { Unicode.Scalar($0) })
            return String(text)
        case .windows1252:
            var text = String.UnicodeScalarView()
            text.append(
                contentsOf: bytes.lazy.map {
                    (0x80...0x9f).contains($0) ? Charset.c1[Int($0) - 0x80] : Unicode.Scalar($0)
                }
            )
            return String(text)
        case .utf16LittleEndian: return Charset.utf16(bytes[...], isLittleEndian: true)
        case .utf16BigEndian: return Charset.utf16(bytes[...], isLittleEndian: false)
        }
    }

    /// The characters of the bytes from 0x80 to 0x9F in Windows-1252, as the Encoding standard lists them.
    private static let c1 = Array(
        ("\u{20ac}\u{81}\u{201a}\u{192}\u{201e}\u{2026}\u{2020}\u{2021}\u{2c6}\u{2030}\u{160}\u{2039}\u{152}\u{8d}\u{17d}\u{8f}"
            + "\u{90}\u{2018}\u{2019}\u{201c}\u{201d}\u{2022}\u{2013}\u{2014}\u{2dc}\u{2122}\u{161}\u{203a}\u{153}\u{9d}\u{17e}\u{178}")
            .unicodeScalars
    )

    /// An odd byte at the end is a sequence that the charset does not have.
    private static func utf16(_ bytes: ArraySlice<UInt8>, isLittleEndian: Bool) -> String {
        var units: [UInt16] = []
        units.reserveCapacity(bytes.count / 2 + 1)
        var index = bytes.startIndex
        while index + 1 < bytes.endIndex {
            let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
            units.append(isLittleEndian ? second << 8 | first : first << 8 | second)
            index += 2
        }
        if index < bytes.endIndex { units.append(0xfffd) }
        return String(decoding: units, as: UTF16.self)
    }
}

/// The parts of a `Content-Type` value (RFC 9110 section 8.3.1).
struct MediaTypeText: Hashable, Sendable {
    /// The type and the subtype, in lower case, such as `text/html`; empty when there are none.
    let essence: String
    /// The value of the first parameter `charset`, without quotation marks; nil without one.
    let charset: String?

    init(_ value: String) {
        essence = value.prefix { $0 != ";" }.trimmed.lowercased()
        var rest = value.drop { $0 != ";" }
        var charset: String?
        while charset == nil, !rest.isEmpty {
            rest = rest.dropFirst().drop { $0 == " " || $0 == "\t" }
            let name = rest.prefix { $0 != "=" && $0 != ";" }
            rest = rest.dropFirst(name.count)
            var text = ""
            if rest.first == "=" {
                rest = rest.dropFirst()
                if rest.first == "\"" {
                    rest = rest.dropFirst()
                    while let character = rest.popFirst(), character != "\"" {
                        text.append(character == "\\" ? rest.popFirst() ?? "\\" : character)
                    }
                } else {
                    text = rest.prefix { $0 != ";" }.trimmed
                }
            }
            rest = rest.drop { $0 != ";" }
            if name.trimmed.lowercased() == "charset", !text.isEmpty { charset = text }
        }
        self.charset = charset
    }

    /// Returns whether the type fits a pattern: `text/html`, `text/*`, `application/*+json`, or `*/*`.
    func fits(_ pattern: String) -> Bool {
        let (own, wanted) = (parts(of: essence), parts(of: MediaTypeText(pattern).essence))
        guard let own, let wanted, wanted.type == "*" || wanted.type == own.type else { return false }
        guard wanted.subtype.hasPrefix("*") else { return wanted.subtype == own.subtype }
        return own.subtype.hasSuffix(wanted.subtype.dropFirst())
    }

    private func parts(of essence: String) -> (type: Substring, subtype: Substring)? {
        let parts = essence.split(separator: "/", omittingEmptySubsequences: false)
        return parts.count == 2 && !parts[0].isEmpty && !parts[1].isEmpty ? (parts[0], parts[1]) : nil
    }
}
