// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Logging

/// Keeps what is logged at a level and above, warning unless told.
final class LogRecorder: Sendable {
    private struct Handler: LogHandler {
        let recorder: LogRecorder
        var metadata: Logger.Metadata = [:]
        var logLevel: Logger.Level

        init(recorder: LogRecorder, level: Logger.Level) {
            self.recorder = recorder
            logLevel = level
        }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            recorder.lines.withLock {
                $0.append("\(event.message) \(event.metadata.map { "\($0)" } ?? "")")
            }
        }
    }

    private let lines = Lock<[String]>([])

    var warnings: [String] { lines.withLock { $0 } }
    var logger: Logger { logger(.warning) }

    func logger(_ level: Logger.Level) -> Logger {
        Logger(label: "test") { [self] _ in Handler(recorder: self, level: level) }
    }
}
