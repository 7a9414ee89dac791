public import HTTPDNSCore
internal import HTTPDNSCurl
public import HTTPDNSPrimitives

extension HTTPDNSRewriter {
    /// The inspectable result of the stage: where a request goes and why.
    ///
    /// The address form is for people and for comparing; on the wire travel the canonical URL and a pinned connection. All
    /// texts are made when they are asked for.
    public struct RewrittenRequest: Sendable {
        /// The one allocation that the stage makes.
        final class Content: Sendable {
            let originalText: String
            let url: HTTPDNSRewriter.CanonicalURL
            /// The URL under the identity of a `via` rule; nil without one.
            private let renamed: ParsedURL?
            let resolution: HTTPDNSResolver.Resolution
            /// Options that have a say in the rewriting.
            let pinnedTo: [String]?
            let bypass: Bool
            let families: HTTPDNSAddress.Families?
            let hostHeader: String?
            let reachableNetworks: HTTPDNSClient.ReachableNetworks
            let issuer: TagIssuer
            let tagExpiry: MonotonicTime

            init(
                _ request: borrowing HTTPDNSClient.Request,
                url: consuming HTTPDNSRewriter.CanonicalURL,
                resolution: consuming HTTPDNSResolver.Resolution,
                issuer: TagIssuer,
                tagExpiry: MonotonicTime
            ) {
                originalText = request.url
                if let identity = resolution.identity {
                    renamed = ParsedURL(url.parsed, host: .name(identity.description))
                } else {
                    renamed = nil
                }
                self.url = url
                self.resolution = resolution
                let own = request.own
                pinnedTo = own?.options.pinnedTo
                bypass = own?.options.bypass ?? false
                families = own?.options.families
                hostHeader = own?.options.hostHeader
                reachableNetworks = own?.options.reachableNetworks ?? .inherited
                self.issuer = issuer
                self.tagExpiry = tagExpiry
            }

            /// What libcurl gets.
            var sent: ParsedURL { renamed ?? url.parsed }
        }

        let content: Content

        /// The URL in the caller's spelling, without user information.
        public var originalURL: String {
            content.url.hasCredential ? URLText.withoutUserInformation(content.originalText) : content.originalText
        }
        /// The URL in the canonical form that is sent. Under a `via` rule with `keep: [host]` it has the other name.
        public var canonicalURL: String { content.sent.description }
        /// The same URL with the first address, and the port dialled there, in place of the name.
        public var addressURL: String {
            let url = content.sent
            guard let first = addresses.first else { return url.description }
            let port = first.port == url.scheme.defaultPort ? "" : ":\(first.port)"
            return "\(url.scheme.rawValue)://\(first.address.bracketed)\(port)\(url.target)"
        }
        /// The Host field (`:authority`) as sent.
        public var host: String { content.hostHeader ?? content.url.authority }
        /// The name for SNI and the certificate check; nil for clear text and for literals.
        public var serverName: String? {
            guard content.sent.scheme == .https, case .name(let name) = content.sent.host else { return nil }
            return name
        }
        /// Addresses for this host and port in the form that curl's `--resolve` takes: `host:port:address[,address]`, IPv6
        /// addresses in brackets. Empty without addresses: where a proxy looks the host up, or a Unix socket needs none.
        ///
        /// `--resolve` has no place for another port than the URL's. Where ``addresses`` have one, only the addresses are
        /// here, and ``connectToEntry`` says all of it.
        public var resolveEntry: String {
            guard !addresses.isEmpty else { return "" }
            var entry = "\(content.sent.hostText):\(content.sent.port):"
            var seen: [HTTPDNSAddress] = []
            for endpoint in addresses where !seen.contains(endpoint.address) {
                if !seen.isEmpty { entry += "," }
                entry += endpoint.address.bracketed
                seen.append(endpoint.address)
            }
            return entry
        }
        /// The first address in the form that curl's `--connect-to` takes, `host:port:address:port`, which can lead to
        /// another port than the URL's.
        public var connectToEntry: String {
            let from = "\(content.sent.hostText):\(content.sent.port)"
            return "\(from):\(addresses.first?.description ?? from)"
        }
        /// Where to connect, in the order in which they are tried.
        public var addresses: [HTTPDNSEndpoint] { content.resolution.endpoints }
        /// Where the addresses came from.
        public var source: HTTPDNSResolver.Resolution.Source { content.resolution.source }
        /// How old they were.
        public var age: Duration { content.resolution.age }
        /// How long they were good for at that time; nil means no expiry.
        public var timeToLive: Duration? { content.resolution.timeToLive }
        /// The generation of the mappings at the time.
        public var generation: UInt64 { content.resolution.generation }
        /// The mark that a second stage believes; nil when this stage rewrote nothing (bypass and literals).
        public var tag: HTTPDNSRewriter.Tag? {
            content.resolution.isRewriting ? HTTPDNSRewriter.Tag(content: content) : nil
        }
        /// The whole resolution behind it.
        public var resolution: HTTPDNSResolver.Resolution { content.resolution }
    }
}

extension HTTPDNSResolver.Resolution {
    /// Whether somebody has thought about the order of the addresses.
    var isOrdered: Bool {
        switch source {
        case .request, .mapping, .literal: true
        default: false
        }
    }

    /// Whether the request itself gives the order of its addresses, or weights do.
    var isChosen: Bool {
        switch source {
        case .request, .literal: return true
        case .mapping, .lastResort:
            return rule?.targets.areWeighted ?? false
        default: return false
        }
    }

    /// Whether the stage had a say in it: a bypassed name and a literal go where they would have gone without it.
    var isRewriting: Bool {
        switch source {
        case .literal, .proxy, .unixSocket: return false
        // The system resolver as a provider route's fallback is that route's answer.
        case .system: return isFallback
        default: return true
        }
    }
}
