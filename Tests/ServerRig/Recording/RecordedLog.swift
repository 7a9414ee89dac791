// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
package import Logging

/// A log that keeps its events.
package final class RecordedLog: Sendable {
    private struct Handler: LogHandler {
        let log: RecordedLog
        var metadata: Logger.Metadata = [:]
        var logLevel: Logger.Level

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            log.kept.withLock { $0.append(event) }
            log.action.withLock { $0 }.run?(event)
        }
    }

    private struct Action {
        var run: (@Sendable (LogEvent) -> Void)?
    }

    private let kept = Lock<[LogEvent]>([])
    private let action = Lock(Action())

    package init() {}

    /// The events, in order.
    package var events: [LogEvent] { kept.withLock { $0 } }

    /// The messages, in order.
    package var messages: [String] { events.map { "\($0.message)" } }

    /// The messages with all of their metadata, in order.
    package var lines: [String] { events.map { "\($0.message) \($0.metadata ?? [:])" } }

    /// Returns a logger for events of a level and above.
    package func logger(_ level: Logger.Level = .trace) -> Logger {
        Logger(label: "test") { [self] _ in Handler(log: self, logLevel: level) }
    }

    /// Runs `action` after each event from now on, on the thread that logged it.
    package func onEvent(_ action: @escaping @Sendable (LogEvent) -> Void) { self.action.withLock { $0.run = action } }
}
