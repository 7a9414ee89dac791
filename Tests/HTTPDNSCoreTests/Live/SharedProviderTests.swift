// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSTesting
import Testing

@testable import HTTPDNSCore

/// Settings are values, and their providers are objects: several resolvers may have the same one, at once or in turn.
struct SharedProviderTests {
    private func settings(_ providers: any HTTPDNSProvider...) -> HTTPDNSResolver.Configuration {
        var settings = HTTPDNSResolver.Configuration()
        settings.providers = providers
        settings.routes = [HTTPDNSRoute(.any, .providers(providers.map(\.name), fallback: .off))]
        settings.cache.staleLimit = .zero
        return settings
    }

    private func provider(_ name: String = "doh", _ last: UInt8 = 1) throws -> HTTPDNSScriptedProvider {
        let answer = HTTPDNSProviderAnswer.addresses(
            [HTTPDNSAddress(v4: 203, 0, 113, last)],
            timeToLive: .zero
        )
        return HTTPDNSScriptedProvider(name: name, scripts: [try HTTPDNSName("img.test"): .answer(answer)])
    }

    private func resolve(_ resolver: HTTPDNSResolver) async throws -> String? {
        let query = HTTPDNSResolver.Query(.name(try HTTPDNSName("img.test")), port: 443)
        return try await resolver.resolve(query).addresses.first
    }

    private func isShutDown(_ provider: HTTPDNSScriptedProvider) async -> Bool {
        while !provider.isShutDown, !Task.isCancelled { await Task.yield() }
        return provider.isShutDown
    }

    @Test("The last resolver that uses a provider shuts it down")
    func shutdowns() async throws {
        let provider = try provider()
        let settings = settings(provider)
        let (first, second) = (try HTTPDNSResolver(settings), try HTTPDNSResolver(settings))
        await first.shutdown()
        await first.shutdown()
        #expect(try await resolve(second) == "203.0.113.1")
        await second.shutdown()
        #expect(provider.isShutDown)
    }

    @Test("A reload of one resolver leaves the provider to another")
    func reloadOfOne() async throws {
        let (old, new) = (try provider(), try provider("doh", 2))
        let settings = settings(old)
        let (first, second) = (try HTTPDNSResolver(settings), try HTTPDNSResolver(settings))
        try first.reload(self.settings(new))
        #expect(try await resolve(first) == "203.0.113.2")
        while first.retired.count > 0, !Task.isCancelled { await Task.yield() }
        #expect(try await resolve(second) == "203.0.113.1")
        try second.reload(self.settings(new))
        #expect(await isShutDown(old))
        await first.shutdown()
        #expect(try await resolve(second) == "203.0.113.2")
        await second.shutdown()
        #expect(new.isShutDown)
    }

    @Test("A rollback during a provider's last lookup keeps the provider running")
    func rollbackInFlight() async throws {
        let (old, new) = (try provider(), try provider("doh", 2))
        let resolver = try HTTPDNSResolver(settings(old))
        old.hold()
        async let pending = resolve(resolver)
        await old.queries(atLeast: 1)
        try resolver.reload(settings(new))
        try resolver.reload(settings(old))
        old.release()
        #expect(try await pending == "203.0.113.1")
        while resolver.retired.count > 0, !Task.isCancelled { await Task.yield() }
        #expect(try await resolve(resolver) == "203.0.113.1")
        #expect(await isShutDown(new) && !old.isShutDown)
        await resolver.shutdown()
        #expect(old.isShutDown)
    }

    @Test("Settings with a provider that is shut down are refused by its name")
    func rollbackTooLate() async throws {
        let (old, new) = (try provider(), try provider("doh", 2))
        let resolver = try HTTPDNSResolver(settings(old))
        try resolver.reload(settings(new))
        #expect(await isShutDown(old))
        let error = #expect(throws: HTTPDNSResolver.ConfigurationError.self) { try resolver.reload(settings(old)) }
        #expect(error?.message.contains("provider \"doh\" is shut down") == true)
        #expect(throws: HTTPDNSResolver.ConfigurationError.self) { try HTTPDNSResolver(settings(old)) }
        #expect(try await resolve(resolver) == "203.0.113.2")
        await resolver.shutdown()
    }

    @Test("A provider that code has shut down is refused, and an equal one replaces it")
    func shutDownByCode() async throws {
        func doh() throws -> HTTPDNSDoHProvider {
            try HTTPDNSDoHProvider(HTTPDNSDoHProvider.Configuration(name: "doh", url: "https://192.0.2.1/dns-query"))
        }
        let (old, new) = (try doh(), try doh())
        let resolver = try HTTPDNSResolver(settings(old))
        #expect(try !resolver.reload(settings(new)).isChanged)
        await old.shutdown()
        #expect(throws: HTTPDNSResolver.ConfigurationError.self) { try resolver.reload(settings(old)) }
        #expect(try resolver.reload(settings(new)).isChanged)
        #expect((resolver.settingsInUse.providers[0] as? HTTPDNSDoHProvider) === new)
        await resolver.shutdown()
    }

    @Test("A provider without anything to shut down can be used again")
    func nothingToShutDown() async throws {
        final class Table: HTTPDNSProvider {
            let name = "table"
            func resolve(_ query: HTTPDNSProviderQuery) async throws -> HTTPDNSProviderAnswer {
                .addresses([HTTPDNSAddress(v4: 203, 0, 113, 3)], timeToLive: .zero)
            }
        }
        let settings = settings(Table())
        for _ in 0..<2 {
            let resolver = try HTTPDNSResolver(settings)
            #expect(try await resolve(resolver) == "203.0.113.3")
            await resolver.shutdown()
        }
    }

    @Test("Values of a type that is equatable are equivalent, and keep their answers")
    func values() async throws {
        struct Table: HTTPDNSProvider, Equatable {
            let name = "table"
            var last: UInt8
            func resolve(_ query: HTTPDNSProviderQuery) async throws -> HTTPDNSProviderAnswer {
                .addresses([HTTPDNSAddress(v4: 203, 0, 113, last)], timeToLive: .seconds(60))
            }
        }
        let resolver = try HTTPDNSResolver(settings(Table(last: 1)))
        #expect(try await resolve(resolver) == "203.0.113.1")
        var again = settings(Table(last: 1))
        again.cache.staleLimit = .seconds(60)
        #expect(try resolver.reload(again).isChanged)
        let query = HTTPDNSResolver.Query(.name(try HTTPDNSName("img.test")), port: 443)
        #expect(try resolver.cached(query)?.isCached == true)
        try resolver.reload(settings(Table(last: 2)))
        #expect(try await resolve(resolver) == "203.0.113.2")
        await resolver.shutdown()
    }
}
