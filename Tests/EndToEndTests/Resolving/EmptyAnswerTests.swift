// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSTesting
import ServerRig
import Testing

/// A provider that says of every name that it has no addresses, before one that knows better, under requests.
@Suite(
    "Empty answers and a second opinion",
    .enabled(if: ServerRig.isAvailable([.nginx, .bind])),
    .enabled("needs its process for itself: HTTPDNS_TEST_ALONE=1") { ServerRig.hasProcessForItself }
)
struct EmptyAnswerTests {
    @Test("No request of a minute fails while one of two providers gives empty answers")
    func minute() async throws {
        let rig = try await ServerRig.shared()
        let name = "empty.wild.test"
        // At first BIND has no address either.
        try await rig.setRecords(name, type: "TXT", ["none"])
        // The message without its address: 16 bytes less, no error, no answer.
        var message = Array(DNSReply(host: name, address: [127, 0, 0, 2]).message.dropLast(16))
        message[7] = 0
        let empty = try RawServer(.repeatForever([.readHead, .send(DNSReply.http(message))]))
        defer { empty.stop() }

        let clock = HTTPDNSManualClock()
        var configuration = try rig.settings()
        configuration.resolver.timeSource = clock
        configuration.resolver.families = .v4
        // A refresh in the background would see the clock advance while BIND answers, and give BIND up.
        configuration.resolver.cache.refreshesAhead = false
        configuration.resolver.providers.append(
            try HTTPDNSDoHProvider(.init(name: "empty", url: "http://127.0.0.1:\(empty.port)/dns-query"))
        )
        configuration.resolver.routes = [HTTPDNSRoute(.any, .providers(["empty", "bind"], fallback: .off))]
        configuration.resolver.routes[0].wantsSecondOpinion = true
        try await withClient(configuration) { client in
            // Both agree, so that the word of the first one would be final where no second opinion is wanted.
            let error = try await refusal { _ = try await client.resolve(name) }
            #expect(error.message.contains("no IPv4 address"), "\(error)")
            try await rig.setRecords(name, timeToLive: 2, ["127.0.0.2"])
            clock.advance(by: .seconds(3600))
            let url = "https://\(name):\(rig.tlsPort)/health"
            for _ in 0..<120 {
                try await concurrently(4) { _ in
                    do {
                        let response = try await client.get(url)
                        try await response.text()
                        let provider = response.exchanges.last?.request.resolution.provider
                        #expect(response.status == .ok && provider == "bind")
                    } catch {
                        Issue.record(error, "\(client.resolver.counters.providers)")
                    }
                }
                clock.advance(by: .milliseconds(500))
            }
            let counters = client.resolver.counters
            // It was asked all the time, and never believed.
            #expect(counters.providers["empty"]?.negatives ?? 0 >= 20, "\(counters.providers)")
            #expect(counters.providers["bind"]?.answers ?? 0 >= 20, "\(counters.providers)")
            #expect(counters.negativeHits == 0 && counters.staleServed == 0)
        }
        try await rig.removeRecords(name)
    }
}
