// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNS

extension HTTPDNSClient.TrafficMonitor {
    /// The secrets that are replaced by `(redacted)` before a record is stored.
    ///
    /// The sets have names in any case; `-` and `_` do not count. With a star in front, a name stands for all names that end
    /// with it: `*token` also means `X-Auth-Token` and `refreshToken`. A name in brackets or behind a dot counts by itself:
    /// `user[password]` is a password.
    ///
    /// User information and fragments of URLs are never stored.
    public struct Redaction: Sendable {
        /// The names of common secrets, the default for query items, form fields and JSON fields.
        public static let commonSecrets: Set<String> = [
            "*accesskey", "*accesskeyid", "*apikey", "*appkey", "*assertion", "*authorization", "*credential",
            "*credentials",
            "*passcode", "*passphrase", "*passwd", "*password", "*privatekey", "*pwd", "*secret", "*secretkey",
            "*sessionid",
            "*signature", "*token", "auth", "bearer", "codeverifier", "cookie", "csrf", "cvc", "cvv", "jwt", "otp",
            "pass", "pin",
            "samlrequest", "samlresponse", "secret", "session", "sid", "sig", "sign", "xsrf",
        ]

        /// The names of header fields of requests and responses whose values are replaced. Query items in all other values are
        /// replaced as in a URL, such as those of `Location` and `Referer`.
        public var headerFields: Set<String> = commonSecrets.union([
            "authentication-info", "proxy-authentication-info", "cookie2", "set-cookie", "set-cookie2",
        ])
        /// The names of query items whose values are replaced. The defaults also have `code` and `key`.
        public var queryItems: Set<String> = commonSecrets.union(["code", "key"])
        /// The names of fields of forms (`application/x-www-form-urlencoded`) whose values are replaced. A body of the type
        /// `multipart/form-data` with a part of such a name is not stored. The defaults also have `code`.
        public var formFields: Set<String> = commonSecrets.union(["code"])
        /// The names of members of JSON objects, at any depth, whose values are replaced.
        public var jsonFields: Set<String> = commonSecrets
        /// The condition on calls whose bodies are not stored; nil for none. The head of the caller's request must decide.
        public var withholdsBodies: HTTPDNSClient.RequestPredicate?

        /// Creates the defaults.
        public init() {}
    }
}

/// A set of names of secrets, see ``HTTPDNSClient/TrafficMonitor/Redaction``.
struct SecretNames: Sendable {
    private let names: Set<[UInt8]>
    private let suffixes: [[UInt8]]

    init(_ texts: Set<String>) {
        names = Set(texts.filter { !$0.hasPrefix("*") }.map { Self.normalized($0.utf8) })
        suffixes = texts.filter { $0.hasPrefix("*") }.map { Self.normalized($0.utf8) }.filter { !$0.isEmpty }
    }

    /// Returns whether a name, or a part of it between brackets and dots, is that of a secret.
    /// - Parameter name: The name without percent-encoding.
    func contains(_ name: some Collection<UInt8>) -> Bool {
        let whole = Self.normalized(name)
        guard !whole.isEmpty else { return false }
        if hasName(whole) { return true }
        let parts = name.split { $0 == UInt8(ascii: "[") || $0 == UInt8(ascii: "]") || $0 == UInt8(ascii: ".") }
        return parts.count > 1 && parts.contains { hasName(Self.normalized($0)) }
    }

    private func hasName(_ name: [UInt8]) -> Bool {
        names.contains(name)
            || suffixes.contains { name.count >= $0.count && name[(name.count - $0.count)...].elementsEqual($0) }
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
