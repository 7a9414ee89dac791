// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if YAML
import Logging
import ServerRig

/// What a client has logged of its file: counted, and awaited line by line.
final class StormLog: Sendable {
    enum Line: Hashable, Sendable {
        case reloaded
        case warning(String)
        case recovered

        fileprivate init?(_ event: LogEvent) {
            let message = event.message.description
            if event.level == .warning, message.hasPrefix("configuration file") {
                self = .warning(event.metadata?["error"]?.description ?? message)
            } else if message == "configuration file reloaded" {
                self = .reloaded
            } else if message == "configuration file in use again" {
                self = .recovered
            } else {
                return nil
            }
        }
    }

    private let log = RecordedLog()
    private let lines: AsyncStream<Line>

    init() {
        let (lines, continuation) = AsyncStream.makeStream(of: Line.self)
        self.lines = lines
        log.onEvent { event in
            if let line = Line(event) { continuation.yield(line) }
        }
    }

    var all: [Line] { log.events.compactMap(Line.init) }

    var warnings: [String] {
        all.compactMap { line in
            guard case .warning(let cause) = line else { return nil }
            return cause
        }
    }

    var logger: Logger { log.logger(.debug) }

    /// Waits for a line that was not waited for before; those before it are passed over. For one task at a time.
    func await(_ matches: (Line) -> Bool) async {
        for await line in lines where matches(line) { return }
    }

}
#endif
