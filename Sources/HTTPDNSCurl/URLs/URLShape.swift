// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The properties of a URL's text before libcurl parses it, found in one pass over its bytes.
///
/// The scan finds no parts of its own. It refuses text that libcurl would guess about (libcurl quirk "URLs are guessed"),
/// and records which parts may exist.
struct URLShape {
    let scheme: ParsedURL.Scheme
    let hasUserInformation: Bool
    let mayHavePort: Bool
    let hasQuery: Bool
    let hasFragment: Bool
    /// The range of the host in the text's UTF-8, without port.
    private let hostPlace: Range<Int>

    init(of text: String) throws(URLFailure) {
        var text = text
        let result = text.withUTF8 { bytes in Result { () throws(URLFailure) in try URLShape(of: bytes) } }
        self = try result.get()
    }

    private init(of bytes: UnsafeBufferPointer<UInt8>) throws(URLFailure) {
        for byte in bytes where byte <= 0x20 || byte == 0x7f {
            throw URLFailure(
                .forbiddenByte,
                "the URL holds the byte 0x\(byte < 16 ? "0" : "")\(String(byte, radix: 16)); write spaces and control "
                    + "characters percent-encoded"
            )
        }
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else {
            throw URLFailure(.unsupportedScheme, "the URL has no scheme; it must begin with http:// or https://")
        }
        scheme = try URLShape.scheme(bytes[..<colon])
        guard bytes.count >= colon + 3, bytes[colon + 1] == UInt8(ascii: "/"), bytes[colon + 2] == UInt8(ascii: "/")
        else { throw URLFailure(.malformed, "the scheme is not followed by //") }

        let start = colon + 3
        var end = start
        var at: Int?
        while end < bytes.count, !URLShape.endsAuthority(bytes[end]) {
            if bytes[end] == UInt8(ascii: "@") { at = end }
            if bytes[end] == UInt8(ascii: "\\") {
                throw URLFailure(
                    .forbiddenByte,
                    "the URL has a backslash before its path; programs disagree about its host"
                )
            }
            end += 1
        }
        guard end > start else { throw URLFailure(.missingHost, "the URL has no host") }
        hasUserInformation = at != nil
        let host = bytes[(at.map { $0 + 1 } ?? start)..<end]
        let hostEnd =
            if host.first == UInt8(ascii: "[") {
                host.firstIndex(of: UInt8(ascii: "]")).map { $0 + 1 } ?? end
            } else {
                host.firstIndex(of: UInt8(ascii: ":")) ?? end
            }
        hostPlace = host.startIndex..<hostEnd
        mayHavePort = hostEnd < end
        hasQuery = bytes[end...].contains(UInt8(ascii: "?"))
        hasFragment = bytes[end...].contains(UInt8(ascii: "#"))
    }

    /// Returns the host as it was written, for comparisons and errors.
    /// - Parameter text: The text of the shape.
    func hostText(in text: String) -> String {
        String(decoding: text.utf8.dropFirst(hostPlace.lowerBound).prefix(hostPlace.count), as: UTF8.self)
    }

    private static func endsAuthority(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
    }

    private static func scheme(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) throws(URLFailure) -> ParsedURL.Scheme {
        func matches(_ name: StaticString) -> Bool {
            bytes.count == name.utf8CodeUnitCount
                && zip(bytes, UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
                    .allSatisfy { $0 | 0x20 == $1 }
        }
        if matches("http") { return .http }
        if matches("https") { return .https }
        throw URLFailure(.unsupportedScheme, "the URL does not begin with http:// or https://")
    }
}
