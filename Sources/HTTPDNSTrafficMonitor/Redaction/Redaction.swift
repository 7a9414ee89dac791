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
        public static let commonSecrets: Set<String> = SecretNames.common

        /// The names of header fields of requests and responses whose values are replaced. Query items in all other values are
        /// replaced as in a URL, such as those of `Location` and `Referer`. Lines of text bodies that look like such a field count
        /// too.
        public var headerFields: Set<String> = commonSecrets.union([
            "authentication-info", "proxy-authentication-info", "cookie2", "set-cookie", "set-cookie2",
        ])
        /// The names of query items whose values are replaced, also in texts. The defaults also have `code` and `key`.
        public var queryItems: Set<String> = commonSecrets.union(SecretNames.commonInURLs)
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
