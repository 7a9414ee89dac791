// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Logging

/// Counts what a client's stage rewrote, by its trace lines.
final class RewriteCounter: Sendable {
    private let rewritten = Lock<[String]>([])

    /// The hosts rewritten, in order.
    var hosts: [String] { rewritten.withLock { $0 } }

    /// A logger that feeds this counter, and nothing else.
    var logger: Logger {
        var logger = Logger(label: "rewrites") { _ in Handler(counter: self) }
        logger.logLevel = .trace
        return logger
    }

    private struct Handler: LogHandler {
        let counter: RewriteCounter
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            guard event.message == "request rewritten", let host = event.metadata?["host"] else { return }
            counter.rewritten.withLock { $0.append("\(host)") }
        }
    }
}
