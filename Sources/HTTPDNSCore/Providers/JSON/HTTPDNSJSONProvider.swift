internal import HTTPDNSMessages
package import HTTPDNSPrimitives

/// A provider for DNS over HTTPS with answers in JSON, as Google, Cloudflare and Alidns offer it in addition to RFC 8484.
///
/// It has its own transport that is pinned to the service's addresses. A and AAAA are two concurrent requests, which share
/// one connection if the service speaks HTTP/2. Addresses of the service, time limits, statuses and the lifetime of answers
/// are treated as by ``HTTPDNSDoHProvider``.
///
/// Records of type HTTPS are not queried: ``HTTPDNSProviderAnswer/services`` stays nil.
public final class HTTPDNSJSONProvider: HTTPDNSProvider {
    /// The name from the settings.
    public let name: String

    /// The setting ``Configuration/answers``.
    public var answerScope: HTTPDNSAddressPolicy.Scope { configuration.answers }

    private let service: JSONDNSService
    private let configuration: Configuration
    private let channel: UpstreamChannel
    private let time: any TimeSource
    private let clock: WallClock

    /// Creates the provider. Nothing is sent before the first query.
    /// - Throws: ``HTTPDNSProviderConfigurationError`` when the URL is not an https URL (http is allowed for a loopback
    ///   address), has a host name without bootstrap addresses, or has a user name, a fragment or a parameter of the query in
    ///   it. For an account of Alidns also when its secret cannot be read, its identifiers have other characters than
    ///   allowed, or the package trait `Signing` is off.
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
    /// refused, its request failed while the other's did not, or it has no answer 500 ms after the other's addresses.
    /// - Throws: ``HTTPDNSProviderError`` when no family's request received an answer; `CancellationError` when the task is
    ///   cancelled.
    public func resolve(_ query: HTTPDNSProviderQuery) async throws -> HTTPDNSProviderAnswer {
        let deadline = time.now() + query.timeLimit
        return try await FamilyQuestions(families: query.families, deadline: deadline, time: time).answers {
            [service, channel, clock] family in
            let question = DNSQuestion(query.host, type: DNSRecordType(of: family))
            let request = try await service.request(
                for: query.host,
                type: question.type,
                clientSubnet: query.clientSubnet,
                clock: clock
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
        await channel.shutdown()
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
            && answers == other.answers
            && service.isSame(as: other.service)
    }
}
