internal import HTTPDNSPrimitives
public import HTTPTypes

extension HTTPDNSClient {
    /// Which redirects are followed, and what does not go along to another origin.
    ///
    /// Redirects are followed by the client, a hop for each: the target is canonicalized, resolved, checked by the address
    /// policy and pinned like every URL. Followed are 301, 302, 303, 307 and 308 with a `Location` (RFC 9110 section 15.4);
    /// what is not followed is the response. POST becomes GET on 301 and 302, everything but HEAD becomes GET on 303, and 307
    /// and 308 send the same method and body again.
    ///
    /// When scheme, host or port change these stay behind: `Authorization`, `Proxy-Authorization`, `Cookie`,
    /// `Cookie2`, `Referer`, ``secretFields``, every field whose name has a part such as `token` or `key` (see
    /// ``crossOriginFields``), every field that is marked as never to be indexed (`HTTPField.indexingStrategy`), the URL's
    /// user information, ``HTTPDNSClient/Request/Options/hostHeader``, and the client certificate. Public-key pins
    /// (`HTTPDNSTrust`) are not lifted: those for all hosts hold on every hop.
    public struct RedirectPolicy: Hashable, Sendable {
        /// How many redirects one call follows, 0 to 100; the next one is the error
        /// ``HTTPDNSClientError/Code/tooManyRedirects``. With 0 none is followed, and the 3xx is the response.
        public var limit = 20
        /// Whether a redirect may lead from https to http. If not, it is the error
        /// ``HTTPDNSClientError/Code/redirectRefused``.
        public var allowsDowngrade = false
        /// Fields that hold secrets besides the standard ones. They are not sent to another origin.
        public var secretFields: Set<HTTPField.Name> = HTTPDNSClient.RedirectPolicy.commonSecretFields

        /// The only fields that are sent to another origin; `nil` stands for all but those that look like secrets.
        ///
        /// A field looks like a secret when a part of its name, between hyphens, underscores or dots, contains `token`,
        /// `secret`, `credential`, `signature`, `session` or `password`, begins with `auth` (but not `author`), or ends with
        /// `key`. `Idempotency-Key` does not. A list replaces this rule, so it can name such a field. The other fields that
        /// stay behind do so with a list too.
        public var crossOriginFields: Set<HTTPField.Name>?

        /// Creates the default: 20 redirects, never from https to http.
        public init() {}

        /// Follows no redirect: a 3xx status is the response.
        public static let never: HTTPDNSClient.RedirectPolicy = {
            var policy = HTTPDNSClient.RedirectPolicy()
            policy.limit = 0
            return policy
        }()

        /// The policy of the client, ``HTTPDNSClient/Configuration/redirects``: the default of
        /// ``HTTPDNSClient/Request/Options/redirects``.
        ///
        /// The settings of a client refuse it with ``HTTPDNSClientError/Code/configuration``. A request refuses a changed
        /// copy of it with ``HTTPDNSClientError/Code/invalidRequest``: a policy of one's own begins with ``init()``.
        public static let inherited: HTTPDNSClient.RedirectPolicy = {
            var policy = HTTPDNSClient.RedirectPolicy()
            policy.isInherited = true
            return policy
        }()

        private(set) var isInherited = false

        /// Fields in which services of many vendors want keys and tokens.
        public static let commonSecretFields: Set<HTTPField.Name> = Set(
            [
                "Api-Key", "Apikey", "X-Api-Key", "X-Auth-Token", "X-Access-Token", "X-Amz-Security-Token",
                "X-Csrf-Token",
                "X-Goog-Api-Key", "X-Goog-Iam-Authorization-Token", "X-Ms-Client-Principal", "X-Session-Token",
                "X-Vault-Token", "X-Xsrf-Token", "Private-Token", "Job-Token",
            ].compactMap { HTTPField.Name($0) }
        )

        /// Whether a field stays behind when the origin changes.
        func withholds(_ field: HTTPField) -> Bool {
            if field.indexingStrategy == .disallow || isListedSecret(field.name) { return true }
            if let crossOriginFields { return !crossOriginFields.contains(field.name) }
            return SecretFieldName.matches(field.name)
        }

        /// Whether a field is one of the standard ones that hold secrets, or of ``secretFields``.
        func isListedSecret(_ name: HTTPField.Name) -> Bool {
            HTTPDNSClient.RedirectPolicy.standardSecretFields.contains(name) || secretFields.contains(name)
        }

        /// RFC 9110 section 15.4 names these; `Cookie2` is obsolete, and some servers still read it.
        private static let standardSecretFields: Set<HTTPField.Name> = Set(
            ["Authorization", "Proxy-Authorization", "Cookie", "Cookie2", "Referer"].compactMap { HTTPField.Name($0) }
        )
    }
}

/// The names of header fields that look like those of secrets, see ``HTTPDNSClient/RedirectPolicy/crossOriginFields``.
private enum SecretFieldName {
    static func matches(_ name: HTTPField.Name) -> Bool {
        let text = name.canonicalName
        // It names a request and gives nobody a right (draft-ietf-httpapi-idempotency-key-header).
        if text == "idempotency-key" { return false }
        return text.utf8.split(whereSeparator: { separators.contains($0) }).contains { part in
            let part = String(decoding: part, as: UTF8.self)
            return part.hasSuffix("key") || part.hasPrefix("auth") && !part.isAuthor
                || words.contains(where: part.contains)
        }
    }

    private static let separators: Set<UInt8> = [UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: ".")]
    private static let words = ["token", "secret", "credential", "signature", "session", "password"]
}

extension String {
    /// Whether the word is `author` or `authors`, and not `authorization` or `authority`.
    fileprivate var isAuthor: Bool { self == "author" || self == "authors" }
}
