// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// A `Set-Cookie` field, split into its parts (RFC 6265bis section 5.6). It is bytes, since servers send any.
///
/// Whether the cookie is accepted depends on its URL and on other cookies: ``CookieStore`` decides that.
struct SetCookie: Sendable, Hashable {
    /// The expiry that the attributes demand.
    enum Expiry: Sendable, Hashable {
        /// No attribute: the cookie ends with the session.
        case session
        /// Seconds from now (`Max-Age`).
        case age(Int64)
        /// Seconds since 1970 (`Expires`).
        case date(Int64)
    }

    var name: [UInt8]
    var value: [UInt8]
    var expiry = Expiry.session
    /// The value of the last `Domain` without a leading dot, in lower case; empty without one.
    var domain: [UInt8] = []
    /// The value of the last `Path`; nil without one that begins with a slash.
    var path: [UInt8]?
    var isSecure = false
    var isHTTPOnly = false
    var sameSite = HTTPDNSClient.Cookie.SameSite.unspecified

    /// The largest sum of the lengths of name and value (RFC 6265bis section 5.6).
    static let maximumPair = 4096
    /// The largest value of an attribute; a longer attribute is ignored (RFC 6265bis section 5.6).
    static let maximumAttribute = 1024

    /// Parses the value of a field.
    /// - Throws: ``HTTPDNSClient/CookieJar/Rejection`` for a field that must be ignored as a whole.
    init(_ field: some Collection<UInt8>) throws(HTTPDNSClient.CookieJar.Rejection) {
        guard !field.contains(where: SetCookie.isForbidden) else { throw .controlCharacter }
        var parts = field.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)[...]
        let pair = SetCookie.pair(parts.popFirst().map { Array($0) } ?? [])
        // Without an equal sign all of it is the value.
        name = pair.value == nil ? [] : Array(pair.name)
        value = Array(pair.value ?? pair.name)
        guard name.count + value.count <= SetCookie.maximumPair else { throw .tooLarge }
        guard !(name.isEmpty && value.isEmpty) else { throw .empty }
        // Max-Age wins over Expires wherever it is.
        var (age, date): (Int64?, Int64?)
        for part in parts {
            let attribute = SetCookie.pair(Array(part))
            let value = Array(attribute.value ?? [])
            guard value.count <= SetCookie.maximumAttribute else { continue }
            switch String(decoding: attribute.name.map(\.lowercasedASCII), as: UTF8.self) {
            case "expires": if let seconds = CookieDate.seconds(value) { date = seconds }
            case "max-age": if let seconds = SetCookie.seconds(value) { age = seconds }
            case "domain":
                domain = (value.first == UInt8(ascii: ".") ? Array(value.dropFirst()) : value).map(\.lowercasedASCII)
            case "path": path = value.first == UInt8(ascii: "/") ? value : nil
            case "secure": isSecure = true
            case "httponly": isHTTPOnly = true
            case "samesite": sameSite = HTTPDNSClient.Cookie.SameSite(attribute: value)
            // Unknown attributes are ignored.
            default: break
            }
        }
        expiry = age.map(Expiry.age) ?? date.map(Expiry.date) ?? .session
    }

    /// Whether a field with this byte is ignored: a control character other than the tab.
    static func isForbidden(_ byte: UInt8) -> Bool { byte < 0x20 && byte != 0x09 || byte == 0x7f }

    /// Splits at the first equal sign, and removes spaces and tabs around both parts.
    private static func pair(_ text: [UInt8]) -> (name: ArraySlice<UInt8>, value: ArraySlice<UInt8>?) {
        guard let equals = text.firstIndex(of: UInt8(ascii: "=")) else { return (text.trimmed, nil) }
        return (text[..<equals].trimmed, text[(equals + 1)...].trimmed)
    }

    /// Returns the seconds of a `Max-Age`, at most those that Int64 holds; nil for a value that is ignored.
    private static func seconds(_ value: [UInt8]) -> Int64? {
        let isNegative = value.first == UInt8(ascii: "-")
        let digits = isNegative ? value[1...] : value[...]
        guard !digits.isEmpty, digits.allSatisfy(\.isDigit) else {
            return nil
        }
        if isNegative { return 0 }
        return Int64(String(decoding: digits, as: UTF8.self)) ?? .max
    }
}

extension HTTPDNSClient.Cookie.SameSite {
    /// Creates the value of an attribute; unknown words are ``unspecified``.
    init(attribute: [UInt8]) {
        switch String(decoding: attribute.map(\.lowercasedASCII), as: UTF8.self) {
        case "strict": self = .strict
        case "lax": self = .lax
        case "none": self = .none
        default: self = .unspecified
        }
    }
}
