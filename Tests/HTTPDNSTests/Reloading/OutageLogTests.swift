// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSTesting
import Logging
import ServerRig
import Testing

@testable import HTTPDNS

struct OutageLogTests {
    private static let names = (0..<8).map { "n\($0).test" }

    /// What an operator must see of a provider that fails and answers again, at info level and above.
    private static let expected = ["provider is backing off after failures", "provider answers again"]

    private static func answer() -> HTTPDNSScriptedProvider.Script {
        .answer(.addresses([HTTPDNSAddress(v4: 127, 0, 0, 1)], timeToLive: .seconds(30)))
    }

    @Test("The client's logger alone reports a provider's outage, and its end", arguments: [false, true])
    func outage(isReloaded: Bool) async throws {
        let server = try RawServer(.serve("ok"))
        let clock = HTTPDNSManualClock()
        let provider = HTTPDNSScriptedProvider(answerScope: .loopback, clock: clock)
        let log = RecordedLog()
        var configuration = HTTPDNSClient.Configuration()
        configuration.logger = log.logger(.info)
        configuration.resolver.timeSource = clock
        configuration.resolver.providers = [provider]
        configuration.resolver.routes = [HTTPDNSRoute(.any, .providers(["scripted"], fallback: .off))]
        let client = try await HTTPDNSClient(configuration: configuration)
        if isReloaded {
            configuration.timeouts.total = .seconds(50)
            #expect(try await client.reload(configuration).needsRestart.isEmpty)
        }
        func ask() async throws -> Int {
            var successes = 0
            for name in Self.names where (try? await client.get("http://\(name):\(server.port)/")) != nil {
                successes += 1
            }
            return successes
        }
        for name in Self.names { provider.answer(Self.answer(), for: try HTTPDNSName(name)) }
        #expect(try await ask() == Self.names.count)
        #expect(log.messages.filter(Self.expected.contains).isEmpty)
        for name in Self.names {
            provider.answer(
                .failure(HTTPDNSProviderError(code: .unreachable, message: "out")),
                for: try HTTPDNSName(name)
            )
        }
        clock.advance(by: .seconds(31))
        // Stale answers serve, and the failures behind them are the operator's to hear of.
        #expect(try await ask() == Self.names.count)
        for name in Self.names { provider.answer(Self.answer(), for: try HTTPDNSName(name)) }
        clock.advance(by: .seconds(120))
        #expect(try await ask() == Self.names.count)
        clock.advance(by: .seconds(31))
        #expect(try await ask() == Self.names.count)
        try await client.shutdown()
        #expect(log.messages.filter(Self.expected.contains) == Self.expected)
    }
}
