// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Logging

/// A log whose reader looks around at each line, as one may that asks the client what is going on.
final class WatchedLog: Sendable {
    private struct Handler: LogHandler {
        let log: WatchedLog
        var metadata = Logger.Metadata()
        var logLevel: Logger.Level

        init(_ log: WatchedLog, _ level: Logger.Level) {
            self.log = log
            logLevel = level
        }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            log.all.withLock { $0.append("\(event.message)") }
            log.look.withLock { $0 }?()
        }
    }

    private let all = Lock<[String]>([])
    private let look = Lock<(@Sendable () -> Void)?>(nil)

    var lines: [String] { all.withLock { $0 } }

    func logger(_ level: Logger.Level = .info) -> Logger {
        Logger(label: "test") { [self] _ in Handler(self, level) }
    }

    /// Does this after each line.
    func onLine(_ look: @escaping @Sendable () -> Void) { self.look.withLock { $0 = look } }
}
