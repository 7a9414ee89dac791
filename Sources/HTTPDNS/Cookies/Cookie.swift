// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSPrimitives

extension HTTPDNSClient {
    /// A cookie of a ``CookieJar`` (RFC 6265bis section 5.7). It is a copy: a change of the jar does not change it.
    public struct Cookie: Hashable, Sendable {
        /// The rule for requests that a redirect from another site has led to (RFC 6265bis section 5.6.7).
        public struct SameSite: Hashable, Sendable, CustomStringConvertible {
            /// `strict`, `lax`, `none` or `unspecified`.
            public let description: String

            /// Not sent after a redirect that has crossed sites.
            public static let strict = SameSite(description: "strict")
            /// Sent after such a redirect only with a safe method (RFC 9110 section 9.2.1).
            public static let lax = SameSite(description: "lax")
            /// Always sent. A server must set `Secure` with it.
            public static let none = SameSite(description: "none")
            /// The server has set no known value; the rule is that of ``lax``.
            public static let unspecified = SameSite(description: "unspecified")
        }

        /// The name; empty for a cookie without one. Bytes that are not UTF-8 are replaced by U+FFFD.
        public var name: String { String(decoding: stored.key.name, as: UTF8.self) }
        /// The value. It is often a credential: no description of the cookie contains it. Bytes that are not UTF-8 are
        /// replaced by U+FFFD.
        public var value: String { String(decoding: stored.value, as: UTF8.self) }
        /// The host, or the domain for whose hosts the cookie is: a name in lower-case A-labels, or an address.
        public var domain: String { stored.key.domain }
        /// Whether the cookie is sent to ``domain`` alone, and not to the names below it.
        public var isHostOnly: Bool { stored.key.isHostOnly }
        /// The path that the paths of requests must match.
        public var path: String { String(decoding: stored.key.path, as: UTF8.self) }
        /// The time of expiry, in milliseconds since 1970-01-01 00:00 UTC; nil for a session cookie.
        public var expiry: Int64? { stored.expiry }
        /// Whether the cookie is sent over https only.
        public var isSecure: Bool { stored.isSecure }
        /// Whether the server wants the cookie hidden from scripts. The client has none, so this is only stored.
        public var isHTTPOnly: Bool { stored.isHTTPOnly }
        /// The rule for redirects that cross sites.
        public var sameSite: SameSite { stored.sameSite }
        /// The time at which a cookie of this name, domain and path was first stored, in milliseconds since 1970-01-01
        /// 00:00 UTC.
        public var creation: Int64 { stored.creation }

        /// The cookie as the jar has it.
        let stored: StoredCookie

        init(_ stored: StoredCookie) { self.stored = stored }
    }
}

extension HTTPDNSClient.Cookie: HTTPDNSRedacted {
    /// The name, domain, path and attributes, without the value.
    public var description: String {
        var text = "\(name.isEmpty ? "(no name)" : name.escaped(limit: 80)), \(isHostOnly ? "" : "*.")\(domain)"
        text += path.escaped(limit: 80)
        if isSecure { text += ", secure" }
        if isHTTPOnly { text += ", http-only" }
        if sameSite != .unspecified { text += ", same-site \(sameSite)" }
        return text + (expiry == nil ? ", session" : "")
    }
}
