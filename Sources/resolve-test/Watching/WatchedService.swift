// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSControl
internal import HTTPDNSPrimitives

/// A running service, read through its control socket.
struct WatchedService: WatchSource {
    private let call: ControlCall
    private let socket: SocketOptions
    private let environment: [String: String]
    /// The patterns of the names to watch; nil for all names of the service.
    private let names: [HTTPDNSRoute.Pattern]?

    /// Connects to the service, and requests its state at an interval.
    /// - Throws: ``CommandFailure``, `ControlCallError`; `CancellationError` when the task is canceled.
    init(
        socket: SocketOptions,
        environment: [String: String],
        names: [HTTPDNSRoute.Pattern]?,
        interval: Duration
    ) async throws {
        self.socket = socket
        self.environment = environment
        self.names = names
        call = try socket.call(environment)
        try await call.send(ControlRequest(.watch(interval: interval, ControlRequest.Selection(names: names))))
    }

    func follow(_ report: @escaping @Sendable (WatchChange) -> Void) async throws {
        while let reply = try await call.next() {
            let time = SystemTimeSource().now()
            if let diagnostics = reply.diagnostics {
                report(.look(ServiceLook(diagnostics: diagnostics, time: time)))
            }
            if let event = reply.event?.resolverEvent(at: time) { report(.event(event)) }
        }
        throw CommandFailure.failed(
            code: "connection-lost",
            "the service closed the connection",
            hint: "it has ended"
        )
    }

    func refresh() async {
        let hosts = names?.compactMap { if case .exact(let name) = $0 { name } else { nil } }
        // A failed refresh is visible in the table: no answer becomes newer.
        _ = try? await socket.call(environment).ask(ControlRequest(.refresh(hosts)))
    }

    /// The reports have everything.
    func update(_ model: inout WatchModel) {}
}

/// A dump of a running service, converted for the table of `watch`.
struct ServiceLook {
    let diagnostics: HTTPDNSClient.Status
    /// The arrival time, on this process's clock.
    let time: MonotonicTime

    /// The kinds of the providers by their names.
    var providerKinds: [String: String] {
        let known = diagnostics.providers.filter { $0.kind != "provider" }.map { ($0.name, $0.kind) }
        return Dictionary(known, uniquingKeysWith: { first, _ in first })
    }

    /// The health of the providers.
    var health: [HTTPDNSResolver.Status.Provider] {
        diagnostics.providers.map { provider in
            let state: HTTPDNSResolver.Status.Provider.State =
                switch provider.state {
                case "suspect": .suspect
                case "quarantined":
                    .quarantined(until: time + .seconds(provider.backOffSeconds ?? 0), reason: provider.reason ?? "")
                default: .healthy
                }
            return HTTPDNSResolver.Status.Provider(
                name: provider.name,
                state: state,
                latency: provider.latencySeconds.map { .seconds($0) },
                percentile95: provider.percentile95Seconds.map { .seconds($0) },
                successes: provider.successes,
                failures: provider.failures,
                inFlight: provider.inFlight,
                queued: provider.queued,
                queries: provider.queries
            )
        }
    }

    var counters: HTTPDNSResolver.Counters { HTTPDNSResolver.Counters(byName: diagnostics.counters) }

    /// The addresses that a request for each name would get, by name: from rules with addresses, and from the cache for the
    /// others.
    var outcomes: [(name: String, outcome: Result<HTTPDNSResolver.Resolution, CommandFailure>)] {
        var outcomes: [String: Result<HTTPDNSResolver.Resolution, CommandFailure>] = [:]
        for answer in diagnostics.cache.answers where outcomes[answer.host] == nil || answer.families == nil {
            outcomes[answer.host] = outcome(answer)
        }
        for rule in diagnostics.mappings.rules where !rule.key.hasPrefix("*") {
            guard rule.action == "addresses", let resolution = resolution(rule) else { continue }
            outcomes[rule.key] = .success(resolution)
        }
        return outcomes.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    private func outcome(_ answer: HTTPDNSClient.Status.Answer) -> Result<HTTPDNSResolver.Resolution, CommandFailure> {
        let addresses = answer.addresses.compactMap { HTTPDNSAddress($0) }
        guard !addresses.isEmpty else {
            var failure = CommandFailure.failed(code: "resolve-failed", "\(answer.host) has no address")
            failure.reason = answer.negative ?? answer.failure
            return .failure(failure)
        }
        let source: HTTPDNSResolver.Resolution.Source = answer.provider == nil ? .system : .provider
        // The default port on the command line, so that it is not shown.
        let endpoints = addresses.map { HTTPDNSEndpoint(address: $0, port: ServiceLook.port) }
        var resolution = HTTPDNSResolver.Resolution(endpoints: endpoints, source: source)
        resolution.provider = answer.provider
        resolution.isCached = true
        resolution.isStale = answer.isStale
        resolution.age = .seconds(answer.ageSeconds ?? 0)
        resolution.timeToLive = .seconds(max(0, answer.secondsLeft ?? 0))
        resolution.generation = diagnostics.mappings.generation
        return .success(resolution)
    }

    private func resolution(_ rule: HTTPDNSClient.Status.Mappings.Rule) -> HTTPDNSResolver.Resolution? {
        guard let key = try? HTTPDNSMapping.Key(rule.key) else { return nil }
        let urlPort = key.port ?? ServiceLook.port
        let targets = rule.targets.compactMap(Self.target)
        guard !targets.isEmpty else { return nil }
        let endpoints = targets.map { HTTPDNSEndpoint(address: $0.address, port: $0.port ?? urlPort) }
        var resolution = HTTPDNSResolver.Resolution(endpoints: endpoints, source: .mapping)
        resolution.mapping = HTTPDNSResolver.AppliedMapping(key: key, location: nil, targets: targets)
        resolution.generation = diagnostics.mappings.generation
        return resolution
    }

    /// Parses `203.0.113.7`, `203.0.113.7:8443 weight 5`.
    private static func target(_ text: String) -> HTTPDNSMapping.Target? {
        let words = text.split(separator: " ")
        guard let place = words.first else { return nil }
        let weight = words.count == 3 && words[1] == "weight" ? Int(words[2]) : nil
        if let address = HTTPDNSAddress(String(place)) { return HTTPDNSMapping.Target(address, weight: weight) }
        return endpoint(place).map { HTTPDNSMapping.Target($0.address, port: $0.port, weight: weight) }
    }

    /// Returns the number of requests that the service has sent to each endpoint, for a name with or without a port.
    func requests(for question: HostArgument) -> [HTTPDNSEndpoint: Int] {
        var counts: [HTTPDNSEndpoint: Int] = [:]
        for pool in diagnostics.pools {
            guard let endpoint = Self.endpoint(pool.endpoint[...]), let requests = pool.requests,
                question.text == pool.host || question.text == "\(pool.host):\(pool.port)"
            else { continue }
            counts[endpoint, default: 0] += requests
        }
        return counts
    }

    /// Parses `203.0.113.7:8443`, `[2001:db8::7]:8443`.
    private static func endpoint(_ text: Substring) -> HTTPDNSEndpoint? {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        let host = text[..<colon].drop { $0 == "[" }
        guard let address = HTTPDNSAddress(String(host.last == "]" ? host.dropLast() : host)) else { return nil }
        return HTTPDNSEndpoint(address: address, port: port)
    }

    static let port: UInt16 = 443
}
