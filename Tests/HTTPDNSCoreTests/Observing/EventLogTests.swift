// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSTesting
import Logging
import ServerRig
import Testing

struct EventLogTests {
    private let log = RecordedLog()

    private func observation(_ level: Logger.Level) -> ResolverObservation {
        ResolverObservation(providers: [], timeSource: HTTPDNSManualClock(), logger: log.logger(level))
    }

    /// The lines report quarantine, store, reload and switch.
    @Test("At the default level all kinds of events together are six lines")
    func quiet() {
        let observation = observation(.info)
        for kind in HTTPDNSResolver.Event.Kind.all { observation.tell(kind) }
        #expect(log.events.map(\.level) == [.warning, .info, .warning, .info, .warning, .info])
        #expect(!observation.wants(.providerFailed))
    }

    @Test("At trace level every kind of event has a message of its own")
    func messages() {
        let observation = observation(.trace)
        for kind in HTTPDNSResolver.Event.Kind.all { observation.tell(kind) }
        let messages = log.messages
        #expect(Set(messages).count == HTTPDNSResolver.Event.Kind.all.count)
        #expect(!messages.contains("resolver event"))
    }

    @Test("A failing store is logged once for each cause, until it works again")
    func store() {
        let observation = observation(.info)
        for code in ["unwritable", "unwritable", "corrupt", "unwritable"] {
            observation.tell(.storeFailed) { $0.code = code }
        }
        #expect(log.events.map(\.metadata?["error"]) == ["unwritable", "corrupt"])
        observation.tell(.snapshotSaved)
        observation.tell(.storeFailed) { $0.code = "unwritable" }
        #expect(log.events.count == 3)
    }

    @Test("An unknown top-level domain that keeps names from a route is logged once")
    func unknownDomain() async throws {
        var configuration = HTTPDNSResolver.Configuration()
        configuration.logger = log.logger(.info)
        configuration.providers = [HTTPDNSScriptedProvider()]
        configuration.routes = [
            HTTPDNSRoute(.any, .providers(["scripted"], fallback: .off)),
            HTTPDNSRoute(try .init("*.own"), .providers(["scripted"], fallback: .off)),
        ]
        let resolver = try HTTPDNSResolver(configuration, systemResolver: ScriptedSystemResolver([:]))
        for name in ["a.newdomain", "b.x.newdomain", "c.lan", "d.test", "e.own", "single", "f.internal"] {
            _ = try? await resolver.resolve(HTTPDNSResolver.Query(.name(HTTPDNSName(name)), port: 443))
        }
        #expect(log.events.compactMap { $0.metadata?["domain"] } == ["newdomain", "lan"])
        await resolver.shutdown()
    }

    @Test("A log line has the event's details as metadata, and untrusted text on one line")
    func metadata() throws {
        let observation = observation(.debug)
        let host = try HTTPDNSName("img.shop.test")
        observation.tell(.changed) { event in
            event.host = host
            event.route = "*.shop.test"
            event.provider = "doh"
            event.addresses = [HTTPDNSAddress(v4: 203, 0, 113, 8)]
            event.previousAddresses = [HTTPDNSAddress(v4: 203, 0, 113, 7)]
            event.elapsed = .milliseconds(12)
            event.message = "a\nb"
        }
        let line = try #require(log.events.first)
        #expect(line.level == .debug)
        #expect(
            line.metadata == [
                "host": "img.shop.test", "route": "*.shop.test", "provider": "doh", "addresses": ["203.0.113.8"],
                "previous": ["203.0.113.7"], "elapsed": "12 ms", "message": "a\\nb",
            ]
        )
    }
}
