import HTTPDNS
import HTTPDNSPrimitives
import HTTPDNSTestKit
import Testing

@Suite("The suite that every provider must pass", .timeLimit(.minutes(2)))
struct ProviderCompatibilityTests {
    private let dual = try? HostName("dual.test")
    private let addresses = [
        IPAddress(v4: 203, 0, 113, 1), IPAddress(v4: 203, 0, 113, 2), IPAddress(family: .v6, high: 1, low: 1),
    ]

    /// A provider that keeps the contract but for what `bend` changes about it.
    private struct BentProvider: Provider {
        let inner: ScriptedProvider
        var name: String { inner.name }
        var serviceScope: AddressScope { inner.serviceScope }
        let bend: @Sendable (ScriptedProvider, ProviderQuery) async throws -> ProviderAnswer
        func resolve(_ query: ProviderQuery) async throws -> ProviderAnswer { try await bend(inner, query) }
        func shutdown() async { await inner.shutdown() }
    }

    private func violations(
        isStubborn: Bool = false,
        name: String = "scripted",
        bend: @escaping @Sendable (ScriptedProvider, ProviderQuery) async throws -> ProviderAnswer = {
            try await $0.resolve($1)
        }
    ) async throws -> [String] {
        let silent = try HostName("silent.test")
        let dual = try HostName("dual.test")
        let single = try HostName("v4.test")
        let addresses = addresses
        var fixture = ProviderCompatibility.Fixture(
            dualStackName: dual,
            dualStackAddresses: addresses,
            v4OnlyName: single,
            unknownName: try HostName("unknown.test"),
            silentName: silent
        ) {
            let inner = ScriptedProvider(
                name: name,
                scripts: [
                    dual: .answer(.addresses(addresses, timeToLive: .seconds(60))),
                    single: .answer(.addresses(Array(addresses.prefix(2)), timeToLive: .seconds(60))),
                    silent: .silence,
                ],
                isStubborn: isStubborn
            )
            return BentProvider(inner: inner, bend: bend)
        }
        fixture.shortTimeLimit = .milliseconds(20)
        // A provider that breaks a rule about time never comes back; one that keeps them has ten seconds on a busy machine.
        if isStubborn { fixture.patience = .milliseconds(100) }
        return await ProviderCompatibility(fixture).violations().map(\.rule)
    }

    @Test("a provider that keeps the contract passes")
    func passes() async throws {
        #expect(try await violations().isEmpty)
    }

    @Test("a provider that listens to nothing is found out in each rule about time")
    func findsStubborn() async throws {
        let found = try await violations(isStubborn: true)
        #expect(
            found == [
                "a query ends at its time limit", "a cancelled query ends with CancellationError",
                "a shutdown ends queries, and refuses later ones with code shut-down",
            ]
        )
    }

    @Test("a provider without a name is found out")
    func findsNameless() async throws {
        #expect(try await violations(name: "") == ["it has a name"])
    }

    @Test("a provider that passes over the families is found out")
    func findsFamilies() async throws {
        let found = try await violations { inner, query in
            var query = query
            query.families = .both
            return try await inner.resolve(query)
        }
        #expect(found == ["only the families asked for have an outcome"])
    }

    @Test("a provider that calls an unknown name empty is found out")
    func findsEmptyForUnknown() async throws {
        let unknown = try HostName("unknown.test")
        let found = try await violations { inner, query in
            guard query.host == unknown else { return try await inner.resolve(query) }
            return ProviderAnswer(v4: .noData(timeToLive: nil), v6: .noData(timeToLive: nil))
        }
        #expect(found == ["a name that does not exist is a name error"])
    }

    @Test("a provider that loses addresses is found out, alone and under load")
    func findsLostAddresses() async throws {
        let found = try await violations { inner, query in
            var answer = try await inner.resolve(query)
            if case .addresses(let all, let life, let name) = answer.v4 {
                answer.v4 = .addresses(Array(all.prefix(1)), timeToLive: life, canonicalName: name)
            }
            return answer
        }
        #expect(
            found == ["a name with both families gets all its addresses", "queries at once all get their own answers"]
        )
    }

    @Test("a provider whose cancellation looks like a failure is found out")
    func findsWrongCancellation() async throws {
        let found = try await violations { inner, query in
            do {
                return try await inner.resolve(query)
            } catch is CancellationError {
                throw ProviderError(code: .unreachable, message: "cancelled")
            }
        }
        #expect(found == ["a cancelled query ends with CancellationError"])
    }

    @Test("a provider that answers after its shutdown is found out")
    func findsUndead() async throws {
        let dual = try HostName("dual.test")
        let addresses = addresses
        let found = try await violations { inner, query in
            if inner.isShutDown, query.host == dual { return .addresses(addresses, timeToLive: .seconds(1)) }
            return try await inner.resolve(query)
        }
        #expect(found == ["a shutdown ends queries, and refuses later ones with code shut-down"])
    }
}
