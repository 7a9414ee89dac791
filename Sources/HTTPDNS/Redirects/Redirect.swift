public import HTTPTypes

extension HTTPDNSClient.RedirectPolicy {
    /// A redirect that is about to be followed, as ``HTTPDNSClient/Configuration/redirectHook`` sees it.
    public struct Redirect: Sendable {
        /// The request that was redirected.
        public var request: HTTPDNSClient.Request
        /// The head of the answer that redirects.
        public var response: HTTPResponse
        /// The request that will be sent.
        public var next: HTTPDNSClient.Request
        /// Which redirect of the call it is, from 1.
        public var number: Int
        /// Whether scheme, host or port change.
        public var changesOrigin: Bool
        /// The fields of ``request`` that ``next`` lacks, in their order.
        public var droppedFields: [HTTPField.Name]
    }
}

extension HTTPDNSClient.RedirectPolicy {
    /// What becomes of a redirect.
    public struct Decision: Sendable {
        enum Kind: Sendable {
            case follow
            case refuse
            case change(HTTPDNSClient.Request)
        }

        let kind: Kind

        /// It is followed as proposed.
        public static let follow = HTTPDNSClient.RedirectPolicy.Decision(kind: .follow)
        /// It is not followed: the 3xx is the response, with its body.
        public static let refuse = HTTPDNSClient.RedirectPolicy.Decision(kind: .refuse)
        /// This request is sent instead, which may lead anywhere and carry anything: nothing is dropped from it. The address
        /// policy and the networks that the call may reach hold for it, and the limit of redirects counts it.
        public static func change(_ request: HTTPDNSClient.Request) -> HTTPDNSClient.RedirectPolicy.Decision {
            HTTPDNSClient.RedirectPolicy.Decision(kind: .change(request))
        }
    }
}
