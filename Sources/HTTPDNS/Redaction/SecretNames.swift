// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// A set of names of secrets with stars, see ``HTTPDNSClient/Redaction/names``.
package struct SecretNames: Sendable {
    /// The names of common secrets.
    static let common: Set<String> = [
        "*accesskey", "*accesskeyid", "*accountkey", "*apikey", "*appkey", "*assertion", "*authkey", "*authorization",
        "*credential", "*credentials", "*encryptionkey", "*functionskey", "*hmac*", "*passcode", "*passphrase",
        "*passwd*", "*password*", "*privatekey", "*pwd", "*secret*", "*sessid", "*sessionid", "*signature*",
        "*signingkey", "*subscriptionkey", "*token*", "auth", "authenticationinfo", "bearer", "codeverifier", "cookie",
        "cookie2", "csrf", "cvc", "cvv", "hdnea", "hdntl", "hdnts", "jwt", "otp", "pass", "pin",
        "proxyauthenticationinfo", "samlrequest", "samlresponse", "session", "setcookie", "setcookie2", "sid", "sig",
        "sign", "ticket", "totp", "xauth", "xsrf",
    ]
    /// The most layers of percent-encoding that are read. A name or value with more of them counts as a secret.
    static let maximumDecodings = 3

    private let names: Set<[UInt8]>
    /// The names with a star in front, at the end, and at both ends.
    private let suffixes: [[UInt8]]
    private let prefixes: [[UInt8]]
    private let infixes: [[UInt8]]

    package init(_ texts: Set<String>) {
        func patterns(_ start: Bool, _ end: Bool) -> [[UInt8]] {
            texts.filter { $0.hasPrefix("*") == start && $0.hasSuffix("*") == end }
                .map { Self.normalized($0.utf8) }.filter { !$0.isEmpty }
        }
        names = Set(patterns(false, false))
        suffixes = patterns(true, false)
        prefixes = patterns(false, true)
        infixes = patterns(true, true)
    }

    /// Returns whether a name, or a part of it between brackets and dots, is that of a secret.
    /// - Parameter name: The name without percent-encoding.
    @inlinable
    package func contains(_ name: some Collection<UInt8>) -> Bool {
        if containsWhole(name) { return true }
        let parts = name.split { $0 == UInt8(ascii: "[") || $0 == UInt8(ascii: "]") || $0 == UInt8(ascii: ".") }
        return parts.count > 1 && parts.contains { containsWhole($0) }
    }

    /// Returns whether a name as a whole is that of a secret.
    @inlinable
    func containsWhole(_ name: some Collection<UInt8>) -> Bool { contains(normalized: Self.normalized(name)) }

    /// Returns whether a name is that of a secret, as it is or behind percent-encoding. A name with too many layers of it is one.
    @inlinable
    func containsEncoded(_ name: some Collection<UInt8>) -> Bool {
        if contains(name) { return true }
        return name.contains(UInt8(ascii: "%")) && contains(encoded: String(decoding: name, as: UTF8.self))
    }

    @usableFromInline
    package func contains(encoded name: String) -> Bool {
        var text = name
        for _ in 0...Self.maximumDecodings {
            let decoded = FormItems.decoded(text[...])
            if decoded == text { return false }
            if contains(decoded.utf8) { return true }
            text = decoded
        }
        return true
    }

    @usableFromInline
    package func contains(normalized name: [UInt8]) -> Bool {
        guard !name.isEmpty else { return false }
        return names.contains(name)
            || suffixes.contains { name.suffix($0.count).elementsEqual($0) }
            || prefixes.contains { name.starts(with: $0) }
            || infixes.contains { Self.contains($0, in: name) }
    }

    private static func contains(_ part: [UInt8], in name: [UInt8]) -> Bool {
        guard part.count <= name.count else { return false }
        return (0...(name.count - part.count)).contains { name[$0...].starts(with: part) }
    }

    /// Returns the letters and digits of a name, in lower case.
    @inlinable
    package static func normalized(_ name: some Sequence<UInt8>) -> [UInt8] {
        name.compactMap { byte in
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), 0x80...: byte
            default: nil
            }
        }
    }
}
