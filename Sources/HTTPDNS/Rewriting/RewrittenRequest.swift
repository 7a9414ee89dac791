// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSCore
internal import HTTPDNSCurl
public import HTTPDNSPrimitives

extension HTTPDNSRewriter {
    /// The result of the rewriter, for inspection: the addresses of a request and their source.
    ///
    /// The URL with an address is for people and for comparisons; the client sends the canonical URL over a pinned
    /// connection. All texts are computed on demand.
    public struct RewrittenRequest: Sendable {
        /// The only allocation of the rewriter.
        final class Content: Sendable {
            let originalText: String
            let url: HTTPDNSRewriter.CanonicalURL
            /// The URL with the name of a `via` rule's target; nil without one.
            private let renamed: ParsedURL?
            let resolution: HTTPDNSResolver.Resolution
            /// The options that affect the rewriting.
            let addresses: HTTPDNSClient.Request.Options.Addresses
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
                addresses = own?.callOptions.addresses ?? .automatic
                families = own?.callOptions.families
                hostHeader = own?.callOptions.hostHeader
                reachableNetworks = own?.shared.reachableNetworks ?? .any
                self.issuer = issuer
                self.tagExpiry = tagExpiry
            }

            /// The URL that libcurl gets.
            var sent: ParsedURL {
                if let renamed { return renamed }
                return url.parsed
            }
        }

        let content: Content

        /// The URL as the caller wrote it, without user information.
        public var originalURL: String {
            content.url.hasCredential ? URLText.withoutUserInformation(content.originalText) : content.originalText
        }
        /// The URL in the canonical form that is sent. Under a `via` rule with `keep: [host]` it has the name of the
        /// target.
        public var canonicalURL: String { content.sent.description }
        /// The same URL with the first address and its port instead of the name.
        public var addressURL: String {
            let url = content.sent
            guard let first = addresses.first else { return url.description }
            let port = first.port == url.scheme.defaultPort ? "" : ":\(first.port)"
            return "\(url.scheme.rawValue)://\(first.address.bracketed)\(port)\(url.target)"
        }
        /// Returns the URL of the request in canonical form; nil when the request had another one.
        package func canonical(of url: String) -> HTTPDNSRewriter.CanonicalURL? {
            content.originalText == url ? content.url : nil
        }
        /// The Host field (`:authority`) as sent.
        public var host: String { content.hostHeader ?? content.url.authority }
        /// The name for SNI and the certificate check; nil for clear text and for literals.
        public var serverName: String? {
            guard content.sent.scheme == .https, case .name(let name) = content.sent.host else { return nil }
            return name
        }
        /// The addresses for this host and port in the form of curl's `--resolve`: `host:port:address[,address]`, IPv6
        /// addresses in brackets. Empty without addresses: when a proxy resolves the host, or for a Unix socket.
        ///
        /// `--resolve` cannot express another port than the URL's. When ``addresses`` have one, this contains the
        /// addresses only, and ``connectToEntry`` the ports as well.
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
        /// The first address in the form of curl's `--connect-to`, `host:port:address:port`, which can express another
        /// port than the URL's.
        public var connectToEntry: String {
            let from = "\(content.sent.hostText):\(content.sent.port)"
            return "\(from):\(addresses.first?.description ?? from)"
        }
        /// The addresses and ports, in the order in which they are tried.
        public var addresses: [HTTPDNSEndpoint] { content.resolution.endpoints }
        /// The source of the addresses.
        public var source: HTTPDNSResolver.Resolution.Source { content.resolution.source }
        /// The age of the addresses at the time of the rewriting.
        public var age: Duration { content.resolution.age }
        /// The remaining time to live at that time; nil means no expiry.
        public var timeToLive: Duration? { content.resolution.timeToLive }
        /// The generation of the mappings and of the resolver's settings at that time.
        public var generation: UInt64 { content.resolution.generation }
        /// The tag that a second rewriter accepts; nil when this rewriter changed nothing: for literals, for proxies
        /// that resolve names, and for names that no route or mapping covers.
        public var tag: HTTPDNSRewriter.Tag? {
            content.resolution.isRewriting ? HTTPDNSRewriter.Tag(content: content) : nil
        }
        /// The resolution that the addresses come from.
        public var resolution: HTTPDNSResolver.Resolution { content.resolution }
    }
}

extension HTTPDNSResolver.Resolution {
    /// Whether the caller or the operator has ordered the addresses.
    var isOrdered: Bool {
        switch source {
        case .request, .mapping, .literal: true
        default: false
        }
    }

    /// Whether the request itself or weights give the order of the addresses.
    var isChosen: Bool {
        switch source {
        case .request, .literal: return true
        case .mapping, .lastResort:
            return mapping?.targets.areWeighted ?? false
        default: return false
        }
    }

    /// Whether the rewriter had an effect: a name of the system resolver and a literal lead to the same addresses as
    /// without it.
    var isRewriting: Bool {
        switch source {
        case .literal, .proxy, .unixSocket: return false
        // The system resolver as a provider route's fallback is that route's answer.
        case .system: return isFallback
        default: return true
        }
    }
}

extension HTTPDNSRewriter.RewrittenRequest: HTTPDNSRedacted {
    /// The URL without user information and query, and the source of its addresses.
    public var description: String { "\(URLText.forErrors(originalURL)), addresses by \(source)" }
}
