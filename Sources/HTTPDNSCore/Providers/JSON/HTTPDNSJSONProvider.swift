internal import HTTPDNSMessages
package import HTTPDNSPrimitives

/// DNS over HTTPS with answers in JSON, as Google, Cloudflare and Alidns offer it beside RFC 8484, through a transport of
/// its own that is pinned to the service's addresses.
///
/// A and AAAA are two requests at the same time, which share one connection where the service speaks HTTP/2. Addresses of
/// the service, time limits, statuses and the life of answers are treated as by ``HTTPDNSDoHProvider``.
///
/// Records of type HTTPS are not asked for: ``HTTPDNSProviderAnswer/services`` stays nil.
public final class HTTPDNSJSONProvider: HTTPDNSProvider {
    /// The name from the settings.
    public let name: String

    /// The setting ``Configuration/answers``.
    public var answerScope: HTTPDNSAddressPolicy.Scope { configuration.answers }

    private let service: JSONDNSService
    private let configuration: Configuration
    private let channel: ServiceChannel
    private let time: any TimeSource
    private let clock: WallClock

    /// Creates the provider. Nothing is sent until the first query.
    /// - Throws: ``HTTPDNSProviderConfigurationError`` when the URL is not an https URL (http is allowed for a loopback
    ///   address), is by name without bootstrap addresses, or has a user name, a fragment or a parameter of the query in it;
    ///   for an account of Alidns also when its secret cannot be read, its identifiers are no words, or the package trait
    ///   `Signing` is off.
    public convenience init(_ configuration: Configuration) throws(HTTPDNSProviderConfigurationError) {
        try self.init(
            configuration,
            exchange: ServiceTransportExchange(
                trustRoots: configuration.trustRoots,
                threadName: "httpdns-json",
                maximumBodyOctets: JSONDNSService.maximumBodyOctets
            )
        )
    }

    /// - Parameters:
    ///   - exchange: What carries the requests; tests put a scripted one here.
    ///   - clock: When requests are signed.
    package init(
        _ configuration: Configuration,
        exchange: any ServiceExchanging,
        time: any TimeSource = SystemTimeSource(),
        clock: WallClock = .system
    ) throws(HTTPDNSProviderConfigurationError) {
        service = try JSONDNSService(configuration)
        name = configuration.name
        self.configuration = configuration
        channel = ServiceChannel(service.location, exchange: exchange, time: time)
        self.time = time
        self.clock = clock
    }

    /// Asks for every family of the query at once.
    ///
    /// A client subnet is cut to 24 bits of IPv4 and 56 of IPv6, and passed on to services that take one; Cloudflare does
    /// not. Without one, a service does as it likes: Google and Alidns go by the address that the request comes from.
    ///
    /// A family whose answer says that the server failed or refused has ``HTTPDNSProviderAnswer/Family/failed(_:)``, and so
    /// has one whose request failed while the other's did not, or that has no answer 500 ms after the other's addresses.
    /// - Throws: ``HTTPDNSProviderError`` when no family's request brought an answer; `CancellationError` when the task is
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

    /// Cuts the requests in flight, ends the connections and the transport's thread. Idempotent.
    public func shutdown() async {
        await channel.shutdown()
    }
}

extension HTTPDNSJSONProvider {
    /// Whether the other asks the same service in the same way. Secrets are the same when they are read from the same file or
    /// variable; one behind a closure is like no other.
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
