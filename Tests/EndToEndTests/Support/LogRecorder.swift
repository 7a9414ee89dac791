import HTTPDNSPrimitives
import Logging

/// Keeps what is logged at level warning and above.
final class LogRecorder: Sendable {
    private struct Handler: LogHandler {
        let recorder: LogRecorder
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.warning

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
    var logger: Logger { Logger(label: "test") { [self] _ in Handler(recorder: self) } }
}
