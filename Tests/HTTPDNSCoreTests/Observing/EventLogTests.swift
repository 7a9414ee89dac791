// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSPrimitives
import HTTPDNSTesting
import Logging
import Testing

struct EventLogTests {
    /// Keeps the lines that it is told.
    private struct Recorder: LogHandler {
        final class Lines: Sendable {
            let all = Lock<[(level: Logger.Level, message: String, metadata: Logger.Metadata)]>([])
        }

        let lines: Lines
        var metadata: Logger.Metadata = [:]
        var logLevel: Logger.Level

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            lines.all.withLock { $0.append((event.level, "\(event.message)", event.metadata ?? [:])) }
        }
    }

    private let lines = Recorder.Lines()

    private func observation(_ level: Logger.Level) -> ResolverObservation {
        let logger = Logger(label: "test") { [lines] _ in Recorder(lines: lines, logLevel: level) }
        return ResolverObservation(providers: [], timeSource: ManualClock(), logger: logger)
    }

    /// The lines report quarantine, store, reload and switch.
    @Test("At the default level all kinds of events together are six lines")
    func quiet() {
        let observation = observation(.info)
        for kind in HTTPDNSResolver.Event.Kind.all { observation.tell(kind) }
        #expect(lines.all.withLock { $0.map(\.level) } == [.warning, .info, .warning, .info, .warning, .info])
        #expect(!observation.wants(.providerFailed))
    }

    @Test("At trace level every kind of event has a message of its own")
    func messages() {
        let observation = observation(.trace)
        for kind in HTTPDNSResolver.Event.Kind.all { observation.tell(kind) }
        let messages = lines.all.withLock { $0.map(\.message) }
        #expect(Set(messages).count == HTTPDNSResolver.Event.Kind.all.count)
        #expect(!messages.contains("resolver event"))
    }

    @Test("A failing store is logged once for each cause, until it works again")
    func store() {
        let observation = observation(.info)
        for code in ["unwritable", "unwritable", "corrupt", "unwritable"] {
            observation.tell(.storeFailed) { $0.code = code }
        }
        #expect(lines.all.withLock { $0.map(\.metadata["error"]) } == ["unwritable", "corrupt"])
        observation.tell(.snapshotSaved)
        observation.tell(.storeFailed) { $0.code = "unwritable" }
        #expect(lines.all.withLock { $0.count } == 3)
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
        let line = try #require(lines.all.withLock { $0.first })
        #expect(line.level == .debug)
        #expect(
            line.metadata == [
                "host": "img.shop.test", "route": "*.shop.test", "provider": "doh", "addresses": ["203.0.113.8"],
                "previous": ["203.0.113.7"], "elapsed": "12 ms", "message": "a\\nb",
            ]
        )
    }
}
