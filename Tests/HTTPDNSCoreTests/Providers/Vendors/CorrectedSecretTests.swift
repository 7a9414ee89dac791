// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSTesting
import Testing

@testable import HTTPDNSCore
@testable import HTTPDNSVendors

final class CorrectedSecretTests: Sendable {
    private struct Missing: Error {}

    /// The state of the secret.
    private enum Word: Sendable, CaseIterable {
        case good, missing, refused
    }

    private let word = Lock(Word.good)
    private let time = HTTPDNSManualClock()

    private func scripted() throws -> ScriptedTencent {
        let secret = HTTPDNSSecret { [self] in
            switch word.withLock({ $0 }) {
            case .good: return "good"
            case .refused: return "bad"
            case .missing: throw Missing()
            }
        }
        return try ScriptedTencent(secret: secret, settings: { $0.accountRefusalStatuses = [418] }) { sent in
            sent.parameters["token"] == "good"
                ? sent.reply("\(sent.parameters["dn"]?.prefix { $0 != ";" } ?? "").:203.0.113.7,60-0|203.0.113.7")
                : sent.reply("", status: 418)
        }
    }

    private func resolver(_ scripted: ScriptedTencent, _ fallback: HTTPDNSRoute.Fallback) throws -> HTTPDNSResolver {
        var settings = HTTPDNSResolver.Configuration()
        settings.providers = [scripted.provider]
        settings.routes = [HTTPDNSRoute(.any, .providers(["tencent"], fallback: fallback))]
        settings.timeSource = time
        return try HTTPDNSResolver(settings, systemResolver: ScriptedSystemResolver())
    }

    private func question(_ name: String = "www.example.com") throws -> HTTPDNSResolver.Query {
        HTTPDNSResolver.Query(.name(try HTTPDNSName(name)), port: 443)
    }

    @Test(
        "After a correction the next lookup asks immediately, even for a failed name",
        arguments: [true, false]
    )
    func corrected(isMissing: Bool) async throws {
        let scripted = try scripted()
        let resolver = try resolver(scripted, .off)
        word.withLock { $0 = isMissing ? .missing : .refused }
        for _ in 0..<3 {
            let error = await #expect(throws: HTTPDNSResolver.Error.self) { try await resolver.resolve(question()) }
            #expect(error?.code == .providersFailed)
        }
        #expect(scripted.exchange.sent.count == (isMissing ? 0 : 1))
        word.withLock { $0 = .good }
        #expect(try await resolver.resolve(question()).source == .provider)
        #expect(try await resolver.resolve(question("other.example.com")).source == .provider)
        await resolver.shutdown()
    }

    @Test("A stale answer serves meanwhile, and the pauses between the tries are kept")
    func stale() async throws {
        let scripted = try scripted()
        let resolver = try resolver(scripted, .off)
        _ = try await resolver.resolve(question())
        time.advance(by: .seconds(61))
        word.withLock { $0 = .missing }
        for _ in 0..<3 { #expect(try await resolver.resolve(question()).isStale) }
        #expect(resolver.counters.providers["tencent"]?.failures[.notConfigured] == 1)
        await resolver.shutdown()
    }
}
