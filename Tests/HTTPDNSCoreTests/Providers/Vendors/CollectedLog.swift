// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Logging

/// What was logged, a line for each event with all of its metadata.
final class CollectedLog: Sendable {
    private let all = Lock<[String]>([])

    var lines: [String] { all.withLock { $0 } }

    /// A logger for events of a level and above.
    func logger(_ level: Logger.Level) -> Logger {
        Logger(label: "test") { _ in Handler(log: self, logLevel: level) }
    }

    private struct Handler: LogHandler {
        let log: CollectedLog
        var metadata: Logger.Metadata = [:]
        var logLevel: Logger.Level

        init(log: CollectedLog, logLevel: Logger.Level) {
            self.log = log
            self.logLevel = logLevel
        }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            log.all.withLock { $0.append("\(event.message) \(event.metadata ?? [:])") }
        }
    }
}
