extension HTTPDNSTrust {
    /// The SHA-256 of a server's public key (its SubjectPublicKeyInfo), which outlives the certificate when that is renewed
    /// with the same key. Source: RFC 7469 section 2.4, CURLOPT_PINNEDPUBLICKEY.
    ///
    /// ```swift
    /// let pin = try HTTPDNSTrust.PublicKeyPin("sha256//YhKJKSzoTt2b5FP18fvpHo7fJYqQCjAa3HWY3tvRMwE=")
    /// ```
    ///
    /// A pin of a certificate:
    /// `openssl x509 -in server.pem -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary |
    /// base64`
    public struct PublicKeyPin: Hashable, Sendable, CustomStringConvertible {
        /// The canonical text: `sha256//` and 44 characters of base64. Each key has one spelling.
        public let description: String

        /// Parses `sha256//` and base64. The 44 characters alone, as other tools print them, are accepted too.
        /// - Throws: ``HTTPDNSTrust/Error`` with code `publicKeyPin`.
        public init(_ text: String) throws(HTTPDNSTrust.Error) {
            let digest = text.hasPrefix("sha256//") ? text.dropFirst("sha256//".count) : text[...]
            guard HTTPDNSTrust.PublicKeyPin.isDigest(digest) else {
                throw HTTPDNSTrust.Error(
                    .publicKeyPin,
                    "\"\(text.escaped(limit: 80))\" is not a public-key pin; allowed: sha256// and 32 octets in base64 "
                        + "(44 characters that end in =)"
                )
            }
            description = "sha256//\(digest)"
        }

        /// Returns whether the text is the base64 of 32 bytes.
        ///
        /// 43 characters carry 258 bits: the last one's two low bits must be 0. Otherwise one key would have four spellings, of
        /// which libcurl, which compares text, accepts one.
        private static func isDigest(_ text: Substring) -> Bool {
            let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
            let octets = Array(text.utf8)
            guard octets.count == 44, octets[43] == UInt8(ascii: "=") else { return false }
            let values = octets[..<43].compactMap { alphabet.firstIndex(of: $0) }
            return values.count == 43 && values[42] & 3 == 0
        }
    }
}
