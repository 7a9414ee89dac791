// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Foundation
internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPTypes
internal import Synchronization

/// The figures of names that are resolved for the first time, over DoH.
struct ColdFigures: Codable, Sendable {
    /// Microseconds of processor time of the whole process for a name, with one and with 64 lookups in flight: medians.
    var alone: Double
    var many: Double
    /// The same for two requests of a client to the same server with the question of one name, 64 pairs in flight.
    var requests: Double

    /// A name is two requests over HTTP/2.
    var ratio: Double { many / requests }
}

/// Names that no cache knows, from BIND over one HTTP/2 connection, beside the two requests that each of them is.
enum ColdScenario {
    private static let count = 2000

    /// - Returns: Nil without BIND.
    static func run(rounds: Int) async throws -> ColdFigures? {
        guard FileManager.default.isExecutableFile(atPath: BINDServer.program) else {
            print("\ncold is left out: there is no \(BINDServer.program)")
            return nil
        }
        let server = try BINDServer()
        defer { server.stop() }
        var service = HTTPDNSDoHProvider.Configuration(name: "doh", url: server.url)
        service.trustRoots = .file(server.certificate)
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.providers = [try HTTPDNSDoHProvider(service)]
        configuration.resolver.routes = [HTTPDNSRoute(.any, .providers(["doh"], fallback: .off))]
        configuration.trustRoots = .file(server.certificate)
        let client = try await HTTPDNSClient(configuration: configuration)
        let number = Number()
        // The question for an address of a.cold.test, as RFC 8484 section 4.1.1 has it in a URL.
        let request = HTTPDNSClient.Request(url: "\(server.url)?dns=AAABAAABAAAAAAAAAWEEY29sZAR0ZXN0AAABAAE")
        var (alone, many, requests): ([Double], [Double], [Double]) = ([], [], [])
        for round in 0...rounds {
            let times = [
                try await time(count / 10, inFlight: 1) { try await resolve(number.next(), by: client) },
                try await time(count, inFlight: 64) { try await resolve(number.next(), by: client) },
                try await time(count, inFlight: 64) {
                    async let first = read(request, by: client)
                    async let second = read(request, by: client)
                    _ = try await (first, second)
                },
            ]
            // The first round opens connections.
            guard round > 0 else { continue }
            alone.append(times[0])
            many.append(times[1])
            requests.append(times[2])
        }
        try await client.shutdown()
        return ColdFigures(alone: alone.median, many: many.median, requests: requests.median)
    }

    private static func resolve(_ number: Int, by client: HTTPDNSClient) async throws {
        let answer = try await client.resolve("n\(number).cold.test")
        precondition(answer.source == .provider && !answer.isCached, "a name was known before: \(answer)")
    }

    private static func read(_ request: HTTPDNSClient.Request, by client: HTTPDNSClient) async throws {
        let response = try await client.execute(request)
        let body = try await response.body.collect()
        precondition(response.status == .ok && response.version == .http2 && body.count > 12, "\(response.status)")
    }

    /// - Returns: The microseconds of processor time of one.
    static func time(
        _ count: Int,
        inFlight: Int,
        _ work: @escaping @Sendable () async throws -> Void
    ) async throws -> Double {
        let start = processorSeconds()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<inFlight { group.addTask { for _ in 0..<(count / inFlight) { try await work() } } }
            try await group.waitForAll()
        }
        return (processorSeconds() - start) * 1e6 / Double(count / inFlight * inFlight)
    }
}

/// A number that no other call gets.
final class Number: Sendable {
    private let last = Atomic(0)

    func next() -> Int { last.wrappingAdd(1, ordering: .relaxed).newValue }
}
