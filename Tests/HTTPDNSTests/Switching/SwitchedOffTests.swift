import HTTPDNS
import HTTPDNSPrimitives
import HTTPDNSTestKit
import Testing

@Suite("A resolver that is switched off", .timeLimit(.minutes(10)))
struct SwitchedOffTests {
    private static let systemAddress = IPAddress(v4: 203, 0, 113, 99)

    /// `img.shop.test` at the provider, `map.shop.test` mapped; the system knows both at 203.0.113.99.
    private func fixture(
        _ change: (inout ResolverConfiguration) throws -> Void = { _ in }
    ) throws -> ResolverFixture {
        let fixture = try ResolverFixture {
            $0.mappings = [
                try MappingKey("map.shop.test"): .addresses(["203.0.113.7"]),
                try MappingKey("alias.test"): .via("img.shop.test"),
            ]
            $0.routes = [
                Route(.suffix(try HostName("shop.test")), .providers(["doh"], fallback: .none)),
                Route(.exact(try HostName("pay.shop.test")), .providers(["doh"], fallback: .none)),
            ]
            try change(&$0)
        }
        for name in ["img.shop.test", "pay.shop.test"] { try fixture.say(["203.0.113.1"], about: name) }
        for name in ["img.shop.test", "map.shop.test", "pay.shop.test"] {
            try fixture.system.say(.success([Self.systemAddress]), about: HostName(name))
        }
        return fixture
    }

    @Test("off: mappings, cached answers and providers are passed over; on: what is fresh serves again at once")
    func everything() async throws {
        let fixture = try fixture()
        #expect(try await fixture.resolve("img.shop.test").addresses == ["203.0.113.1"])
        fixture.resolver.killSwitch.turnOff()
        for name in ["img.shop.test", "map.shop.test"] {
            let resolution = try await fixture.resolve(name)
            #expect(resolution.addresses == ["203.0.113.99"])
            #expect(resolution.source == .system && resolution.rule == nil && resolution.route == nil)
            #expect(resolution.bypass == .switchedOff)
            #expect(resolution.switchedOff?.origin == .api && resolution.switchedOff?.scope == .everything)
        }
        #expect(try fixture.immediate("img.shop.test")?.bypass == .switchedOff, "out of the cache too")
        #expect(try fixture.immediate("203.0.113.5")?.source == .literal)
        let endpoint = Endpoint(address: IPAddress(v4: 203, 0, 113, 9), port: 1)
        #expect(try fixture.immediate("img.shop.test") { $0.pinnedTo = [endpoint] }?.source == .request)
        #expect(fixture.provider.queries.count == 1)
        #expect(fixture.resolver.counters.switchedOff == 3)

        fixture.resolver.killSwitch.turnOn()
        let back = try #require(try fixture.immediate("img.shop.test"))
        #expect(back.addresses == ["203.0.113.1"] && back.isCached && back.bypass == nil && back.switchedOff == nil)
        #expect(try fixture.immediate("map.shop.test")?.source == .mapping)
        #expect(fixture.provider.queries.count == 1)
        #expect(fixture.resolver.counters.switchedOff == 3)
    }

    @Test("a name that neither is known to the system nor on fails, and says that it is switched off")
    func unknown() async throws {
        let fixture = try ResolverFixture()
        try fixture.say(["203.0.113.1"], about: "only.test")
        fixture.resolver.killSwitch.turnOff(by: .environment)
        let error = await #expect(throws: ResolutionError.self) { try await fixture.resolve("only.test") }
        #expect(error?.code == .nameNotFound)
        #expect(error?.hint == "it is switched off, so mappings and providers were passed over")
        #expect(fixture.resolver.counters.switchedOff == 1)
    }

    @Test("one route off leaves the others on, also behind via rules")
    func oneRoute() async throws {
        let fixture = try fixture()
        fixture.resolver.killSwitch.turnOff(.route(try HostPattern("*.shop.test")), by: .socket)
        #expect(try await fixture.resolve("img.shop.test").source == .system)
        #expect(try await fixture.resolve("map.shop.test").source == .system)
        #expect(try await fixture.resolve("pay.shop.test").source == .provider)
        let alias = try await fixture.resolve("alias.test")
        #expect(alias.source == .system && alias.bypass == .switchedOff)
        #expect(alias.rule?.via.map(\.description) == ["img.shop.test"])
        #expect(fixture.resolver.killSwitch.isOn)
        #expect(fixture.resolver.counters.switchedOff == 3)
    }

    @Test("a route that the settings have off is off by the file, and on again by a reload alone")
    func byFile() async throws {
        let fixture = try fixture { $0.routes[0].isEnabled = false }
        #expect(fixture.resolver.killSwitch.offs.map(\.origin) == [.file])
        #expect(try await fixture.resolve("img.shop.test").source == .system)
        fixture.resolver.killSwitch.turnOn(.route(try HostPattern("*.shop.test")))
        #expect(try await fixture.resolve("img.shop.test").source == .system)
        var settings = fixture.settings
        settings.routes[0].isEnabled = true
        try fixture.resolver.reload(settings)
        #expect(fixture.resolver.killSwitch.offs.isEmpty)
        #expect(try await fixture.resolve("img.shop.test").source == .provider)
        settings.routes[0].isEnabled = false
        try fixture.resolver.reload(settings)
        #expect(try await fixture.resolve("img.shop.test").source == .system)
    }

    @Test("A question that waits for a provider when it is switched off takes the system path")
    func whileWaiting() async throws {
        let fixture = try fixture()
        fixture.provider.hold()
        async let waiting = fixture.resolve("img.shop.test")
        await fixture.provider.queries(atLeast: 1)
        fixture.resolver.killSwitch.turnOff()
        #expect(try await waiting.source == .system)
        fixture.provider.release()
    }

    @Test("One route switched off leaves the questions that wait for others alone")
    func othersWhileWaiting() async throws {
        let fixture = try fixture()
        fixture.provider.hold()
        async let off = fixture.resolve("img.shop.test")
        async let on = fixture.resolve("pay.shop.test")
        await fixture.provider.queries(atLeast: 2)
        fixture.resolver.killSwitch.turnOff(.route(try HostPattern("*.shop.test")))
        #expect(try await off.source == .system)
        fixture.provider.release()
        #expect(try await on.source == .provider)
    }

    @Test("Names in use are looked up on the system path when they are switched off, and no others")
    func lookedUpAhead() async throws {
        let fixture = try fixture()
        _ = try await fixture.resolve("img.shop.test")
        _ = try await fixture.resolve("pay.shop.test")
        var listener = fixture.resolver.listener
        fixture.resolver.killSwitch.turnOff(.route(try HostPattern("*.shop.test")))
        await listener.wait(for: .answered)
        let resolution = try #require(try fixture.immediate("img.shop.test"))
        #expect(resolution.addresses == ["203.0.113.99"] && resolution.isCached)
        #expect(fixture.system.questions.map(\.description) == ["img.shop.test"])
        #expect(try fixture.immediate("pay.shop.test")?.source == .provider)
    }

    @Test("turns of the switch are told, with who turned it")
    func events() async throws {
        let fixture = try fixture()
        var listener = fixture.resolver.listener
        fixture.resolver.killSwitch.turnOff(by: .socket)
        let off = await listener.wait(for: .switchedOff)
        #expect(off?.code == "socket" && off?.message == "everything")
        fixture.resolver.killSwitch.turnOn(by: .socket)
        #expect(await listener.wait(for: .switchedOn)?.message == "everything")
    }
}
