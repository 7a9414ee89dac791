// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSTesting
import Synchronization
import Testing

/// What the tasks of the test share.
private final class Shared: Sendable {
    struct Answer: Sendable {
        var isMapped: Bool
        var resolution: HTTPDNSResolver.Resolution
    }

    /// What one generation says: both names by one and the same number, so that half of two sets would show.
    struct Book: Sendable {
        var mapped: [UInt64: UInt8] = [1: 1]
        var routed: [UInt64: UInt8] = [1: 1]
    }

    let book = Lock(Book())
    let seen = Lock<[Answer]>([])
    let isWriting = Atomic(true)
    let count = Atomic(0)
}

/// Everything that changes a resolver at once, on the real clock, also for the thread sanitizer.
///
/// Generation by generation it is known what each name may be answered with: a writer keeps the book. An answer counts as
/// explained when one and the same generation has it all: address, rule and source.
struct LiveStressTests {
    /// Reloads, applied changes and turns of the kill switch, beside 8 tasks.
    @Test("Under concurrent reloads one generation explains each answer")
    func explainable() async throws {
        let mapped = try HTTPDNSName("map.test")
        let routed = try HTTPDNSName("img.test")
        let systemAddress = HTTPDNSAddress(v4: 203, 0, 113, 255)
        let system = ScriptedSystemResolver()
        for host in [mapped, routed] { system.answer(.success([systemAddress]), for: host) }
        @Sendable func provider(_ number: UInt8) -> HTTPDNSScriptedProvider {
            let provider = HTTPDNSScriptedProvider(name: "doh")
            let address = HTTPDNSAddress(v4: 198, 51, 100, number)
            provider.answer(.answer(.addresses([address], timeToLive: .seconds(60))), for: routed)
            return provider
        }
        @Sendable func settings(_ number: UInt8) throws -> HTTPDNSResolver.Configuration {
            var settings = HTTPDNSResolver.Configuration()
            settings.providers = [provider(number)]
            settings.routes = [HTTPDNSRoute(.any, .providers(["doh"], fallback: .off))]
            settings.mappings = [
                HTTPDNSMapping.Key(.exact(mapped)): HTTPDNSMapping(
                    .addresses([.init(HTTPDNSAddress(v4: 203, 0, 113, number))])
                )
            ]
            return settings
        }
        let resolver = try HTTPDNSResolver(settings(1), systemResolver: system)
        let shared = Shared()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    var kept: [Shared.Answer] = []
                    repeat {
                        let isMapped = shared.count.load(ordering: .relaxed) % 2 == task % 2
                        let host = isMapped ? mapped : routed
                        let resolution = try await resolver.resolve(HTTPDNSResolver.Query(.name(host), port: 443))
                        shared.count.add(1, ordering: .relaxed)
                        // An answer that is there at once suspends nobody, and the pool has others to serve.
                        await Task.yield()
                        if kept.count < 20_000 {
                            kept.append(Shared.Answer(isMapped: isMapped, resolution: resolution))
                        }
                    } while shared.isWriting.load(ordering: .relaxed)
                    let all = kept
                    shared.seen.withLock { $0 += all }
                }
            }
            group.addTask {
                for round in 2..<200 {
                    let number = UInt8(round % 250 + 1)
                    if round % 3 == 0 {
                        let generation = try resolver.mappings.apply { draft in
                            draft[HTTPDNSMapping.Key(.exact(mapped))] = HTTPDNSMapping(
                                .addresses([.init(HTTPDNSAddress(v4: 203, 0, 113, number))])
                            )
                        }
                        shared.book.withLock {
                            $0.mapped[generation] = number
                            $0.routed[generation] = $0.routed[generation - 1]
                        }
                    } else {
                        // One generation more than it should be in would be found by nobody's book.
                        try resolver.mappings.apply { $0.removeAll() }
                        let between = resolver.mappings.generation
                        let base = resolver.mappings.current.rules[HTTPDNSMapping.Key(.exact(mapped))]
                        if case .addresses(let targets)? = base?.action {
                            shared.book.withLock {
                                $0.mapped[between] = UInt8(truncatingIfNeeded: targets[0].address.low)
                                $0.routed[between] = $0.routed[between - 1]
                            }
                        }
                        let generation = try resolver.reload(settings(number)).generation
                        shared.book.withLock {
                            $0.mapped[generation] = number
                            $0.routed[generation] = number
                        }
                    }
                    if round % 5 == 0 { resolver.killSwitch.turnOff() }
                    await Task.yield()
                    if round % 5 == 0 { resolver.killSwitch.turnOn() }
                    if round % 7 == 0 { resolver.removeAllCached() }
                }
                shared.isWriting.store(false, ordering: .relaxed)
            }
            try await group.waitForAll()
        }
        let entries = shared.book.withLock { $0 }
        var generations: Set<UInt64> = []
        for answer in shared.seen.withLock({ $0 }) {
            let (isMapped, resolution) = (answer.isMapped, answer.resolution)
            generations.insert(resolution.generation)
            let address = try #require(resolution.endpoints.first?.address)
            if resolution.source == .system {
                #expect(address == systemAddress && resolution.systemReason == .switchedOff)
            } else if isMapped {
                let number = try #require(entries.mapped[resolution.generation])
                #expect(resolution.source == .mapping && address == HTTPDNSAddress(v4: 203, 0, 113, number))
            } else {
                let number = try #require(entries.routed[resolution.generation])
                #expect(
                    resolution.source == .provider && address == HTTPDNSAddress(v4: 198, 51, 100, number),
                    "generation \(resolution.generation)"
                )
            }
        }
        #expect(generations.count > 1, "the load saw the changes")
        await resolver.shutdown()
    }
}
