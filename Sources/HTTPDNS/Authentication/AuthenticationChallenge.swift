// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPTypes

/// One challenge of a `WWW-Authenticate` or `Proxy-Authenticate` field (RFC 9110 section 11.3).
///
/// Challenges are untrusted input: their number, and the number of their parameters, are bounded.
struct AuthenticationChallenge: Hashable, Sendable {
    /// The scheme in lower case.
    let scheme: String
    /// The text after the scheme in the form token68, such as the token of Negotiate; nil for parameters.
    var token68: String?
    /// The parameters by their name in lower case, without quotes and escapes.
    var parameters: [String: String] = [:]

    /// The most bytes that are read of all fields together.
    static let maximumBytes = 16 * 1024
    /// The most challenges that are read.
    static let maximumChallenges = 32
    /// The most parameters of a challenge. RFC 7616 defines ten.
    static let maximumParameters = 32

    /// Returns the challenges of a response, in their order.
    ///
    /// A challenge that cannot be read, or that has a parameter twice, is left out, and so is the rest of its field where
    /// the next challenge cannot be found. Challenges beyond the limits are left out.
    static func all(in fields: HTTPFields, _ name: HTTPField.Name) -> [AuthenticationChallenge] {
        var left = maximumBytes
        var challenges: [AuthenticationChallenge] = []
        for value in fields[values: name] {
            left -= value.utf8.count
            guard left >= 0, challenges.count < maximumChallenges else { break }
            challenges += all(in: value).prefix(maximumChallenges - challenges.count)
        }
        return challenges
    }

    /// Returns the challenges of one field's value.
    static func all(in value: String) -> [AuthenticationChallenge] {
        guard value.utf8.count <= maximumBytes else { return [] }
        var scan = AuthenticationFieldScan(value)
        var challenges: [AuthenticationChallenge] = []
        while scan.skipSeparators(), challenges.count < maximumChallenges {
            guard let scheme = scan.token() else { return challenges }
            if let challenge = challenge(of: scheme, &scan) { challenges.append(challenge) }
            guard !scan.isBroken else { return challenges }
        }
        return challenges
    }

    /// Reads what follows a scheme.
    /// - Returns: Nil for a challenge that must not be used.
    private static func challenge(of scheme: String, _ scan: inout AuthenticationFieldScan)
        -> AuthenticationChallenge?
    {
        var challenge = AuthenticationChallenge(scheme: scheme.asciiLowercased)
        guard scan.skipSpaces() > 0 || scan.isAtSeparator else {
            // A scheme ends with a space: `a=b` begins no challenge.
            scan.isBroken = true
            return nil
        }
        if let token68 = scan.token68() {
            challenge.token68 = token68
            return challenge
        }
        guard let parameters = scan.parameters(upTo: maximumParameters) else { return nil }
        challenge.parameters = parameters
        return challenge
    }

    /// Returns the parameters of an `Authentication-Info` or `Proxy-Authentication-Info` field (RFC 9110 section 11.6.3),
    /// by their names in lower case; none for a field that cannot be read.
    static func information(in value: String) -> [String: String] {
        guard value.utf8.count <= maximumBytes else { return [:] }
        var scan = AuthenticationFieldScan(value)
        guard let parameters = scan.parameters(upTo: maximumParameters), !scan.isBroken, !scan.skipSeparators() else {
            return [:]
        }
        return parameters
    }
}

/// A scan of one field with challenges or parameters.
struct AuthenticationFieldScan {
    private let bytes: [UInt8]
    private var index = 0
    /// Whether the text from here on cannot be read.
    var isBroken = false

    init(_ value: String) { bytes = Array(value.utf8) }

    private var byte: UInt8? { index < bytes.count ? bytes[index] : nil }

    /// Whether the scan is at a comma or at the end.
    var isAtSeparator: Bool { byte == nil || byte == UInt8(ascii: ",") }

    /// Skips spaces and tabs.
    /// - Returns: Their number.
    @discardableResult
    mutating func skipSpaces() -> Int {
        let start = index
        while let byte, byte == 0x20 || byte == 0x09 { index += 1 }
        return index - start
    }

    /// Skips spaces and commas; a list may have empty elements (RFC 9110 section 5.6.1).
    /// - Returns: Whether there is more text.
    mutating func skipSeparators() -> Bool {
        while let byte, byte == 0x20 || byte == 0x09 || byte == UInt8(ascii: ",") { index += 1 }
        return byte != nil
    }

    /// Reads a token (RFC 9110 section 5.6.2).
    mutating func token() -> String? {
        let start = index
        while let byte, Self.isTokenByte(byte) { index += 1 }
        return index > start ? String(decoding: bytes[start..<index], as: UTF8.self) : nil
    }

    /// Reads a token68, if the next list element is one and nothing else (RFC 9110 section 11.2).
    mutating func token68() -> String? {
        let start = index
        var end = index
        while end < bytes.count, Self.isToken68Byte(bytes[end]) { end += 1 }
        guard end > start else { return nil }
        // Without padding `abc` could also begin a parameter: then an equals sign and a value follow.
        while end < bytes.count, bytes[end] == UInt8(ascii: "=") { end += 1 }
        var next = end
        while next < bytes.count, bytes[next] == 0x20 || bytes[next] == 0x09 { next += 1 }
        guard next == bytes.count || bytes[next] == UInt8(ascii: ",") else { return nil }
        index = next
        return String(decoding: bytes[start..<end], as: UTF8.self)
    }

    /// Reads parameters up to the next challenge, or to the end.
    /// - Returns: Nil when a name occurs twice, when there are too many, or when the text is broken.
    mutating func parameters(upTo limit: Int) -> [String: String]? {
        var parameters: [String: String] = [:]
        var isUsable = true
        while true {
            let restart = index
            guard skipSeparators() else { break }
            guard let name = token() else {
                isBroken = true
                return nil
            }
            skipSpaces()
            guard byte == UInt8(ascii: "=") else {
                // A name without a value is the next challenge's scheme.
                index = restart
                break
            }
            index += 1
            skipSpaces()
            guard let value = byte == UInt8(ascii: "\"") ? quotedString() : token() else {
                isBroken = true
                return nil
            }
            skipSpaces()
            guard isAtSeparator else {
                isBroken = true
                return nil
            }
            if parameters.updateValue(value, forKey: name.asciiLowercased) != nil || parameters.count > limit {
                isUsable = false
            }
            if parameters.count > limit { parameters.removeAll() }
        }
        return isUsable ? parameters : nil
    }

    /// Reads a quoted string without its quotes and escapes (RFC 9110 section 5.6.4).
    /// - Returns: Nil without a closing quote, and for a control character.
    private mutating func quotedString() -> String? {
        index += 1
        var text: [UInt8] = []
        while var byte {
            index += 1
            if byte == UInt8(ascii: "\"") { return String(validating: text, as: UTF8.self) }
            if byte == UInt8(ascii: "\\") {
                guard let escaped = self.byte else { return nil }
                index += 1
                byte = escaped
            }
            guard byte >= 0x20 && byte != 0x7f || byte == 0x09 else { return nil }
            text.append(byte)
        }
        return nil
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        isAlphanumeric(byte) || "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }

    private static func isToken68Byte(_ byte: UInt8) -> Bool { isAlphanumeric(byte) || "-._~+/".utf8.contains(byte) }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: false
        }
    }
}

extension String {
    /// The text with ASCII letters in lower case. Scheme and parameter names are compared without case.
    var asciiLowercased: String {
        String(
            decoding: utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 },
            as: UTF8.self
        )
    }
}
