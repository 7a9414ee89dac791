// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSTesting

/// A resolver on a hand-driven clock, with scripted sources.
struct ResolverFixture {
    let time = HTTPDNSManualClock()
    let system = ScriptedSystemResolver()
    let providers: [HTTPDNSScriptedProvider]
    let resolver: HTTPDNSResolver
    /// The settings that it was made from.
    let settings: HTTPDNSResolver.Configuration

    /// - Parameters:
    ///   - ticket: What chance draws, as far as there are so many tickets.
    ///   - change: Further settings; it finds one route, "*" to all providers without fallback.
    init(
        providers names: [String] = ["doh"],
        scope: HTTPDNSAddressPolicy.Scope = .public,
        ignoresCancellation: Bool = false,
        batchLimit: Int = 1,
        fallback: HTTPDNSRoute.Fallback = .off,
        ticket: UInt64 = 0,
        maximumLookups: Int = HTTPDNSResolver.maximumLookups,
        _ change: (inout HTTPDNSResolver.Configuration) throws -> Void = { _ in }
    ) throws {
        // On a clock that nobody moves, so that the limits seen here are the resolver's and never the provider's own.
        providers = names.map {
            HTTPDNSScriptedProvider(
                name: $0,
                answerScope: scope,
                ignoresCancellation: ignoresCancellation,
                batchLimit: batchLimit,
                clock: HTTPDNSManualClock()
            )
        }
        var configuration = HTTPDNSResolver.Configuration()
        configuration.providers = providers
        configuration.routes = [HTTPDNSRoute(.any, .providers(names, fallback: fallback))]
        configuration.timeSource = time
        configuration.hasIPv6Route = { true }
        try change(&configuration)
        settings = configuration
        resolver = try HTTPDNSResolver(
            configuration,
            systemResolver: system,
            maximumLookups: maximumLookups,
            random: { min(ticket, $0 - 1) }
        )
    }

    var provider: HTTPDNSScriptedProvider { providers[0] }

    func resolve(
        _ host: String,
        port: UInt16 = 443,
        _ change: (inout HTTPDNSResolver.Query) throws -> Void = { _ in }
    ) async throws -> HTTPDNSResolver.Resolution {
        try await resolver.resolve(question(host, port: port, change))
    }

    func immediate(
        _ host: String,
        port: UInt16 = 443,
        _ change: (inout HTTPDNSResolver.Query) throws -> Void = { _ in }
    ) throws -> HTTPDNSResolver.Resolution? {
        try resolver.cached(question(host, port: port, change))
    }

    private func question(
        _ host: String,
        port: UInt16,
        _ change: (inout HTTPDNSResolver.Query) throws -> Void
    ) throws -> HTTPDNSResolver.Query {
        let host = try HTTPDNSAddress(host).map(HTTPDNSHost.address) ?? .name(HTTPDNSName(host))
        var question = HTTPDNSResolver.Query(host, port: port)
        try change(&question)
        return question
    }

    /// Scripts addresses for a name at a provider.
    func say(_ addresses: [String], timeToLive: Duration = .seconds(60), about host: String, at index: Int = 0) throws {
        let answer = HTTPDNSProviderAnswer.addresses(
            addresses.compactMap { HTTPDNSAddress($0) },
            timeToLive: timeToLive
        )
        try providers[index].answer(.answer(answer), for: HTTPDNSName(host))
    }
}

extension HTTPDNSResolver {
    /// Listens from now on; see ``HTTPDNSResolver/Events/Iterator/wait(for:)``.
    var listener: HTTPDNSResolver.Events.Iterator { events.buffered(upTo: 100_000).makeAsyncIterator() }
}

extension HTTPDNSResolver.Events.Iterator {
    /// Returns with the next event of a kind, however many others come before it.
    @discardableResult
    mutating func wait(for kind: HTTPDNSResolver.Event.Kind) async -> HTTPDNSResolver.Event? {
        while let event = await next() { if event.kind == kind { return event } }
        return nil
    }
}

extension HTTPDNSResolver.Resolution {
    var addresses: [String] { endpoints.map(\.address.description) }
}

extension HTTPDNSProviderError {
    static let unavailable = HTTPDNSProviderError(code: .httpStatus, message: "503")
}
