// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSPrimitives
public import HTTPTypes

extension HTTPDNSClient {
    /// A policy that decides which redirects are followed, and which header fields are sent to another origin.
    ///
    /// The client follows redirects itself, each as a hop: the target is canonicalized, resolved, checked by the
    /// address policy and pinned like every URL. It follows 301, 302, 303, 307 and 308 with a `Location` (RFC 9110
    /// section 15.4); any other response is returned. POST becomes GET on 301 and 302, every method except HEAD becomes
    /// GET on 303, and 307 and 308 repeat the same method and body.
    ///
    /// The following are not sent when scheme, host or port changes:
    /// - `Authorization`, `Proxy-Authorization`, `Cookie`, `Cookie2`, `Referer` and ``secretFields``,
    /// - every field whose name has a part such as `token` or `key` (see ``crossOriginFields``),
    /// - every field marked as never to be indexed (`HTTPField.indexingStrategy`),
    /// - the URL's user information, ``HTTPDNSClient/Request/Options/hostHeader``, and the client certificate.
    ///
    /// Public-key pins (`HTTPDNSTrust`) remain in force: those for all hosts apply on every hop.
    public struct RedirectPolicy: Hashable, Sendable {
        /// The maximum number of redirects in one call, 0 to 100. The next one is the error
        /// ``HTTPDNSClientError/Code/tooManyRedirects``. With 0 none is followed, and the 3xx response is returned.
        public var limit = 20
        /// Whether a redirect may lead from https to http. If not, such a redirect is the error
        /// ``HTTPDNSClientError/Code/redirectRefused``.
        public var allowsDowngrade = false
        /// Further fields that hold secrets: they are not sent to another origin, whatever ``crossOriginFields`` says.
        public var secretFields: Set<HTTPField.Name> = []

        /// The only fields that are sent to another origin; `nil` means all except those that look like secrets.
        ///
        /// A field looks like a secret when services of many vendors expect a key or a token in it, such as `X-Api-Key`. Otherwise
        /// the rule looks at the parts of a name between hyphens, underscores or dots. A field looks like a secret when
        /// a part contains `token`, `secret`, `credential`, `signature`, `session` or `password`. It also does when a
        /// part begins with `auth` (but not `author`) or ends with `key`. `Idempotency-Key` does not. A list replaces
        /// this rule, so it can name such a field. The other fields that are held back are held back with a list too.
        public var crossOriginFields: Set<HTTPField.Name>?

        /// Creates the default: 20 redirects, never from https to http.
        public init() {}

        /// The policy that follows no redirect: a 3xx response is returned.
        public static let off: HTTPDNSClient.RedirectPolicy = {
            var policy = HTTPDNSClient.RedirectPolicy()
            policy.limit = 0
            return policy
        }()

        /// The fields in which services of many vendors expect keys and tokens.
        private static let commonSecretFields: Set<HTTPField.Name> = Set(
            [
                "Api-Key", "Apikey", "X-Api-Key", "X-Auth-Token", "X-Access-Token", "X-Amz-Security-Token",
                "X-Csrf-Token",
                "X-Goog-Api-Key", "X-Goog-Iam-Authorization-Token", "X-Ms-Client-Principal", "X-Session-Token",
                "X-Vault-Token", "X-Xsrf-Token", "Private-Token", "Job-Token",
            ].compactMap { HTTPField.Name($0) }
        )

        /// Whether a field is held back when the origin changes.
        func withholds(_ field: HTTPField) -> Bool {
            if field.indexingStrategy == .disallow || Self.standardSecretFields.contains(field.name)
                || secretFields.contains(field.name)
            {
                return true
            }
            if let crossOriginFields { return !crossOriginFields.contains(field.name) }
            return Self.commonSecretFields.contains(field.name) || SecretFieldName.matches(field.name)
        }

        /// Whether a field is known to hold a secret, whatever a policy says.
        static func isKnownSecret(_ name: HTTPField.Name) -> Bool {
            standardSecretFields.contains(name) || commonSecretFields.contains(name)
        }

        /// The fields that RFC 9110 section 15.4 names. `Cookie2` is obsolete, and some servers still read it.
        private static let standardSecretFields: Set<HTTPField.Name> = Set(
            ["Authorization", "Proxy-Authorization", "Cookie", "Cookie2", "Referer"].compactMap { HTTPField.Name($0) }
        )
    }
}

/// The names of header fields that look like those of secrets, see ``HTTPDNSClient/RedirectPolicy/crossOriginFields``.
private enum SecretFieldName {
    static func matches(_ name: HTTPField.Name) -> Bool {
        let text = name.canonicalName
        // It identifies a request and grants no rights (draft-ietf-httpapi-idempotency-key-header).
        if text == "idempotency-key" { return false }
        return text.utf8.split(whereSeparator: "-_.".utf8.contains).contains { bytes in
            let part = String(decoding: bytes, as: UTF8.self)
            return part.hasSuffix("key") || part.hasPrefix("auth") && !part.isAuthor
                // By bytes: `String.contains` takes 4 us for each word.
                || words.contains { word in bytes.indices.contains { bytes[$0...].starts(with: word.utf8) } }
        }
    }

    private static let words = ["token", "secret", "credential", "signature", "session", "password"]
}

extension String {
    /// Whether the word is `author` or `authors`, and not `authorization` or `authority`.
    fileprivate var isAuthor: Bool { self == "author" || self == "authors" }
}

extension HTTPDNSClient.RedirectPolicy {
    /// - Throws: ``HTTPDNSClientError`` with code `configuration`.
    func validate() throws(HTTPDNSClientError) {
        guard (0...100).contains(limit) else {
            throw .configuration("redirects.limit is \(limit)", hint: "0 to 100; 20 suits nearly everybody")
        }
    }

    /// A redirect that is about to be followed, as ``HTTPDNSClient/Configuration/redirectHook`` receives it.
    public struct Redirect: Sendable {
        /// The request that was redirected.
        public var request: HTTPDNSClient.Request
        /// The head of the redirecting response.
        public var response: HTTPResponse
        /// The request that will be sent.
        public var next: HTTPDNSClient.Request
        /// The number of the redirect in the call, from 1.
        public var number: Int
        /// Whether scheme, host or port changes.
        public var changesOrigin: Bool
        /// The fields of ``request`` that ``next`` lacks, in their order.
        public var droppedFields: [HTTPField.Name]

        /// Creates a redirect, for a test of a hook.
        public init(
            request: HTTPDNSClient.Request,
            response: HTTPResponse,
            next: HTTPDNSClient.Request,
            number: Int = 1,
            changesOrigin: Bool = false,
            droppedFields: [HTTPField.Name] = []
        ) {
            self.request = request
            self.response = response
            self.next = next
            self.number = number
            self.changesOrigin = changesOrigin
            self.droppedFields = droppedFields
        }
    }
}

extension HTTPDNSClient.RedirectPolicy {
    /// A decision about a redirect.
    public struct Decision: Sendable {
        enum Kind: Sendable {
            case follow
            case refuse
            case change(HTTPDNSClient.Request)
        }

        let kind: Kind

        /// Follows the redirect as proposed.
        public static let follow = HTTPDNSClient.RedirectPolicy.Decision(kind: .follow)
        /// Does not follow the redirect: the 3xx response is returned, with its body. A body of more than 16 KiB, or one that
        /// takes more than 250 ms, is not kept for the time of the hook, and fails when it is read.
        public static let refuse = HTTPDNSClient.RedirectPolicy.Decision(kind: .refuse)
        /// Sends another request instead, to any URL and with any content: nothing is dropped from it. The address
        /// policy and the reachable networks of the call apply to it, and it counts towards the limit of redirects.
        public static func change(_ request: HTTPDNSClient.Request) -> HTTPDNSClient.RedirectPolicy.Decision {
            HTTPDNSClient.RedirectPolicy.Decision(kind: .change(request))
        }
    }
}

extension HTTPDNSClient.RedirectPolicy.Redirect: HTTPDNSRedacted {
    /// The number and status of the redirect, and the requests before and after it.
    public var description: String { "redirect \(number), \(response.status): \(request) -> \(next)" }
}
