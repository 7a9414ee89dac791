// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Foundation
internal import HTTPDNSCore
internal import HTTPDNSPrimitives
internal import PeerLookups

struct NameServerFigures: Codable, Sendable {
    struct Lookup: Codable, Sendable {
        var contender: String
        /// Microseconds of processor time of the whole process for a name, with one lookup at a time and with many: medians.
        var alone: Double
        var many: Double
    }

    /// A steady load on names that expire.
    struct Load: Codable, Sendable {
        var rate: Int
        var seconds: Int
        /// Queries that the name server got, as the resolver counts them.
        var queries: Int
        var failed: Int
        /// Microseconds of a lookup.
        var p50: Double
        var p99: Double
        /// The share of one processor in percent.
        var processor: Double
    }

    var lookups: [Lookup]
    var load: Load
}

/// IPv4 addresses of names that no cache knows, over UDP from BIND, beside getaddrinfo and libunbound.
enum NameServerScenario {
    private static let count = 8000
    /// Threads of the peers, which block; our own lookups in flight are as many.
    private static let parallel = 64

    private enum Look {
        case awaiting(@Sendable (String) async throws -> Void)
        case blocking(@Sendable (String) -> Void)
    }

    /// - Returns: Nil without BIND.
    static func run(rounds: Int) async throws -> NameServerFigures? {
        guard FileManager.default.isExecutableFile(atPath: BINDServer.program) else {
            print("\nname-server is left out: there is no \(BINDServer.program)")
            return nil
        }
        let server = try BINDServer()
        defer { server.stop() }
        let port = server.port
        let endpoint = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 1), port: UInt16(port))
        func provider() throws -> HTTPDNSDNSProvider {
            try HTTPDNSDNSProvider(HTTPDNSDNSProvider.Configuration(name: "dns", servers: .addresses([endpoint])))
        }
        var configuration = HTTPDNSResolver.Configuration()
        configuration.providers = [try provider()]
        configuration.routes = [HTTPDNSRoute(.any, .providers(["dns"], fallback: .off), families: .v4)]
        let resolver = try HTTPDNSResolver(configuration)
        let bare = try provider()
        var contenders: [(name: String, look: Look)] = [
            (
                "HTTPDNSResolver, kind: dns",
                .awaiting { name in
                    let answer = try await resolver.resolve(
                        HTTPDNSResolver.Query(.name(try HTTPDNSName(name)), port: 443)
                    )
                    precondition(!answer.isCached, "\(name) was known before")
                }
            ),
            (
                "HTTPDNSDNSProvider alone",
                .awaiting { name in
                    let query = HTTPDNSProviderQuery(host: try HTTPDNSName(name), families: .v4, timeLimit: .seconds(5))
                    guard case .addresses? = try await bare.resolve(query).v4 else { fatalError("\(name): no address") }
                }
            ),
            (
                "getaddrinfo",
                .blocking { name in
                    precondition(peer_system_lookup(port, name) == 0, "\(name) is not known to the C library")
                }
            ),
        ]
        let unbound = peer_unbound_create(port).map { Int(bitPattern: $0) }
        if let unbound {
            let look = Look.blocking { name in
                let error = peer_unbound_lookup(UnsafeMutableRawPointer(bitPattern: unbound), name)
                precondition(error == 0, "\(name) is not known to libunbound")
            }
            contenders.append(("libunbound, forwarding", look))
        }
        var samples = contenders.map { _ in (alone: [Double](), many: [Double]()) }
        let number = Number()
        for round in 0...rounds {
            for place in contenders.indices.shuffled() {
                let look = contenders[place].look
                let alone = try await time(look, count / 4, parallel: 1, number)
                let many = try await time(look, count, parallel: parallel, number)
                guard round > 0 else { continue }
                samples[place].alone.append(alone)
                samples[place].many.append(many)
            }
        }
        let load = try await load(resolver)
        await resolver.shutdown()
        await bare.shutdown()
        if let unbound { peer_unbound_destroy(UnsafeMutableRawPointer(bitPattern: unbound)) }
        return NameServerFigures(
            lookups: zip(contenders, samples).map {
                .init(contender: $0.name, alone: $1.alone.median, many: $1.many.median)
            },
            load: load
        )
    }

    private static func time(_ look: Look, _ count: Int, parallel: Int, _ number: Number) async throws -> Double {
        switch look {
        case .awaiting(let look):
            return try await ColdScenario.time(count, inFlight: parallel) {
                try await look("n\(number.next()).cold.test")
            }
        case .blocking(let look):
            let start = processorSeconds()
            let share = count / parallel
            _ = Threads.run(parallel) { _, _ in
                for _ in 0..<share { look("n\(number.next()).cold.test") }
            }
            return (processorSeconds() - start) * 1e6 / Double(share * parallel)
        }
    }

    private static func load(_ resolver: HTTPDNSResolver) async throws -> NameServerFigures.Load {
        let (rate, seconds, names) = (2000, 20, 10_000)
        let hosts = try (0..<names).map { try HTTPDNSName("n\($0).brief.cold.test") }
        let before = resolver.providerHealth[0].queries
        let cpu = processorSeconds()
        let clock = ContinuousClock()
        let start = clock.now
        let times = await withTaskGroup(of: Double?.self) { group in
            for call in 0..<rate * seconds {
                if call % 2 == 0 { try? await clock.sleep(until: start + .microseconds(call * 500), tolerance: .zero) }
                let host = hosts[Int.random(in: 0..<names)]
                group.addTask {
                    let begin = clock.now
                    let answer = try? await resolver.resolve(HTTPDNSResolver.Query(.name(host), port: 443))
                    return answer == nil ? nil : (clock.now - begin) / .microseconds(1)
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        let elapsed = (clock.now - start) / .seconds(1)
        let processor = (processorSeconds() - cpu) / elapsed * 100
        let sorted = times.compactMap(\.self).sorted()
        return NameServerFigures.Load(
            rate: rate,
            seconds: seconds,
            queries: resolver.providerHealth[0].queries - before,
            failed: times.count - sorted.count,
            p50: sorted[sorted.count / 2],
            p99: sorted[sorted.count * 99 / 100],
            processor: processor
        )
    }
}
