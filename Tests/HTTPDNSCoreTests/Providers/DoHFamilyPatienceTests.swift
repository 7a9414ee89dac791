// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSMessages
import HTTPDNSPrimitives
import HTTPDNSTesting
import Testing

@testable import HTTPDNSCore

@Suite("One family answers, the other is silent", .timeLimit(.minutes(10)))
struct DoHFamilyPatienceTests {
    /// A service that says nothing about one type of record for as long as someone waits.
    private func provider(silentAbout silent: DNSRecordType, on time: ManualClock) throws -> HTTPDNSDoHProvider {
        let exchange = ScriptedExchange { sent in
            guard sent.question.type == silent else { return .loopback(to: sent) }
            try await ManualClock().sleep(until: MonotonicTime(nanoseconds: .max))
            throw CancellationError()
        }
        var configuration = HTTPDNSDoHProvider.Configuration(name: "doh", url: "https://doh.test/dns-query")
        configuration.bootstrap = [HTTPDNSAddress(v4: 127, 0, 0, 1)]
        configuration.answerScope = .loopback
        return try HTTPDNSDoHProvider(configuration, exchange: exchange, time: time)
    }

    @Test(
        "A silent family is given up soon, and the other family's answer is kept",
        arguments: [.a, .aaaa] as [DNSRecordType]
    )
    func givesUp(silent: DNSRecordType) async throws {
        let time = ManualClock()
        let provider = try provider(silentAbout: silent, on: time)
        let query = HTTPDNSProviderQuery(host: try HTTPDNSName("one.test"), families: .both, timeLimit: .seconds(3))
        async let answer = provider.resolve(query)
        await time.sleepers(atLeast: 1)
        time.advance(by: .milliseconds(500))
        let (missing, found) =
            silent == .a ? (try await answer.v4, try await answer.v6) : (try await answer.v6, try await answer.v4)
        guard case .addresses = found, case .failed(let error) = missing else {
            Issue.record("\(try await answer)")
            return
        }
        #expect(error.code == .timedOut)
    }

    @Test("Through a resolver the addresses arrive long before its time limit")
    func resolves() async throws {
        let time = ManualClock()
        var configuration = HTTPDNSResolver.Configuration()
        configuration.providers = [try provider(silentAbout: .aaaa, on: time)]
        configuration.routes = [HTTPDNSRoute(.any, .providers(["doh"], fallback: .none))]
        configuration.timeSource = time
        let resolver = try HTTPDNSResolver(configuration)
        let host = HTTPDNSHost.name(try HTTPDNSName("one.test"))
        async let resolution = resolver.resolve(HTTPDNSResolver.Query(host, port: 443))
        // The flight's end, the query's limit, and the patience with the silent family.
        await time.sleepers(atLeast: 3)
        time.advance(by: .milliseconds(500))
        #expect(try await resolution.endpoints.map(\.address) == [HTTPDNSAddress(v4: 127, 0, 0, 2)])
        while time.sleeperCount > 0, !Task.isCancelled { await Task.yield() }
    }

    @Test("Without an address the other family is awaited until the time limit")
    func keepsWaiting() async throws {
        let time = ManualClock()
        let gate = Meeting(of: 2)
        let exchange = ScriptedExchange { sent in
            guard sent.question.type == .aaaa else { return .message(to: sent) }
            await gate.arrive()
            return .loopback(to: sent)
        }
        var configuration = HTTPDNSDoHProvider.Configuration(name: "doh", url: "https://doh.test/dns-query")
        configuration.bootstrap = [HTTPDNSAddress(v4: 127, 0, 0, 1)]
        let provider = try HTTPDNSDoHProvider(configuration, exchange: exchange, time: time)
        let query = HTTPDNSProviderQuery(host: try HTTPDNSName("one.test"), families: .both, timeLimit: .seconds(3))
        async let answer = provider.resolve(query)
        time.advance(by: .seconds(2))
        await gate.arrive()
        guard case .addresses = try await answer.v6, case .noData = try await answer.v4 else {
            Issue.record("\(try await answer)")
            return
        }
        #expect(time.sleeperCount == 0)
    }

    @Test("Canceling the wait for a silent family is a cancellation")
    func cancels() async throws {
        let time = ManualClock()
        let provider = try provider(silentAbout: .aaaa, on: time)
        let query = HTTPDNSProviderQuery(host: try HTTPDNSName("one.test"), families: .both, timeLimit: .seconds(3))
        let task = Task { try await provider.resolve(query) }
        await time.sleepers(atLeast: 1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
