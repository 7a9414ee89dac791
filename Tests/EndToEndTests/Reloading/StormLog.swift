// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if YAML
import HTTPDNSPrimitives
import Logging

/// What a client has logged of its file: counted, and awaited line by line.
final class StormLog: Sendable {
    enum Line: Hashable, Sendable {
        case reloaded
        case warning(String)
        case recovered
    }

    private let seen = Lock<[Line]>([])
    private let lines: AsyncStream<Line>
    private let continuation: AsyncStream<Line>.Continuation

    init() { (lines, continuation) = AsyncStream.makeStream(of: Line.self) }

    var all: [Line] { seen.withLock { $0 } }

    var warnings: [String] {
        all.compactMap { line in
            guard case .warning(let cause) = line else { return nil }
            return cause
        }
    }

    var logger: Logger {
        var logger = Logger(label: "storm") { _ in Handler(log: self) }
        logger.logLevel = .debug
        return logger
    }

    /// Waits for a line that was not waited for before; those before it are passed over. For one task at a time.
    func await(_ matches: (Line) -> Bool) async {
        for await line in lines where matches(line) { return }
    }

    private func note(_ event: LogEvent) {
        let message = event.message.description
        let line: Line
        if event.level == .warning, message.hasPrefix("configuration file") {
            line = .warning(event.metadata?["error"]?.description ?? message)
        } else if message == "configuration file reloaded" {
            line = .reloaded
        } else if message == "configuration file in use again" {
            line = .recovered
        } else {
            return
        }
        seen.withLock { $0.append(line) }
        continuation.yield(line)
    }

    private struct Handler: LogHandler {
        let log: StormLog
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.debug
        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }
        func log(event: LogEvent) { log.note(event) }
    }
}
#endif
