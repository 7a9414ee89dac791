// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import Testing

@testable import HTTPDNSTesting

struct ProviderCompatibilityTests {
    private let dual = try? HTTPDNSName("dual.test")
    private let addresses = [
        HTTPDNSAddress(v4: 203, 0, 113, 1), HTTPDNSAddress(v4: 203, 0, 113, 2),
        HTTPDNSAddress(family: .v6, high: 1, low: 1),
    ]

    /// A provider that keeps the contract but for what `bend` changes about it.
    private struct BentProvider: HTTPDNSProvider {
        let inner: HTTPDNSScriptedProvider
        var name: String { inner.name }
        var answerScope: HTTPDNSAddressPolicy.Scope { inner.answerScope }
        let bend: @Sendable (HTTPDNSScriptedProvider, HTTPDNSProviderQuery) async throws -> HTTPDNSProviderAnswer
        /// Nil leaves batches to the default.
        var bendBatch:
            (
                @Sendable (HTTPDNSScriptedProvider, HTTPDNSProviderQuery, [HTTPDNSName]) async throws -> [HTTPDNSName:
                    HTTPDNSProviderAnswer]
            )?
        var batchLimit: Int { bendBatch == nil ? 1 : inner.batchLimit }
        func resolve(_ query: HTTPDNSProviderQuery, batch: [HTTPDNSName]) async throws -> [HTTPDNSName:
            HTTPDNSProviderAnswer]
        {
            if let bendBatch { return try await bendBatch(inner, query, batch) }
            return try await DefaultBatches(provider: self).resolve(query, batch: batch)
        }
        func resolve(_ query: HTTPDNSProviderQuery) async throws -> HTTPDNSProviderAnswer {
            try await bend(inner, query)
        }
        func shutdown() async { await inner.shutdown() }
    }

    /// Has nothing but the default for batches.
    private struct DefaultBatches: HTTPDNSProvider {
        let provider: BentProvider
        var name: String { provider.name }
        var answerScope: HTTPDNSAddressPolicy.Scope { provider.answerScope }
        func resolve(_ query: HTTPDNSProviderQuery) async throws -> HTTPDNSProviderAnswer {
            try await provider.resolve(query)
        }
        func shutdown() async {}
    }

    private typealias BatchBend =
        @Sendable (HTTPDNSScriptedProvider, HTTPDNSProviderQuery, [HTTPDNSName]) async throws -> [HTTPDNSName:
        HTTPDNSProviderAnswer]

    private func violations(
        ignoresCancellation: Bool = false,
        name: String = "scripted",
        batchLimit: Int = 1,
        keepsTimeLimits: Bool = true,
        patience: Duration? = nil,
        bend:
            @escaping @Sendable (HTTPDNSScriptedProvider, HTTPDNSProviderQuery) async throws -> HTTPDNSProviderAnswer =
            {
                try await $0.resolve($1)
            },
        bendBatch: BatchBend? = nil
    ) async throws -> [String] {
        let silent = try HTTPDNSName("silent.test")
        let dual = try HTTPDNSName("dual.test")
        let single = try HTTPDNSName("v4.test")
        let addresses = addresses
        var fixture = HTTPDNSProviderCompatibility.Fixture(
            dualStackName: dual,
            dualStackAddresses: addresses,
            v4OnlyName: single,
            unknownName: try HTTPDNSName("unknown.test"),
            silentName: silent
        ) {
            let inner = HTTPDNSScriptedProvider(
                name: name,
                scripts: [
                    dual: .answer(.addresses(addresses, timeToLive: .seconds(60))),
                    single: .answer(.addresses(Array(addresses.prefix(2)), timeToLive: .seconds(60))),
                    silent: .silence,
                ],
                ignoresCancellation: ignoresCancellation,
                batchLimit: batchLimit
            )
            return BentProvider(inner: inner, bend: bend, bendBatch: bendBatch)
        }
        fixture.shortTimeLimit = .milliseconds(20)
        fixture.keepsTimeLimits = keepsTimeLimits
        // A provider that breaks a rule about time never comes back; one that keeps them has ten seconds on a busy machine.
        if ignoresCancellation { fixture.gracePeriod = .milliseconds(100) }
        if let patience { fixture.gracePeriod = patience }
        return await HTTPDNSProviderCompatibility(fixture).violations().map(\.rule)
    }

    @Test("A provider that keeps the contract passes")
    func passes() async throws {
        #expect(try await violations().isEmpty)
    }

    /// A static table as a provider: what a conforming type needs at least.
    private struct Table: HTTPDNSProvider {
        let name = "table"
        let addresses: [HTTPDNSName: [HTTPDNSAddress]]

        func resolve(_ query: HTTPDNSProviderQuery) async throws -> HTTPDNSProviderAnswer {
            HTTPDNSProviderAnswer(addresses[query.host], timeToLive: .seconds(60), to: query)
        }
    }

    /// It does nothing about time limits and shutdown.
    @Test("A ten-line provider of a table passes")
    func table() async throws {
        let dual = try HTTPDNSName("dual.test")
        let single = try HTTPDNSName("v4.test")
        let table = [dual: addresses, single: [addresses[0]]]
        let fixture = HTTPDNSProviderCompatibility.Fixture(
            dualStackName: dual,
            dualStackAddresses: addresses,
            v4OnlyName: single,
            unknownName: try HTTPDNSName("unknown.test"),
            silentName: nil
        ) { Table(addresses: table) }
        #expect(await HTTPDNSProviderCompatibility(fixture).violations().isEmpty)
    }

    @Test("A provider that ends only when canceled passes if the suite permits that")
    func cancelledAlone() async throws {
        let rules = ["a query ends at its time limit", "a batch ends at its time limit"]
        for keepsTimeLimits in [true, false] {
            let found = try await violations(
                keepsTimeLimits: keepsTimeLimits,
                patience: keepsTimeLimits ? .seconds(1) : nil
            ) { inner, query in
                var query = query
                query.timeLimit = .seconds(60)
                return try await inner.resolve(query)
            }
            #expect(found == (keepsTimeLimits ? rules : []))
        }
    }

    @Test("The resolver enforces the time limit of a provider that ignores it")
    func limitOfResolver() async throws {
        struct Sleeper: HTTPDNSProvider {
            let name = "sleeper"
            func resolve(_ query: HTTPDNSProviderQuery) async throws -> HTTPDNSProviderAnswer {
                try await Task.sleep(for: .seconds(600))
                return HTTPDNSProviderAnswer()
            }
        }
        var configuration = HTTPDNSResolver.Configuration()
        configuration.providers = [Sleeper()]
        configuration.routes = [HTTPDNSRoute(.any, .providers(["sleeper"], fallback: .off))]
        configuration.timeLimit = .milliseconds(50)
        let resolver = try HTTPDNSResolver(configuration)
        let error = await #expect(throws: HTTPDNSResolver.Error.self) {
            try await resolver.resolve(HTTPDNSResolver.Query(.name(HTTPDNSName("img.test")), port: 443))
        }
        #expect(error?.code == .timedOut)
        await resolver.shutdown()
    }

    @Test("A provider that ignores cancellation is detected by each rule about time")
    func findsStubborn() async throws {
        let found = try await violations(ignoresCancellation: true)
        #expect(
            found == [
                "a query ends at its time limit", "a canceled query ends with CancellationError",
                "a batch ends at its time limit",
                "a shutdown ends queries, and refuses later ones with code shut-down",
            ]
        )
    }

    @Test("A provider without a name is detected")
    func findsNameless() async throws {
        #expect(try await violations(name: "") == ["it has a name"])
    }

    @Test("A provider that ignores the families is detected")
    func findsFamilies() async throws {
        let found = try await violations { inner, query in
            var query = query
            query.families = .both
            return try await inner.resolve(query)
        }
        #expect(
            found == [
                "only the families asked for have an outcome", "a batch has outcomes only for the families asked for",
            ]
        )
    }

    @Test("A provider that calls an unknown name empty is detected")
    func findsEmptyForUnknown() async throws {
        let unknown = try HTTPDNSName("unknown.test")
        let found = try await violations { inner, query in
            guard query.host == unknown else { return try await inner.resolve(query) }
            return HTTPDNSProviderAnswer(v4: .noData(timeToLive: nil), v6: .noData(timeToLive: nil))
        }
        #expect(found == ["a name that does not exist is a name error"])
    }

    @Test("A provider that loses addresses is detected, alone and under load")
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

    @Test("A provider whose cancellation looks like a failure is detected")
    func findsWrongCancellation() async throws {
        let found = try await violations { inner, query in
            do {
                return try await inner.resolve(query)
            } catch is CancellationError {
                throw HTTPDNSProviderError(code: .unreachable, message: "canceled")
            }
        }
        #expect(found == ["a canceled query ends with CancellationError"])
    }

    @Test("A provider that answers after its shutdown is detected")
    func findsUndead() async throws {
        let dual = try HTTPDNSName("dual.test")
        let addresses = addresses
        let found = try await violations { inner, query in
            if inner.isShutDown, query.host == dual { return .addresses(addresses, timeToLive: .seconds(1)) }
            return try await inner.resolve(query)
        }
        #expect(
            found == [
                "a shutdown ends queries, and refuses later ones with code shut-down",
                "a shutdown refuses later batches with code shut-down",
            ]
        )
    }

    @Test("A provider with batches passes, whatever their size", arguments: [1, 2, 3, 100])
    func passesWithBatches(_ limit: Int) async throws {
        #expect(try await violations(batchLimit: limit, bendBatch: { try await $0.resolve($1, batch: $2) }).isEmpty)
    }

    /// They lose a name, change its answer, or answer about another.
    @Test("The compatibility suite finds providers that mix up the names of a batch")
    func findsBrokenBatches() async throws {
        let stranger = try HTTPDNSName("stranger.test")
        let rule = "a batch answers about its names what single queries do, and about no others"
        let breaks:
            [@Sendable ([HTTPDNSName: HTTPDNSProviderAnswer], [HTTPDNSName]) -> [HTTPDNSName: HTTPDNSProviderAnswer]] =
                [
                    { answers, batch in answers.filter { $0.key != batch.last || batch.count < 3 } },
                    { answers, batch in
                        guard batch.count > 1, let last = batch.last else { return answers }
                        return answers.merging([last: answers[batch[0]] ?? HTTPDNSProviderAnswer()]) { $1 }
                    },
                    { answers, batch in
                        answers.merging(batch.count > 2 ? [stranger: HTTPDNSProviderAnswer()] : [:]) { $1 }
                    },
                ]
        for broken in breaks {
            let found = try await violations(
                batchLimit: 10,
                bendBatch: { broken(try await $0.resolve($1, batch: $2), $2) }
            )
            #expect(found == [rule])
        }
    }

    @Test("A batch that ignores families, time limit or shutdown is detected")
    func findsCarelessBatches() async throws {
        let dual = try HTTPDNSName("dual.test")
        let silent = try HTTPDNSName("silent.test")
        let families = try await violations(
            batchLimit: 10,
            bendBatch: { inner, query, batch in
                var query = query
                query.families = .both
                return try await inner.resolve(query, batch: batch)
            }
        )
        #expect(families == ["a batch has outcomes only for the families asked for"])
        let limit = try await violations(
            batchLimit: 10,
            bendBatch: { inner, query, batch in
                if batch.contains(silent) { return [silent: HTTPDNSProviderAnswer(v4: .nameError(timeToLive: nil))] }
                return try await inner.resolve(query, batch: batch)
            }
        )
        #expect(limit == ["a batch ends at its time limit"])
        let undead = try await violations(
            batchLimit: 10,
            bendBatch: { inner, query, batch in
                if inner.isShutDown { return [dual: HTTPDNSProviderAnswer()] }
                return try await inner.resolve(query, batch: batch)
            }
        )
        #expect(undead == ["a shutdown refuses later batches with code shut-down"])
    }

    @Test("A provider that allows no name in a batch is detected")
    func findsEmptyBatches() async throws {
        struct Empty: HTTPDNSProvider {
            let inner: HTTPDNSScriptedProvider
            var name: String { inner.name }
            var answerScope: HTTPDNSAddressPolicy.Scope { inner.answerScope }
            var batchLimit: Int { 0 }
            func resolve(_ query: HTTPDNSProviderQuery) async throws -> HTTPDNSProviderAnswer {
                try await inner.resolve(query)
            }
            func shutdown() async { await inner.shutdown() }
        }
        let name = try HTTPDNSName("dual.test")
        let fixture = HTTPDNSProviderCompatibility.Fixture(
            dualStackName: name,
            dualStackAddresses: [],
            v4OnlyName: name,
            unknownName: name,
            silentName: name
        ) { Empty(inner: HTTPDNSScriptedProvider()) }
        #expect(
            await HTTPDNSProviderCompatibility(fixture).allowsBatches(Empty(inner: HTTPDNSScriptedProvider())) != nil
        )
        #expect(await HTTPDNSProviderCompatibility(fixture).allowsBatches(HTTPDNSScriptedProvider()) == nil)
    }
}
