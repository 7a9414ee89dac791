// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSTesting
import Testing

/// An attacker who controls a name's servers makes the answers at the providers fail, and has the system resolver answer an
/// address inside the network.
struct FallbackLimitTests {
    private static let inside = ["10.0.0.5", "127.0.0.1", "::1", "::ffff:10.0.0.5", "64:ff9b::a00:5", "2002:a00:5::1"]

    /// A resolver whose only provider fails for every name, with a system resolver that knows `evil.test`.
    private func fixture(
        _ answers: [String],
        scope: HTTPDNSAddressPolicy.Scope = .public,
        _ change: (inout HTTPDNSResolver.Configuration) throws -> Void = { _ in }
    ) throws -> ResolverFixture {
        let fixture = try ResolverFixture(scope: scope, fallback: .system, change)
        fixture.provider.answer(.failure(.unavailable), for: try HTTPDNSName("evil.test"))
        fixture.system.answer(.success(answers.compactMap { HTTPDNSAddress($0) }), for: try HTTPDNSName("evil.test"))
        return fixture
    }

    @Test("An answer of the fallback may be no more private than the providers' answers", arguments: inside)
    func refused(address: String) async throws {
        let fixture = try fixture([address])
        for _ in 0..<2 {
            let error = await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("evil.test") }
            #expect(error?.code == .policyRefused)
            #expect(error?.message.contains("in place of providers") == true, "\(String(describing: error))")
        }
    }

    @Test("Public addresses of a mixed fallback answer are used")
    func mixed() async throws {
        let fixture = try fixture(["10.0.0.5", "203.0.113.7", "127.0.0.1"])
        #expect(try await fixture.resolve("evil.test").addresses == ["203.0.113.7"])
        #expect(try fixture.immediate("evil.test")?.addresses == ["203.0.113.7"])
    }

    @Test("The fallback may answer whatever the providers may answer")
    func widened() async throws {
        let near = try fixture(["10.0.0.5", "127.0.0.1"], scope: .private)
        #expect(try await near.resolve("evil.test").addresses == ["10.0.0.5"])
        let local = try fixture(["10.0.0.5", "127.0.0.1"], scope: .loopback)
        #expect(try await local.resolve("evil.test").addresses == ["10.0.0.5", "127.0.0.1"])
    }

    @Test("The most public limit among the route's providers counts")
    func leastOfSeveral() async throws {
        let near = HTTPDNSScriptedProvider(name: "near", answerScope: .loopback, clock: HTTPDNSManualClock())
        for name in ["evil.test", "local.test"] { near.answer(.failure(.unavailable), for: try HTTPDNSName(name)) }
        let fixture = try fixture(["127.0.0.1"]) {
            $0.providers.append(near)
            $0.routes = [
                HTTPDNSRoute(.any, .providers(["doh", "near"], fallback: .system)),
                HTTPDNSRoute(try .init("local.test"), .providers(["near"], fallback: .system)),
            ]
        }
        fixture.system.answer(.success([HTTPDNSAddress(v4: 127, 0, 0, 1)]), for: try HTTPDNSName("local.test"))
        let error = await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("evil.test") }
        #expect(error?.code == .policyRefused)
        #expect(try await fixture.resolve("local.test").addresses == ["127.0.0.1"])
    }

    @Test("An allowed block of the policy or of the route allows fallback answers too")
    func allowed() async throws {
        let block = try #require(HTTPDNSAddressBlock("10.0.0.0/8"))
        let byPolicy = try fixture(["10.0.0.5"]) { $0.policy.allowed = [block] }
        #expect(try await byPolicy.resolve("evil.test").addresses == ["10.0.0.5"])
        let byRoute = try fixture(["10.0.0.5"]) { $0.routes[0].allowed = [block] }
        #expect(try await byRoute.resolve("evil.test").addresses == ["10.0.0.5"])
    }

    @Test("A name that the system resolver answers by its own route may be private")
    func leftToSystem() async throws {
        let fixture = try fixture(["10.0.0.5"]) {
            $0.routes.append(HTTPDNSRoute(try .init("evil.test"), .system))
        }
        #expect(try await fixture.resolve("evil.test").addresses == ["10.0.0.5"])
        let asked = try self.fixture(["10.0.0.5"])
        #expect(try await asked.resolve("evil.test") { $0.usesSystemResolver = true }.addresses == ["10.0.0.5"])
        let without = try self.fixture(["10.0.0.5"]) {
            $0.routes = [HTTPDNSRoute(.any, .providers([], fallback: .system))]
        }
        #expect(try await without.resolve("evil.test").addresses == ["10.0.0.5"])
    }
}
