// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
internal import HTTPDNSMessages
public import HTTPDNSPrimitives

/// A provider for DNS over HTTPS with answers in JSON, as Google, Cloudflare and Alidns offer it in addition to RFC 8484.
///
/// It has its own transport that is pinned to the service's addresses. A and AAAA are two concurrent requests, which share
/// one connection if the service speaks HTTP/2. Addresses of the service, time limits, statuses and the lifetime of answers
/// are treated as by ``HTTPDNSDoHProvider``.
///
/// Records of type HTTPS are not queried: ``HTTPDNSProviderAnswer/httpsRecords`` stays nil.
public final class HTTPDNSJSONProvider: HTTPDNSProvider {
    /// The name from the settings.
    public let name: String

    /// The setting ``Configuration/answerScope``.
    public var answerScope: HTTPDNSAddressPolicy.Scope { configuration.answerScope }

    private let service: JSONDNSService
    private let configuration: Configuration
    private let channel: UpstreamChannel
    private let time: any TimeSource
    private let clock: WallClock

    /// Creates the provider. Nothing is sent before the first query.
    /// - Throws: ``HTTPDNSProviderConfigurationError`` when the URL is not an https URL (http is allowed for a loopback
    ///   address), has a host name without bootstrap addresses, or has a user name, a fragment or a parameter of the query in
    ///   it. Also when the service has an account (product `HTTPDNSVendors`) and its secret cannot be read, its identifiers
    ///   have other characters than allowed, or the package trait `Signing` is off.
    public convenience init(_ configuration: Configuration) throws(HTTPDNSProviderConfigurationError) {
        try self.init(
            configuration,
            exchange: UpstreamTransportExchange(
                trustRoots: configuration.trustRoots,
                threadName: "httpdns-json",
                maximumBodyOctets: JSONDNSService.maximumBodyOctets
            )
        )
    }

    /// - Parameters:
    ///   - exchange: The transport of the requests; tests pass a scripted one.
    ///   - clock: The clock for signatures.
    package init(
        _ configuration: Configuration,
        exchange: any UpstreamExchanging,
        time: any TimeSource = SystemTimeSource(),
        clock: WallClock = .system
    ) throws(HTTPDNSProviderConfigurationError) {
        service = try JSONDNSService(configuration)
        name = configuration.name
        self.configuration = configuration
        channel = UpstreamChannel(service.location, exchange: exchange, time: time)
        self.time = time
        self.clock = clock
    }

    /// Queries every family concurrently.
    ///
    /// A client subnet is cut to 24 bits of IPv4 and 56 of IPv6, and sent to services that accept one; Cloudflare does not.
    /// Without one, the service decides: Google and Alidns use the source address of the request.
    ///
    /// A family has ``HTTPDNSProviderAnswer/Family/failed(_:)`` in three cases: its answer reports that the server failed or
    /// refused, its request failed while the other's did not, or it has no answer 50 ms after the other's addresses.
    /// - Throws: ``HTTPDNSProviderError`` when no family's request received an answer; `CancellationError` when the task is
    ///   canceled.
    public func resolve(_ query: HTTPDNSProviderQuery) async throws -> HTTPDNSProviderAnswer {
        let deadline = time.now() + query.timeLimit
        return try await FamilyQuestions(families: query.families, deadline: deadline, time: time).answers {
            [service, channel, clock, time] family in
            let question = DNSQuestion(query.host, type: DNSRecordType(of: family))
            let request = try await service.request(
                for: query.host,
                type: question.type,
                clientSubnet: query.clientSubnet,
                clock: clock,
                until: deadline,
                on: time
            )
            let reply = try await channel.reply(limit: query.timeLimit, deadline: deadline) { _ in
                request
            } verdict: {
                $0.verdict(JSONDNSService.words)
            }
            return try reply.jsonAnswer(to: question, isSecret: service.hasSecretRequests)
        }
    }

    /// Cancels the requests in flight, and ends the connections and the transport's thread. Idempotent.
    public func shutdown() async {
        ProviderUsers.shared.note(isShutDown: true, self)
        await channel.shutdown()
    }
}

extension HTTPDNSJSONProvider: IdentifiedProvider {
    package var serviceTexts: [String] {
        [service.location.url.description] + (configuration.service.signature.map { [$0.account] } ?? [])
    }
}

extension HTTPDNSJSONProvider {
    /// Returns whether the other provider queries the same service in the same way.
    ///
    /// Secrets are equal when they are read from the same file or variable. A secret from a closure equals no other.
    public func isEquivalent(to other: any HTTPDNSProvider) -> Bool {
        guard let other = other as? HTTPDNSJSONProvider else { return false }
        return other === self || other.configuration.isSame(as: configuration)
    }
}

extension HTTPDNSJSONProvider.Configuration {
    fileprivate func isSame(as other: Self) -> Bool {
        name == other.name && url == other.url && bootstrap == other.bootstrap && trustRoots == other.trustRoots
            && answerScope == other.answerScope
            && service.isSame(as: other.service)
    }
}

/// The signature of a JSON DNS dialect whose queries belong to an account.
package protocol JSONQuerySigning: Sendable {
    /// The account, which is not secret.
    var account: String { get }

    /// Checks the account, once for each provider.
    /// - Parameter provider: The provider's name, for errors.
    /// - Throws: ``HTTPDNSProviderConfigurationError`` when the account is malformed, its secret cannot be read, or this
    ///   build has no signatures.
    func check(provider: String) throws(HTTPDNSProviderConfigurationError)

    /// Returns the parameters for a query for `host`, beginning with `&`.
    /// - Parameters:
    ///   - seconds: The time of the signature, in seconds since 1970-01-01 00:00 UTC.
    ///   - deadline: The end of the wait for the file of the secret, on `time`.
    /// - Throws: ``HTTPDNSProviderError`` when the secret cannot be read any more, or not in time; `CancellationError`.
    func parameters(
        for host: HTTPDNSName,
        at seconds: Int64,
        until deadline: MonotonicTime,
        on time: any TimeSource
    ) async throws -> String

    /// Returns whether both sign for the same account with the same source of the secret.
    func isSame(as other: any JSONQuerySigning) -> Bool
}

extension HTTPDNSJSONProvider {
    /// A JSON DNS dialect: its default URL and addresses, and the query parameters it accepts.
    public struct Service: Sendable {
        /// The default URL of the service.
        public let url: String
        /// The addresses behind ``url``, in the order to try.
        public let bootstrap: [HTTPDNSAddress]
        /// Whether the service accepts a client subnet (`edns_client_subnet`, RFC 7871).
        public let acceptsClientSubnet: Bool
        /// The signature of every query; nil for a service without an account.
        let signature: (any JSONQuerySigning)?

        /// Google Public DNS: `https://dns.google/resolve` at 8.8.8.8 and 8.8.4.4.
        public static let google = Service(
            url: "https://dns.google/resolve",
            bootstrap: [HTTPDNSAddress(v4: 8, 8, 8, 8), HTTPDNSAddress(v4: 8, 8, 4, 4)],
            acceptsClientSubnet: true
        )

        /// Cloudflare: `https://cloudflare-dns.com/dns-query` at 1.1.1.1 and 1.0.0.1.
        public static let cloudflare = Service(
            url: "https://cloudflare-dns.com/dns-query",
            bootstrap: [HTTPDNSAddress(v4: 1, 1, 1, 1), HTTPDNSAddress(v4: 1, 0, 0, 1)],
            acceptsClientSubnet: false
        )

        /// Alidns without an account: `https://dns.alidns.com/resolve` at 223.5.5.5 and 223.6.6.6.
        ///
        /// The service limits queries by their source address.
        public static let alidns = Service(
            url: "https://dns.alidns.com/resolve",
            bootstrap: [HTTPDNSAddress(v4: 223, 5, 5, 5), HTTPDNSAddress(v4: 223, 6, 6, 6)],
            acceptsClientSubnet: true
        )

        /// Returns whether both are the same service for the same account.
        func isSame(as other: Service) -> Bool {
            guard url == other.url, bootstrap == other.bootstrap, acceptsClientSubnet == other.acceptsClientSubnet
            else {
                return false
            }
            switch (signature, other.signature) {
            case (nil, nil): return true
            case (let own?, let other?): return own.isSame(as: other)
            default: return false
            }
        }

        package init(
            url: String,
            bootstrap: [HTTPDNSAddress],
            acceptsClientSubnet: Bool,
            signature: (any JSONQuerySigning)? = nil
        ) {
            self.url = url
            self.bootstrap = bootstrap
            self.acceptsClientSubnet = acceptsClientSubnet
            self.signature = signature
        }
    }

    /// Settings of a JSON DNS service.
    public struct Configuration: Sendable {
        /// The name of the provider.
        public var name: String
        /// The dialect that the service speaks.
        public var service: Service
        /// The URL of the service. A query of the URL's own is kept.
        public var url: String
        /// The service's addresses, in the order to try.
        ///
        /// Required unless the URL has an address literal: the name is never looked up. In addition to a literal they are
        /// further addresses of the same service.
        public var bootstrap: [HTTPDNSAddress]
        /// The certificate authorities that are trusted for the service's certificate.
        public var trustRoots: HTTPDNSTrust.Roots = .system
        /// The most private scope of addresses that its answers may have (``HTTPDNSProvider/answerScope``).
        public var answerScope: HTTPDNSAddressPolicy.Scope = .public

        /// Creates settings with the service's own URL and addresses, or those of another service with the same dialect.
        /// - Parameters:
        ///   - name: The name of the provider.
        ///   - service: The dialect that the service speaks.
        ///   - url: The URL to query; nil means the service's own URL.
        ///   - bootstrap: Its addresses; nil means those of the service for its own URL, and none for another.
        public init(name: String, service: Service, url: String? = nil, bootstrap: [HTTPDNSAddress]? = nil) {
            self.name = name
            self.service = service
            self.url = url ?? service.url
            self.bootstrap = bootstrap ?? (url == nil ? service.bootstrap : [])
        }
    }
}
