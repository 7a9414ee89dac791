// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSMessages
import HTTPDNSTesting
import Testing

@testable import HTTPDNSCore

struct DoHFamilyPatienceTests {
    /// A service that says nothing about one type of record for as long as someone waits.
    private func provider(silentAbout silent: DNSRecordType, on time: HTTPDNSManualClock) throws -> HTTPDNSDoHProvider {
        let exchange = ScriptedExchange { sent in
            guard sent.question.type == silent else { return .loopback(to: sent) }
            try await HTTPDNSManualClock().sleep(until: MonotonicTime(nanoseconds: .max))
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
        let time = HTTPDNSManualClock()
        let provider = try provider(silentAbout: silent, on: time)
        let query = HTTPDNSProviderQuery(host: try HTTPDNSName("one.test"), families: .both, timeLimit: .seconds(3))
        async let answer = provider.resolve(query)
        await time.sleepers(atLeast: 1)
        time.advance(by: .milliseconds(50))
        let (missing, found) =
            silent == .a ? (try await answer.v4, try await answer.v6) : (try await answer.v6, try await answer.v4)
        guard case .addresses = found, case .failed(let error) = missing else {
            Issue.record("\(try await answer)")
            return
        }
        #expect(error.code == .timedOut)
    }

    /// The late family is asked for once more, without a request that waits for it. The request can get it afterwards.
    @Test(
        "A late family delays no request, and the cache has it as soon as it is there",
        arguments: [.a, .aaaa] as [DNSRecordType]
    )
    func resolves(late: DNSRecordType) async throws {
        let time = HTTPDNSManualClock()
        let asked = Lock(0)
        // A query that the patience ends before it is sent would not be the first one of its type.
        let lateIsSent = Meeting(of: 2)
        let exchange = ScriptedExchange { sent in
            guard sent.question.type == late, asked.withLock({ count in (count, count += 1).0 }) == 0 else {
                return .loopback(to: sent)
            }
            await lateIsSent.arrive()
            try await HTTPDNSManualClock().sleep(until: MonotonicTime(nanoseconds: .max))
            throw CancellationError()
        }
        var service = HTTPDNSDoHProvider.Configuration(name: "doh", url: "https://doh.test/dns-query")
        service.bootstrap = [HTTPDNSAddress(v4: 127, 0, 0, 1)]
        service.answerScope = .loopback
        var configuration = HTTPDNSResolver.Configuration()
        configuration.providers = [try HTTPDNSDoHProvider(service, exchange: exchange, time: time)]
        configuration.routes = [HTTPDNSRoute(.any, .providers(["doh"], fallback: .off))]
        configuration.timeSource = time
        configuration.hasIPv6Route = { true }
        let resolver = try HTTPDNSResolver(configuration)
        var listener = resolver.listener
        let query = HTTPDNSResolver.Query(.name(try HTTPDNSName("one.test")), port: 443)
        async let resolution = resolver.resolve(query)
        await lateIsSent.arrive()
        // The request's deadline, the query's limit, and the patience with the silent family.
        await time.sleepers(atLeast: 3)
        time.advance(by: .milliseconds(50))
        let first = try await resolution
        #expect(first.endpoints.map(\.address.family) == [late == .a ? .v6 : .v4])
        #expect(first.awaitsFamily)
        #expect(await resolver.completedResolution(for: query)?.endpoints.count == 2)
        await listener.wait(for: .refreshed)
        #expect(try resolver.cached(query)?.endpoints.count == 2)
        #expect(exchange.sent.count == 3)
    }

    @Test("Without an address the other family is awaited until the time limit")
    func keepsWaiting() async throws {
        let time = HTTPDNSManualClock()
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
        let time = HTTPDNSManualClock()
        let provider = try provider(silentAbout: .aaaa, on: time)
        let query = HTTPDNSProviderQuery(host: try HTTPDNSName("one.test"), families: .both, timeLimit: .seconds(3))
        let task = Task { try await provider.resolve(query) }
        await time.sleepers(atLeast: 1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
