// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNS

extension HTTPDNSClient.TrafficMonitor {
    /// The secrets that are replaced by `(redacted)` before a record is stored.
    ///
    /// The sets have names in any case; `-` and `_` do not count. A star in front stands for any start, and one at the end for any
    /// end: `*token*` also means `X-Auth-Token` and `id_token_hint`. A name in brackets or behind a dot counts by itself:
    /// `user[password]` is a password.
    ///
    /// User information and fragments of the URLs of calls are never stored. User information is also removed from URLs in
    /// header fields and texts, and the fragment from `Location`, `Content-Location` and `Referer`.
    public struct Redaction: Sendable {
        /// The names of common secrets, the default for query items, form fields and JSON fields.
        public static let commonSecrets: Set<String> = [
            "*accesskey", "*accesskeyid", "*apikey", "*appkey", "*assertion", "*authkey", "*authorization",
            "*credential", "*credentials", "*functionskey", "*passcode", "*passphrase", "*passwd*", "*password*",
            "*privatekey", "*pwd", "*secret*", "*sessid", "*sessionid", "*signature", "*subscriptionkey", "*token*",
            "auth", "bearer", "codeverifier", "cookie", "csrf", "cvc", "cvv", "jwt", "otp", "pass", "pin",
            "samlrequest", "samlresponse", "session", "sid", "sig", "sign", "ticket", "xauth", "xsrf",
        ]

        /// The names of header fields of requests and responses whose values are replaced. Query items in all other values are
        /// replaced as in a URL, such as those of `Location` and `Referer`. Lines of text bodies that look like such a field count
        /// too.
        public var headerFields: Set<String> = commonSecrets.union([
            "authentication-info", "proxy-authentication-info", "cookie2", "set-cookie", "set-cookie2",
        ])
        /// The names of query items whose values are replaced, also in texts. The defaults also have `code` and `key`.
        public var queryItems: Set<String> = commonSecrets.union(["code", "key"])
        /// The names of fields of forms (`application/x-www-form-urlencoded`) whose values are replaced. A body of the type
        /// `multipart/form-data` with a part of such a name is not stored. The defaults also have `code`.
        public var formFields: Set<String> = commonSecrets.union(["code"])
        /// The names of members of JSON objects, at any depth, whose values are replaced, also in other texts.
        public var jsonFields: Set<String> = commonSecrets
        /// The condition on calls whose bodies are not stored; nil for none. The head of the caller's request must decide.
        public var withholdsBodies: HTTPDNSClient.RequestPredicate?

        /// Creates the defaults.
        public init() {}

        /// The text in the place of a secret.
        package static let mark = Redactor.mark

        /// Returns the URL of a server, absolute or relative, without user information, secrets and fragment.
        package func redacted(url text: String) -> String {
            let (redactor, text) = (Redactor(self), String(text.prefix { $0 != "#" }))
            guard let canonical = try? HTTPDNSRewriter.Canonicalizer.canonicalize(text) else {
                return redactor.text(URLText.withoutUserInformation(text))
            }
            let redacted = redactor.url(canonical, text)
            return redacted == canonical.description ? URLText.withoutUserInformation(text) : redacted
        }
    }
}

/// A set of names of secrets, see ``HTTPDNSClient/TrafficMonitor/Redaction``.
struct SecretNames: Sendable {
    private let names: Set<[UInt8]>
    /// The names with a star in front, at the end, and at both ends.
    private let suffixes: [[UInt8]]
    private let prefixes: [[UInt8]]
    private let infixes: [[UInt8]]

    init(_ texts: Set<String>) {
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
    func contains(_ name: some Collection<UInt8>) -> Bool {
        if containsWhole(name) { return true }
        let parts = name.split { $0 == UInt8(ascii: "[") || $0 == UInt8(ascii: "]") || $0 == UInt8(ascii: ".") }
        return parts.count > 1 && parts.contains { containsWhole($0) }
    }

    /// Returns whether a name is that of a secret, as it is or behind percent-encoding. A name with too many layers of it is one.
    func containsEncoded(_ name: some Collection<UInt8>) -> Bool {
        if contains(name) { return true }
        guard name.contains(UInt8(ascii: "%")) else { return false }
        var text = String(decoding: name, as: UTF8.self)
        for _ in 0...SecretScan.maximumDecodings {
            let decoded = FormItems.decoded(text[...])
            if decoded == text { return false }
            if contains(decoded.utf8) { return true }
            text = decoded
        }
        return true
    }

    /// Returns whether a name as a whole is that of a secret.
    func containsWhole(_ name: some Collection<UInt8>) -> Bool {
        let name = Self.normalized(name)
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
    private static func normalized(_ name: some Sequence<UInt8>) -> [UInt8] {
        name.compactMap { byte in
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), 0x80...: byte
            default: nil
            }
        }
    }
}
