// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import Logging
import Testing

/// Keeps the tables of log messages and events true: they are an interface.
struct LogMessagesTests {
    /// A handler that keeps level and message of each line.
    private struct Recorder: LogHandler {
        final class Lines: Sendable {
            let all = Lock<[String]>([])
        }

        let lines: Lines
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { lines.all.withLock { $0.append("\(event.level) \(event.message)") } }
    }

    private func documented(_ table: String) throws -> [(level: String, message: String, codes: [String])] {
        try Document("Docs/Observability.md").rows(ofTable: table).map { row in
            (String(row[0].prefix { $0.isLetter }), Document.codes(in: row[1])[0], Document.codes(in: row[2]))
        }
    }

    /// A message that is not a literal of its call would not be found, so each call must have one. The messages of events are
    /// in a table of `EventLog`.
    @Test("Docs/Observability.md lists each message that is no event, with its level")
    func messages() throws {
        var logged: Set<String> = []
        for path in Document.paths(below: "Sources", suffix: ".swift") where !path.hasSuffix("/EventLog.swift") {
            let text = try Document(path).text
            guard text.contains("import Logging") else { continue }
            let calls = text.matches(of: /logger\??\.(?:trace|debug|info|notice|warning|error|critical|log)\(/)
            let literals = text.matches(of: /logger\??\.([a-z]+)\(\s*"([^"\\]+)"[,)]/)
            #expect(calls.count == literals.count, "\(path): a message is no literal")
            logged.formUnion(literals.map { "\($0.output.1) \($0.output.2)" })
        }
        let rows = try documented("| level | message | metadata |").map { "\($0.level) \($0.message)" }
        #expect(rows.sorted() == logged.sorted())
    }

    @Test("Docs/Observability.md lists each kind of event, with its level and message")
    func events() throws {
        let lines = Recorder.Lines()
        let logger = Logger(label: "test") { _ in Recorder(lines: lines) }
        let observation = ResolverObservation(providers: [], timeSource: SystemTimeSource(), logger: logger)
        let all = HTTPDNSResolver.Event.Kind.all
        for kind in all { observation.tell(kind) }
        let logged = zip(lines.all.withLock { $0 }, all).map { "\($0) \($1)" }
        let rows = try documented("| level | message | event |").map { "\($0.level) \($0.message) \($0.codes[0])" }
        #expect(rows.sorted() == logged.sorted())
        let kinds = try Document("Docs/Observability.md").rows(ofTable: "| event | when |")
        #expect(kinds.flatMap { Document.codes(in: $0[0]) }.sorted() == all.map(\.description).sorted())
    }

    @Test("Docs/Troubleshooting.md has the action for each warning and notice")
    func actions() throws {
        let all = try documented("| level | message | event |") + documented("| level | message | metadata |")
        let urgent = all.filter { $0.level == "warning" || $0.level == "notice" }.map(\.message)
        let rows = try Document("Docs/Troubleshooting.md").rows(ofTable: "| message | meaning and action |")
        #expect(rows.map { Document.codes(in: $0[0])[0] }.sorted() == urgent.sorted())
    }
}
