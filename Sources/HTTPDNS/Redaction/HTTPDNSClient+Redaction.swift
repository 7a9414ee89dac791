// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

extension HTTPDNSClient {
    /// The secrets that are replaced by `(redacted)` in records, HAR files, recordings and command lines.
    ///
    /// Secrets are found by the name before a value (``names``), and by their form: JSON Web Tokens, values behind `Bearer`,
    /// `Basic` and similar schemes, private keys in PEM, and keys with the prefix of a known service. The texts of errors, logs
    /// and events are redacted with ``standard``.
    ///
    /// User information and fragments of URLs are removed. Bytes that are no text stay as they are.
    public struct Redaction: Hashable, Sendable {
        /// The names of secrets: of header fields, query items, items of paths, form fields, members of JSON, attributes and
        /// elements of markup, and of `name=value` and `name: value` in texts.
        ///
        /// Names have any case; `-` and `_` do not count. A star in front stands for any start, and one at the end for any
        /// end: `*token*` also means `X-Auth-Token` and `id_token_hint`. A name in brackets or behind a dot counts by itself:
        /// `user[password]` is a password.
        public var names: Set<String>
        /// Further names of query items, items of paths and form fields. They are usual names of other values elsewhere.
        public var namesInURLs: Set<String> = ["code", "key"]
        /// Whether anything is replaced.
        public var isOn = true

        /// The names of common secrets.
        public static let commonSecrets: Set<String> = SecretNames.common

        /// Creates a redaction of the given names.
        public init(names: Set<String> = commonSecrets) { self.names = names }

        /// The default: the names of ``commonSecrets``.
        public static let standard = Redaction()
        /// Nothing is replaced. The text has every secret.
        public static let off: Redaction = {
            var redaction = Redaction()
            redaction.isOn = false
            return redaction
        }()
    }
}
