// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Glibc
import HTTPDNSCurl
import ServerRig
import Testing

@testable import HTTPDNSCore

/// A provider that does not answer, over real sockets and in real time, beside a system resolver that knows every name.
/// ``SystemFallbackTests`` has the rules on a clock of its own.
@Suite(
    "A provider outage",
    .serialized,
    .enabled("needs its process for itself: HTTPDNS_TEST_ALONE=1") { ServerRig.hasProcessForItself },
    .enabled(if: ServerRig.isAvailable([.nginx, .bind]))
)
struct ProviderOutageTests {
    enum Outage: CaseIterable, Sendable {
        /// The provider's process is stopped: connections stand, and nothing comes back.
        case silent
        /// Packets are dropped: no connection comes about.
        case dropped
    }

    private static let systemAddress = HTTPDNSAddress(v4: 127, 0, 0, 9)

    /// A system resolver whose lookups take so long and find every name.
    private func system(_ microseconds: UInt32) -> SystemResolver {
        SystemResolver(
            threads: 16,
            maximumThreads: 64,
            maximumAbandoned: 64,
            time: SystemTimeSource(),
            lookUp: { _, _ in
                usleep(microseconds)
                return .success([Self.systemAddress])
            }
        )
    }

    /// Runs `body` with a resolver whose only provider has the outage.
    private func during(_ outage: Outage, _ body: (HTTPDNSResolver) async throws -> Void) async throws {
        let rig = try await ServerRig.start()
        let hole = try BlackHole()
        let url = outage == .silent ? rig.dohURL : "http://127.0.0.1:\(hole.port)/dns-query"
        var service = HTTPDNSDoHProvider.Configuration(
            name: "only",
            url: url,
            bootstrap: [HTTPDNSAddress(v4: 127, 0, 0, 1)]
        )
        service.trustRoots = .file(rig.certificateAuthorityFile)
        service.answerScope = .loopback
        var configuration = HTTPDNSResolver.Configuration()
        configuration.providers = [try HTTPDNSDoHProvider(service)]
        configuration.routes = [HTTPDNSRoute(.any, .providers(["only"], fallback: .system))]
        let resolver = try HTTPDNSResolver(configuration, systemResolver: system(2_000))
        if outage == .silent {
            // The outage begins under a provider that was well.
            try await rig.setRecords("well.wild.test", timeToLive: 60, ["127.0.0.2"])
            let first = try await resolver.resolve(question("well.wild.test"))
            #expect(first.source == .provider)
            rig.holdBind()
        }
        let result: Result<Void, any Error>
        do { result = .success(try await body(resolver)) } catch { result = .failure(error) }
        await resolver.shutdown()
        withExtendedLifetime(hole) {}
        try await rig.stop()
        try result.get()
    }

    private func question(_ name: String) throws -> HTTPDNSResolver.Query {
        HTTPDNSResolver.Query(.name(try HTTPDNSName(name)), port: 443)
    }

    @Test("The second cold name is not delayed", arguments: Outage.allCases)
    func secondName(outage: Outage) async throws {
        try await during(outage) { resolver in
            #expect(try await resolver.resolve(question("first.wild.test")).source == .system)
            let second = try await resolver.resolve(question("second.wild.test"))
            // About 55 ms: the hedge delay and a lookup.
            #expect(second.source == .system && second.elapsed < .seconds(1), "\(second.elapsed)")
        }
    }

    @Test("600 cold names at once are all resolved", arguments: Outage.allCases)
    func manyNames(outage: Outage) async throws {
        try await during(outage) { resolver in
            let failures = await withTaskGroup(of: String?.self) { group in
                for number in 0..<600 {
                    group.addTask {
                        do {
                            let resolution = try await resolver.resolve(question("n\(number).wild.test"))
                            return resolution.source == .system ? nil : "\(resolution)"
                        } catch {
                            return "\(error)"
                        }
                    }
                }
                return await group.reduce(into: [String]()) { if let failure = $1 { $0.append(failure) } }
            }
            #expect(failures.isEmpty, "\(failures.count), such as \(failures.first ?? "")")
        }
    }

    /// No provider's address is served afterwards.
    @Test("Turning the kill switch off with many names in use fails no lookup")
    func killSwitch() async throws {
        let count = ServerRig.hasTime ? 5_000 : 600
        let provider = AnyNameProvider()
        var configuration = HTTPDNSResolver.Configuration()
        configuration.providers = [provider]
        configuration.routes = [HTTPDNSRoute(.any, .providers([provider.name], fallback: .off))]
        configuration.cache.entries = 4 * count
        configuration.cache.bytes = .mebibytes(64)
        let resolver = try HTTPDNSResolver(configuration, systemResolver: system(20_000))
        let questions = try (0..<count).map { try question("n\($0).wild.test") }
        for question in questions { #expect(try await resolver.resolve(question).source == .provider) }
        resolver.killSwitch.turnOff()
        let wrong = await withTaskGroup(of: String?.self) { group in
            for question in questions {
                group.addTask {
                    do {
                        let addresses = try await resolver.resolve(question).endpoints.map(\.address)
                        return addresses == [Self.systemAddress] ? nil : "\(addresses)"
                    } catch {
                        return "\(error)"
                    }
                }
            }
            return await group.reduce(into: [String]()) { if let text = $1 { $0.append(text) } }
        }
        #expect(wrong.isEmpty, "\(wrong.count), such as \(wrong.first ?? "")")
        await resolver.shutdown()
    }
}

/// A provider that has one address for every name.
private struct AnyNameProvider: HTTPDNSProvider {
    let name = "any"
    let answerScope = HTTPDNSAddressPolicy.Scope.loopback

    func resolve(_ query: HTTPDNSProviderQuery) async throws -> HTTPDNSProviderAnswer {
        HTTPDNSProviderAnswer(
            v4: .addresses([HTTPDNSAddress(v4: 127, 0, 0, 8)], timeToLive: .seconds(600), canonicalName: nil)
        )
    }

    func shutdown() async {}
}
