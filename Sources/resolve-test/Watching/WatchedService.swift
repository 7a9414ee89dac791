// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
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
            if let status = reply.diagnostics { report(.service(status)) }
            if let event = reply.event?.resolverEvent(at: .now) { report(.event(event)) }
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

extension HTTPDNSClient.Status {
    /// The default port on the command line, so that it is not shown.
    private static let port: UInt16 = 443

    /// The addresses that a request for each name would get, by name: from rules with addresses, and from the cache for the
    /// others.
    var outcomes: [(name: String, outcome: Result<HTTPDNSResolver.Resolution, CommandFailure>)] {
        var outcomes: [String: Result<HTTPDNSResolver.Resolution, CommandFailure>] = [:]
        for answer in cache.answers where outcomes[answer.host] == nil || answer.families == nil {
            outcomes[answer.host] = outcome(answer)
        }
        for rule in mappings.rules where !rule.key.hasPrefix("*") {
            guard rule.action == "addresses", let resolution = resolution(rule) else { continue }
            outcomes[rule.key] = .success(resolution)
        }
        return outcomes.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    private func outcome(_ answer: Answer) -> Result<HTTPDNSResolver.Resolution, CommandFailure> {
        let addresses = answer.addresses.compactMap { HTTPDNSAddress($0) }
        guard !addresses.isEmpty else {
            var failure = CommandFailure.failed(code: "resolve-failed", "\(answer.host) has no address")
            failure.reason = answer.negative ?? answer.failure
            return .failure(failure)
        }
        let source: HTTPDNSResolver.Resolution.Source = answer.provider == nil ? .system : .provider
        let endpoints = addresses.map { HTTPDNSEndpoint(address: $0, port: Self.port) }
        var resolution = HTTPDNSResolver.Resolution(endpoints: endpoints, source: source)
        resolution.provider = answer.provider
        resolution.isCached = true
        resolution.isStale = answer.isStale
        resolution.age = .seconds(answer.ageSeconds ?? 0)
        resolution.timeToLive = .seconds(max(0, answer.secondsLeft ?? 0))
        resolution.generation = mappings.generation
        return .success(resolution)
    }

    private func resolution(_ rule: Mappings.Rule) -> HTTPDNSResolver.Resolution? {
        guard let key = try? HTTPDNSMapping.Key(rule.key) else { return nil }
        let urlPort = key.port ?? Self.port
        let targets = rule.targets.compactMap(Self.target)
        guard !targets.isEmpty else { return nil }
        let endpoints = targets.map { HTTPDNSEndpoint(address: $0.address, port: $0.port ?? urlPort) }
        var resolution = HTTPDNSResolver.Resolution(endpoints: endpoints, source: .mapping)
        resolution.mapping = HTTPDNSResolver.AppliedMapping(key: key, location: nil, targets: targets)
        resolution.generation = mappings.generation
        return resolution
    }

    /// Parses `203.0.113.7`, `203.0.113.7:8443`, `[2001:db8::7]:8443 weight 5`.
    private static func target(_ text: String) -> HTTPDNSMapping.Target? {
        let words = text.split(separator: " ")
        guard let place = words.first, case .addresses(let targets) = HTTPDNSMapping.addresses([String(place)]).action
        else { return nil }
        let weight = words.count == 3 && words[1] == "weight" ? Int(words[2]) : nil
        return targets.first.map { HTTPDNSMapping.Target($0.address, port: $0.port, weight: weight) }
    }

    /// Returns the number of requests that the service has sent to each endpoint, for a name with or without a port.
    func requests(for question: HostArgument) -> [HTTPDNSEndpoint: Int] {
        var counts: [HTTPDNSEndpoint: Int] = [:]
        for pool in pools {
            guard let target = Self.target(pool.endpoint), let port = target.port, let requests = pool.requests,
                question.text == pool.host || question.text == "\(pool.host):\(pool.port)"
            else { continue }
            counts[HTTPDNSEndpoint(address: target.address, port: port), default: 0] += requests
        }
        return counts
    }
}
#endif
