// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
internal import HTTPTypes

/// One challenge of a `WWW-Authenticate` or `Proxy-Authenticate` field (RFC 9110 section 11.3).
///
/// Challenges are untrusted input: their number, and the number of their parameters, are bounded. Devices send many that are
/// not of the grammar. Such text is read as curl reads it: values without quotes may contain spaces, the commas between
/// parameters and the last quote may be missing, the last of several parameters of a name counts, and a parameter that cannot
/// be read is left out.
struct AuthenticationChallenge: Hashable, Sendable {
    /// The scheme in lower case.
    let scheme: String
    /// The text after the scheme in the form token68, such as the token of Negotiate; nil for parameters.
    var token68: String?
    /// The bytes of the parameters by their name in lower case, without quotes and escapes. They have no defined charset, and a
    /// server compares them byte by byte.
    var parameters: [String: [UInt8]] = [:]

    /// The most bytes that are read of all fields together.
    static let maximumBytes = 16 * 1024
    /// The most challenges that are read.
    static let maximumChallenges = 32
    /// The most parameters of a challenge. RFC 7616 defines ten.
    static let maximumParameters = 32

    /// Returns the challenges of a response, in their order.
    ///
    /// Challenges beyond the limits, and those with more parameters, are left out.
    static func all(in fields: HTTPFields, _ name: HTTPField.Name) -> [AuthenticationChallenge] {
        var left = maximumBytes
        var challenges: [AuthenticationChallenge] = []
        for field in fields[fields: name] {
            let value = field.withUnsafeBytesOfValue { Array($0) }
            left -= value.count
            guard left >= 0, challenges.count < maximumChallenges else { break }
            challenges += all(in: value).prefix(maximumChallenges - challenges.count)
        }
        return challenges
    }

    /// Returns the challenges of one field's value.
    static func all(in value: [UInt8]) -> [AuthenticationChallenge] {
        guard value.count <= maximumBytes else { return [] }
        var scan = AuthenticationFieldScan(value)
        var challenges: [AuthenticationChallenge] = []
        while scan.skipSeparators(), challenges.count < maximumChallenges {
            // A scheme ends with a space: `a=b` begins no challenge.
            guard let scheme = scan.token(), scan.skipSpaces() > 0 || scan.isAtSeparator else {
                scan.skipElement()
                continue
            }
            var challenge = AuthenticationChallenge(scheme: scheme.lowercasedASCII)
            // `realm=` of a Digest challenge is an empty parameter.
            if challenge.scheme != "digest" { challenge.token68 = scan.token68() }
            if challenge.token68 == nil {
                guard let parameters = scan.parameters(upTo: maximumParameters) else { continue }
                challenge.parameters = parameters
            }
            challenges.append(challenge)
        }
        return challenges
    }

    /// The field in which a server proves itself (RFC 9110 section 11.6.3).
    static let serverInformation = HTTPField.Name("Authentication-Info")
    /// The field in which a proxy proves itself (RFC 9110 section 11.7.3).
    static let proxyInformation = HTTPField.Name("Proxy-Authentication-Info")

    /// Returns the parameters of ``serverInformation`` or ``proxyInformation``, by their names in lower case; none for a text
    /// that is not of the grammar: a proof in it would be compared with ours.
    static func information(in fields: HTTPFields, _ name: HTTPField.Name?) -> [String: [UInt8]] {
        // Without a copy of the fields of nearly all responses.
        guard let name, fields.contains(name) else { return [:] }
        let values = fields[fields: name].map { $0.withUnsafeBytesOfValue { Array($0) } }
        return information(in: Array(values.joined(separator: [UInt8(ascii: ",")])))
    }

    static func information(in value: [UInt8]) -> [String: [UInt8]] {
        guard value.count <= maximumBytes else { return [:] }
        var scan = AuthenticationFieldScan(value)
        guard let parameters = scan.parameters(upTo: maximumParameters), scan.isStrict, !scan.skipSeparators() else {
            return [:]
        }
        return parameters
    }

    /// Returns a parameter whose values are words in ASCII, in lower case.
    func word(_ name: String) -> String? {
        parameters[name].map { String(decoding: $0, as: UTF8.self).lowercasedASCII }
    }
}

/// A scan of one field with challenges or parameters.
struct AuthenticationFieldScan {
    private let bytes: [UInt8]
    private var index = 0
    /// Whether all text so far was of the grammar.
    private(set) var isStrict = true

    init(_ value: [UInt8]) { bytes = value }

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

    /// Skips text that cannot be read, up to the next comma.
    mutating func skipElement() {
        isStrict = false
        while !isAtSeparator { index += 1 }
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
    /// - Returns: Nil when there are too many.
    mutating func parameters(upTo limit: Int) -> [String: [UInt8]]? {
        var parameters: [String: [UInt8]] = [:]
        var isUsable = true
        while true {
            let restart = index
            guard skipSeparators() else { break }
            guard let name = token() else {
                skipElement()
                continue
            }
            let hasSpace = skipSpaces() > 0
            guard byte == UInt8(ascii: "=") else {
                guard hasSpace || isAtSeparator else {
                    skipElement()
                    continue
                }
                // A name without a value is the next challenge's scheme.
                index = restart
                break
            }
            index += 1
            skipSpaces()
            guard let value = byte == UInt8(ascii: "\"") ? quotedText() : unquotedText() else {
                skipElement()
                continue
            }
            skipSpaces()
            if !isAtSeparator { isStrict = false }
            if parameters.updateValue(value, forKey: name.lowercasedASCII) != nil { isStrict = false }
            if parameters.count > limit {
                isUsable = false
                parameters.removeAll()
            }
        }
        return isUsable ? parameters : nil
    }

    /// Reads a value without quotes, up to the next comma, without the spaces at its end.
    /// - Returns: Nil for a value with a control character.
    private mutating func unquotedText() -> [UInt8]? {
        var text: [UInt8] = []
        while !isAtSeparator, let byte {
            guard Self.isText(byte) else { return nil }
            text.append(byte)
            index += 1
        }
        while let last = text.last, last == 0x20 || last == 0x09 { text.removeLast() }
        if text.isEmpty || !text.allSatisfy(Self.isTokenByte) { isStrict = false }
        return text
    }

    /// Reads a quoted string (RFC 9110 section 5.6.4), up to the end of the field where the last quote is missing.
    /// - Returns: Nil for a text with a control character.
    private mutating func quotedText() -> [UInt8]? {
        index += 1
        var text: [UInt8] = []
        while var byte {
            index += 1
            if byte == UInt8(ascii: "\"") { return text }
            if byte == UInt8(ascii: "\\"), let escaped = self.byte {
                index += 1
                byte = escaped
            }
            guard Self.isText(byte) else { return nil }
            text.append(byte)
        }
        isStrict = false
        return text
    }

    private static func isText(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7f || byte == 0x09 }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        byte.isLetterOrDigit(or: "!#$%&'*+-.^_`|~")
    }

    private static func isToken68Byte(_ byte: UInt8) -> Bool { byte.isLetterOrDigit(or: "-._~+/") }
}
