// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
package import HTTPTypes

/// The reader of fields that a message has once (RFC 9110 section 5.5).
///
/// Servers, and proxies that add a field, send some of them twice. `fields[name]` would join the values to one that is none.
///
/// Equal values count as one. Of differing values:
///
/// | field | value | reason |
/// | --- | --- | --- |
/// | `Content-Type` | the last media type, of elements of a list as well | RFC 9110 section 8.3; so do browsers (Fetch standard) |
/// | `Age` | the first | RFC 9111 section 5.1 |
/// | `Date`, `Expires` | the first | RFC 9111 section 4.2.1 |
/// | `Retry-After` | the longest wait | its own reader, which compares waits |
/// | `Content-Length` | the message is refused | RFC 9112 section 6.3; by the transport |
/// | `Location` | none; a client that follows redirects refuses the response | the target would depend on the reader |
/// | `Content-Location`, `Content-Range`, `ETag`, `Last-Modified` and all others | none | they identify no single representation |
///
/// Fields that are lists, such as `Cache-Control`, `Vary` and `WWW-Authenticate`, have all their values, and are not read here.
extension HTTPFields {
    /// Returns the field of this name, or the one that counts of several; `nil` without one that counts.
    package func singleton(_ name: HTTPField.Name) -> HTTPField? {
        let fields = self[fields: name]
        guard let first = fields.first else { return nil }
        if name == .contentType { return Self.mediaType(fields) }
        let isOne = fields.count == 1 || fields.dropFirst().allSatisfy { $0.hasValue(of: first) }
        return isOne || Self.firstCounts.contains(name) ? first : nil
    }

    /// Whether there are several fields of this name with differing values.
    package func contradicts(_ name: HTTPField.Name) -> Bool {
        let fields = self[fields: name]
        return fields.count > 1 && !fields.dropFirst().allSatisfy { $0.hasValue(of: fields[0]) }
    }

    private static let firstCounts: Set<HTTPField.Name> = [.age, .date, .expires]

    /// Returns the media type of one or more fields: the last one, with the parameters of an equal one before it if it has none.
    private static func mediaType(_ fields: [HTTPField]) -> HTTPField? {
        if fields.count == 1, !fields[0].value.utf8.contains(UInt8(ascii: ",")) { return fields[0] }
        var last: (essence: String, text: String)?
        for text in fields.flatMap({ elements(of: $0.value) }) {
            let essence = text.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }.lowercased()
            let slash = essence.firstIndex(of: "/")
            guard let slash, slash != essence.startIndex, !essence.hasSuffix("/"), !essence.contains("*") else {
                continue
            }
            if let last, last.essence == essence, !text.contains(";") { continue }
            last = (essence, text)
        }
        return last.map { HTTPField(name: .contentType, value: $0.text) } ?? fields.first
    }

    /// Splits a list at the commas outside quotes (RFC 9110 section 5.6.4).
    private static func elements(of value: String) -> [String] {
        var (isQuoted, isEscaped) = (false, false)
        return value.split { character in
            defer { isEscaped = isQuoted && character == "\\" && !isEscaped }
            if character == "\"", !isEscaped { isQuoted.toggle() }
            return character == "," && !isQuoted
        }.map(String.init)
    }
}

extension HTTPField {
    /// Whether the value has the same bytes as that of another field.
    package func hasValue(of other: HTTPField) -> Bool {
        withUnsafeBytesOfValue { own in other.withUnsafeBytesOfValue { own.elementsEqual($0) } }
    }

    /// The value with a character for each byte (ISO-8859-1); `nil` for text in UTF-8.
    package var latin1Text: String? {
        withUnsafeBytesOfValue { bytes in
            if String(validating: bytes, as: UTF8.self) != nil { return nil }
            var text = String.UnicodeScalarView()
            text.append(contentsOf: bytes.lazy.map { Unicode.Scalar($0) })
            return String(text)
        }
    }

    /// The value as a URI reference: where it is not text in UTF-8, each byte outside ASCII is percent-encoded, so that the
    /// request has the bytes of the server.
    package var uriReference: String {
        withUnsafeBytesOfValue { bytes in
            if let text = String(validating: bytes, as: UTF8.self) { return text }
            return PercentCoding.encoded(bytes) { $0 < 0x80 }
        }
    }
}
