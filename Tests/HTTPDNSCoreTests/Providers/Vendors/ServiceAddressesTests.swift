// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSTesting
import ServerRig
import Testing

@testable import HTTPDNSCore

struct ServiceAddressesTests {
    private static let bootstrap = [HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 192, 0, 2, 1), port: 443)]
    private static let found = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 198, 51, 100, 7), port: 8443)

    /// A store in memory.
    private final class MemoryStore: HTTPDNSResolutionStore {
        private let kept: Lock<[HTTPDNSStoredResolution]>
        let fails: Bool

        init(_ resolutions: [HTTPDNSStoredResolution] = [], fails: Bool = false) {
            kept = Lock(resolutions)
            self.fails = fails
        }

        var contents: [HTTPDNSStoredResolution] { kept.withLock { $0 } }

        func load() async throws -> [HTTPDNSStoredResolution] {
            if fails { throw CancellationError() }
            return contents
        }

        func save(_ resolutions: [HTTPDNSStoredResolution]) async throws {
            if fails { throw CancellationError() }
            kept.withLock { $0 = resolutions }
        }
    }

    private func addresses(
        scope: HTTPDNSAddressPolicy.Scope = .public,
        store: MemoryStore? = nil,
        key: String = "https://a.test/ cn",
        time: HTTPDNSManualClock = HTTPDNSManualClock(),
        wall: Int64 = 1_700_000_000_000
    ) -> UpstreamAddresses {
        UpstreamAddresses(
            bootstrap: Self.bootstrap,
            scope: scope,
            storage: store.map { UpstreamAddresses.Storage(store: $0, key: key, provider: "ali") },
            time: time,
            wallClock: WallClock { wall }
        )
    }

    /// Lets a discovery happen if one is due, and returns whether one did.
    private func discovers(_ addresses: UpstreamAddresses, _ discovery: ServiceDiscovery? = nil) async -> Bool {
        let asked = Lock(0)
        addresses.refreshIfDue { _ in
            asked.withLock { $0 += 1 }
            guard let discovery else { throw HTTPDNSProviderError(code: .unreachable, message: "no") }
            return discovery
        }
        await addresses.settled()
        return asked.withLock { $0 } == 1
    }

    @Test("Many concurrent queries begin one discovery")
    func single() async throws {
        let addresses = addresses()
        let asked = Occupancy()
        let gate = OneShot<Void>()
        try await concurrently(50) { _ in
            addresses.refreshIfDue { _ in
                asked.enter()
                await gate.value()
                return ServiceDiscovery(endpoints: [Self.found])
            }
        }
        #expect(addresses.attempts() == Self.bootstrap)
        gate.deliver(())
        await addresses.settled()
        #expect(asked.all == 1)
        #expect(addresses.attempts() == [Self.found] + Self.bootstrap)
    }

    @Test("A failed discovery changes nothing and is repeated after five minutes")
    func failure() async {
        let time = HTTPDNSManualClock()
        let addresses = addresses(time: time)
        #expect(await discovers(addresses))
        #expect(addresses.attempts() == Self.bootstrap)
        time.advance(by: .seconds(299))
        #expect(await !discovers(addresses))
        time.advance(by: .seconds(1))
        #expect(await discovers(addresses, ServiceDiscovery(endpoints: [Self.found])))
        #expect(addresses.attempts() == [Self.found] + Self.bootstrap)
    }

    @Test(
        "A service leads to no address more private than its own, and to no special one",
        arguments: [(HTTPDNSAddressPolicy.Scope.public, 0), (.private, 1), (.loopback, 2)]
    )
    func scopes(scope: HTTPDNSAddressPolicy.Scope, count: Int) async {
        let addresses = addresses(scope: scope)
        let named = [
            HTTPDNSAddress(v4: 10, 0, 0, 1), HTTPDNSAddress(v4: 127, 0, 0, 1), HTTPDNSAddress(v4: 169, 254, 169, 254),
        ]
        let endpoints = named.map { HTTPDNSEndpoint(address: $0, port: 443) }
        #expect(await discovers(addresses, ServiceDiscovery(endpoints: endpoints)))
        #expect(addresses.attempts() == Array(endpoints.prefix(count)) + Self.bootstrap)
    }

    @Test("Addresses and their ports survive a restart, and no discovery is due")
    func restart() async {
        let store = MemoryStore()
        let other = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 198, 51, 100, 8), port: 443)
        #expect(await discovers(addresses(store: store), ServiceDiscovery(endpoints: [Self.found, other])))
        #expect(store.contents.count == 2)
        let later = addresses(store: store, wall: 1_700_000_000_000 + 3_600_000)
        #expect(await !discovers(later))
        #expect(Set(later.attempts()) == Set([Self.found, other] + Self.bootstrap))
    }

    /// It is not used once its lifetime has run out.
    @Test("A discovered list with a lifetime of its own keeps its age across restarts")
    func shortLife() async {
        let store = MemoryStore()
        let discovery = ServiceDiscovery(endpoints: [Self.found], lifetime: .seconds(3600))
        #expect(await discovers(addresses(store: store), discovery))
        let time = HTTPDNSManualClock()
        let later = addresses(store: store, time: time, wall: 1_700_000_000_000 + 3_000_000)
        #expect(await !discovers(later))
        #expect(later.attempts() == [Self.found] + Self.bootstrap)
        time.advance(by: .seconds(599))
        #expect(await !discovers(later))
        time.advance(by: .seconds(1))
        #expect(await discovers(later, discovery))
        let late = addresses(store: store, wall: 1_700_000_000_000 + 3_000_000 + 3_600_000)
        #expect(await discovers(late))
        #expect(late.attempts() == Self.bootstrap)
    }

    @Test("Stored addresses of another region, a day ago or the future are not used")
    func foreign() async {
        let store = MemoryStore()
        #expect(await discovers(addresses(store: store), ServiceDiscovery(endpoints: [Self.found])))
        let strangers = [
            addresses(store: store, key: "https://a.test/ hk"), addresses(store: store, key: "https://b.test/ cn"),
            addresses(store: store, key: "https://a.test/"),
            addresses(store: store, wall: 1_700_000_000_000 + 24 * 3_600_000),
            addresses(store: store, wall: 1_600_000_000_000),
        ]
        for stranger in strangers {
            stranger.refreshIfDue { _ in throw CancellationError() }
            await stranger.settled()
            #expect(stranger.attempts() == Self.bootstrap)
        }
    }

    @Test("A damaged store with absurd times does not crash the process", arguments: [Int64.min, -1, .max])
    func damagedTime(receivedAt: Int64) async {
        let store = MemoryStore([
            HTTPDNSStoredResolution(
                host: HTTPDNSName(canonical: "service-addresses.invalid"),
                families: .both,
                route: "https://a.test/ cn 443",
                addresses: [HTTPDNSAddress(v4: 198, 51, 100, 9)],
                provider: "ali",
                receivedAt: receivedAt,
                timeToLive: .seconds(60)
            )
        ])
        let addresses = addresses(store: store)
        #expect(await discovers(addresses, ServiceDiscovery(endpoints: [Self.found])))
        #expect(addresses.attempts() == [Self.found] + Self.bootstrap)
    }

    /// No private address comes in through the store.
    @Test("Stored addresses are checked like discovered ones")
    func storedScopes() async {
        let store = MemoryStore([
            HTTPDNSStoredResolution(
                host: HTTPDNSName(canonical: "service-addresses.invalid"),
                families: .both,
                route: "https://a.test/ cn 443",
                addresses: [HTTPDNSAddress(v4: 169, 254, 169, 254), HTTPDNSAddress(v4: 10, 0, 0, 1)],
                provider: "ali",
                receivedAt: 1_700_000_000_000,
                timeToLive: .seconds(60)
            )
        ])
        let addresses = addresses(store: store)
        #expect(await discovers(addresses, ServiceDiscovery(endpoints: [Self.found])))
        #expect(addresses.attempts() == [Self.found] + Self.bootstrap)
    }

    /// A service that is switched off is not stored.
    @Test("A failing store does not affect discoveries")
    func brokenStore() async {
        let broken = addresses(store: MemoryStore(fails: true))
        #expect(await discovers(broken, ServiceDiscovery(endpoints: [Self.found])))
        #expect(broken.attempts() == [Self.found] + Self.bootstrap)
        let store = MemoryStore()
        let disabled = addresses(store: store)
        #expect(await discovers(disabled, ServiceDiscovery(endpoints: [Self.found], isDisabled: true)))
        #expect(disabled.isDisabled && store.contents.isEmpty)
    }

    @Test("A shutdown ends a discovery, and no other begins")
    func shutdown() async {
        let addresses = addresses()
        let started = OneShot<Void>()
        addresses.refreshIfDue { _ in
            started.deliver(())
            try await Task.sleep(for: .seconds(3600))
            return ServiceDiscovery(endpoints: [Self.found])
        }
        await started.value()
        addresses.shutdown()
        await addresses.settled()
        #expect(addresses.attempts() == Self.bootstrap)
        #expect(await !discovers(addresses, ServiceDiscovery(endpoints: [Self.found])))
    }
}
