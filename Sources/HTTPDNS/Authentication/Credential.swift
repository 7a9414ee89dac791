// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSCore
public import HTTPDNSPrimitives
internal import HTTPTypes

extension HTTPDNSClient {
    /// A credential for an origin, with the scheme that proves it: Basic, Digest or Bearer.
    ///
    /// ```swift
    /// configuration.credentials[origin] = .basic(user: "me", password: .file("/run/secrets/api"))
    /// ```
    ///
    /// A client answers the challenge of a 401 response with the credential of the response's origin, and sends the
    /// request again. Only the scheme of the credential is answered: a server cannot ask for a weaker one. No other origin
    /// gets anything of it, also after a redirect. No text of this value contains the user, the password or a token.
    public struct Credential: Hashable, Sendable, HTTPDNSRedacted {
        enum Content: Hashable {
            case off
            case basic(Login, isPreemptive: Bool)
            case digest(Login)
            case bearer(BearerTokens)
            case fixedToken(HTTPDNSSecret)
        }

        let content: Content

        private init(_ content: Content) { self.content = content }

        /// No credential: a 401 response is returned.
        public static let off = HTTPDNSClient.Credential(.off)

        /// Returns a credential for the Basic scheme (RFC 7617), in UTF-8.
        ///
        /// Over `http`, which ``HTTPDNSClient/Options/allowsCleartextCredentials`` allows, anyone who reads the connection reads
        /// the password.
        /// - Parameters:
        ///   - user: The user name, without a colon or control characters; others are refused with
        ///     ``HTTPDNSClientError/Code/configuration``.
        ///   - password: The source of the password, which is read for each request.
        ///   - preemptive: Whether the first request already has the credential. Otherwise it is sent after a challenge,
        ///     and then with requests at or below the same folder of the path (RFC 7617 section 2.2).
        public static func basic(user: String, password: HTTPDNSSecret, preemptive: Bool = false)
            -> HTTPDNSClient.Credential
        {
            HTTPDNSClient.Credential(.basic(Login(user: user, password: password), isPreemptive: preemptive))
        }

        /// Returns a credential for the Digest scheme (RFC 7616) with MD5 or SHA-256, with or without `-sess`, and the
        /// protection `auth`, `auth-int` or that of RFC 2069.
        ///
        /// Needs the package trait `Digest`; without it the client and the request are refused.
        /// - Parameters:
        ///   - user: The user name, without control characters.
        ///   - password: The source of the password, which is read for each request.
        public static func digest(user: String, password: HTTPDNSSecret) -> HTTPDNSClient.Credential {
            HTTPDNSClient.Credential(.digest(Login(user: user, password: password)))
        }

        /// Returns a credential for the Bearer scheme (RFC 6750) with a token that another program renews.
        ///
        /// The token is read for each request. After a 401 response it is read once more, and the request is sent again
        /// if the token has changed.
        /// - Parameter token: The source of the token: visible ASCII characters without spaces.
        public static func bearer(_ token: HTTPDNSSecret) -> HTTPDNSClient.Credential {
            HTTPDNSClient.Credential(.fixedToken(token))
        }

        /// Returns a credential for the Bearer scheme (RFC 6750) whose tokens a closure gets.
        ///
        /// All requests with this value and its copies share a token, and wait for one call of the closure at a time. It
        /// is called for the first request, before a token expires, and after a 401 response to the present token. A
        /// request is sent at most twice. A call of the closure that takes more than 30 s is canceled, and counts as
        /// failed. Make this value once, not for each request.
        ///
        /// - Parameters:
        ///   - renewsAhead: The time before the end of a token's lifetime from which the next one is requested, while
        ///     requests use the present one. Not negative.
        ///   - minimumInterval: The least time from the end of one call of the closure to the next call, however many
        ///     tokens are refused or calls fail. In this time a 401 response is returned, and the error of the last call is
        ///     thrown again. Not negative.
        ///   - token: Gets a token. It runs in a task of its own, without the task-local values of requests, and is not
        ///     canceled with them. An error fails the requests that wait with
        ///     ``HTTPDNSClientError/Code/authenticationFailed``, and is in ``HTTPDNSClientError/underlying``. It may use
        ///     the same client, but not this credential: such a request would wait for itself.
        public static func bearer(
            renewsAhead: Duration = .seconds(30),
            minimumInterval: Duration = .seconds(5),
            token: @escaping @Sendable () async throws -> HTTPDNSClient.Credential.Token
        ) -> HTTPDNSClient.Credential {
            HTTPDNSClient.Credential(
                .bearer(BearerTokens(renewsAhead: renewsAhead, minimumInterval: minimumInterval, provider: token))
            )
        }

        /// The scheme in lower case, or `off`.
        public var description: String {
            switch content {
            case .off: "off"
            case .basic: "basic"
            case .digest: "digest"
            case .bearer, .fixedToken: "bearer"
            }
        }

        var isOff: Bool { content == .off }

        /// A user with the source of a password.
        struct Login: Hashable, Sendable {
            let user: String
            let password: HTTPDNSSecret
        }
    }
}

extension HTTPDNSClient.Credential {
    /// A token for the Bearer scheme. Its text appears in no description and no error.
    public struct Token: Hashable, Sendable, HTTPDNSRedacted {
        let text: String
        let lifetime: Duration?

        /// Creates a token.
        /// - Parameters:
        ///   - text: The token: visible ASCII characters without spaces. Any other text fails the requests that need it
        ///     with ``HTTPDNSClientError/Code/authenticationFailed``.
        ///   - lifetime: The time from the call of the closure for which the token is valid, such as `expires_in` of
        ///     RFC 6749 section 5.1; nil when it is unknown.
        public init(_ text: String, lifetime: Duration? = nil) {
            self.text = text
            self.lifetime = lifetime
        }

        /// A constant text without the token.
        public var description: String { "a token" }

        /// Whether the text can be sent. RFC 6750 section 2.1 allows fewer characters, but servers issue others.
        static func isSendable(_ text: String) -> Bool {
            !text.isEmpty && text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
        }
    }
}

extension HTTPDNSClient.Credential {
    /// Returns the reason why the credential cannot be used, with a hint; nil when it can.
    package var fault: (message: String, hint: String?)? {
        switch content {
        case .off, .fixedToken: return nil
        case .basic(let login, _):
            guard let fault = BasicCredential.fault(user: login.user, password: "", in: "the credential") else {
                return nil
            }
            return (fault, "the Digest scheme carries any user")
        case .digest(let login):
            guard DigestHash.isAvailable else {
                return (
                    "this build has no Digest authentication",
                    "build the package with the trait Digest, which brings swift-crypto"
                )
            }
            let isSendable = login.user.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
            return isSendable ? nil : ("the user of the credential has a control character", nil)
        case .bearer(let tokens):
            guard tokens.renewsAhead < .zero || tokens.minimumInterval < .zero else { return nil }
            return ("renewsAhead or minimumInterval of a bearer credential is negative", "zero is the least")
        }
    }
}
