public import HTTPTypes

extension HTTPDNSClient.RedirectPolicy {
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
        /// Does not follow the redirect: the 3xx response is returned, with its body.
        public static let refuse = HTTPDNSClient.RedirectPolicy.Decision(kind: .refuse)
        /// Sends another request instead, to any URL and with any content: nothing is dropped from it. The address
        /// policy and the reachable networks of the call apply to it, and it counts towards the limit of redirects.
        public static func change(_ request: HTTPDNSClient.Request) -> HTTPDNSClient.RedirectPolicy.Decision {
            HTTPDNSClient.RedirectPolicy.Decision(kind: .change(request))
        }
    }
}
