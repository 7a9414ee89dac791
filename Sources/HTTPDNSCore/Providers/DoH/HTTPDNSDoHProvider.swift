// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
package import HTTPDNSMessages
public import HTTPDNSPrimitives

/// A provider for DNS over HTTPS (RFC 8484), with its own transport that is pinned to the service's addresses.
///
/// A, AAAA and HTTPS are concurrent requests, which share one connection if the service speaks HTTP/2. Every request tries
/// the service's addresses in turn, beginning with the one that answered last; each gets an equal share of the remaining
/// time. If connecting fails, or the response has status 408, 421 or 5xx, the request continues with the next address. The
/// failed address is not used for five minutes while others answer. An address that accepts the connection and then does not
/// answer is left for the next one as well, without such a back-off. A connection that breaks under a request is dialed again
/// once, because a query may be repeated safely (RFC 9110 section 9.2.2). Every other response is final: no other status and
/// no error code inside a message leads to a retry.
///
/// An answer may have a chain of at most 16 aliases. A longer chain fails its family. Of two aliases of one name the first is
/// followed, and other records of that name are ignored; without a record at the end of such a chain its family fails.
/// The time to live of an answer is the least of its alias chain, no longer than the response's `max-age`, less its `Age`
/// (RFC 8484 section 5.1). `max-age=0`, `no-store` and `no-cache` are meant for HTTP caches and are ignored.
public final class HTTPDNSDoHProvider: HTTPDNSProvider {
    /// The name from the settings.
    public let name: String

    /// The setting ``Configuration/answerScope``.
    public var answerScope: HTTPDNSAddressPolicy.Scope { configuration.answerScope }

    private let service: DoHService
    private let configuration: Configuration
    private let channel: UpstreamChannel
    private let time: any TimeSource
    /// Queries with a client subnet (true) and those without.
    private let plain: PlainServices<Bool>

    /// Creates the provider. Nothing is sent before the first query.
    /// - Throws: ``HTTPDNSProviderConfigurationError`` when the URL is not an https URL (http is allowed for a loopback
    ///   address), has a host name without bootstrap addresses, or has a user name, a fragment or an unknown template in it.
    public convenience init(_ configuration: Configuration) throws(HTTPDNSProviderConfigurationError) {
        try self.init(
            configuration,
            exchange: UpstreamTransportExchange(
                trustRoots: configuration.trustRoots,
                threadName: "httpdns-doh",
                maximumBodyOctets: DNSWireFormat.maximumMessageOctets
            )
        )
    }

    /// - Parameter exchange: The transport of the requests; tests pass a scripted one.
    package init(
        _ configuration: Configuration,
        exchange: any UpstreamExchanging,
        time: any TimeSource = SystemTimeSource()
    ) throws(HTTPDNSProviderConfigurationError) {
        service = try DoHService(configuration)
        name = configuration.name
        self.configuration = configuration
        channel = UpstreamChannel(service.location, exchange: exchange, time: time)
        self.time = time
        plain = PlainServices(time: time)
    }

    /// Returns whether the other provider is a DoH provider with equal settings.
    public func isEquivalent(to other: any HTTPDNSProvider) -> Bool {
        (other as? HTTPDNSDoHProvider).map { $0 === self || $0.configuration == configuration } ?? false
    }

    /// Queries every family concurrently, and HTTPS records with them if the query asks for them.
    ///
    /// A family has ``HTTPDNSProviderAnswer/Family/failed(_:)`` in three cases: its message reports that the server failed or
    /// refused, its request failed while the other's did not, or it has no answer 50 ms after the other's addresses. The
    /// same holds for HTTPS records. The provider waits for them as long again as the addresses took: 50 ms at least, 500 ms
    /// at most.
    ///
    /// A client subnet is cut to 24 bits of IPv4 or 56 of IPv6, and sent to the service with every query (RFC 7871).
    ///
    /// A service that rejects EDNS with FORMERR or NOTIMP is queried again without it, and for the next 15 minutes too if it
    /// answers then (RFC 6891 section 7). Such queries have neither a client subnet nor padding.
    /// - Throws: ``HTTPDNSProviderError`` when no family's request received a message; `CancellationError` when the task is
    ///   canceled.
    public func resolve(_ query: HTTPDNSProviderQuery) async throws -> HTTPDNSProviderAnswer {
        try await questions.answer(to: query)
    }

    private var questions: MessageQuestions {
        MessageQuestions(isSecret: service.hasSecretURL, time: time) { [self] question, subnet, limit, deadline in
            try await plain.reply(of: subnet != nil) { [self] usesEDNS in
                let request = try service.request(for: question, clientSubnet: subnet, usesEDNS: usesEDNS)
                return try await channel.reply(limit: limit, deadline: deadline) { _ in
                    request
                } verdict: {
                    $0.verdict(DoHService.words)
                }
            }
        }
    }

    /// Cancels the requests in flight, and ends the connections and the transport's thread. Idempotent.
    public func shutdown() async {
        ProviderUsers.shared.note(isShutDown: true, self)
        await channel.shutdown()
    }
}

extension HTTPDNSDoHProvider: RecordProvider {
    package func records(
        for question: DNSQuestion,
        clientSubnet: HTTPDNSAddressBlock?,
        timeLimit: Duration
    ) async throws -> RecordReply {
        try await questions.records(for: question, clientSubnet: clientSubnet, timeLimit: timeLimit)
    }
}

extension HTTPDNSDoHProvider: IdentifiedProvider {
    package var serviceTexts: [String] { [service.location.url.description] }
}

extension HTTPDNSDoHProvider {
    /// The HTTP method of a query.
    public enum Method: String, Hashable, Sendable, CaseIterable {
        /// GET, with the query in the URL, so that HTTP caches can serve it (RFC 8484 section 4.1).
        case get
        /// POST, with the query in the body.
        case post
    }

    /// Settings of a DoH service.
    public struct Configuration: Hashable, Sendable {
        /// The name of the provider.
        public var name: String
        /// The service's URL, such as `https://doh.example/dns-query`.
        ///
        /// The template form `https://doh.example/q{?dns}` (RFC 8484 section 4.1) is accepted too, and a query of the URL's own
        /// is kept.
        public var url: String
        /// The service's addresses, in the order to try.
        ///
        /// Required unless the URL has an address literal: the name is never looked up. In addition to a literal they are
        /// further addresses of the same service.
        public var bootstrap: [HTTPDNSAddress]
        /// The HTTP method of a query.
        public var method: Method = .get
        /// The certificate authorities that are trusted for the service's certificate.
        public var trustRoots: HTTPDNSTrust.Roots = .system
        /// The most private scope of addresses that its answers may have (``HTTPDNSProvider/answerScope``).
        public var answerScope: HTTPDNSAddressPolicy.Scope = .public

        /// Creates settings with the defaults above.
        public init(name: String, url: String, bootstrap: [HTTPDNSAddress] = []) {
            self.name = name
            self.url = url
            self.bootstrap = bootstrap
        }
    }
}
