internal import Foundation

/// Where a command writes, and the environment that it reads.
struct Console: Sendable {
    var standardOutput: StandardStream
    var standardError: StandardStream
    var environment: [String: String]

    /// The process's own.
    static var process: Console {
        Console(
            standardOutput: StandardStream(descriptor: STDOUT_FILENO),
            standardError: StandardStream(descriptor: STDERR_FILENO),
            environment: ProcessInfo.processInfo.environment
        )
    }

    /// The look of reports on one of the streams.
    func screen(for stream: StandardStream) -> Screen {
        Screen(
            width: stream.terminalWidth ?? .max,
            style: Style(terminal: stream.isTerminal, environment: environment)
        )
    }

    /// Whether a stream is a terminal that moves its cursor when it is told to, which `TERM=dumb` is not.
    func movesCursor(on stream: StandardStream) -> Bool { stream.isTerminal && environment["TERM"] != "dumb" }

    /// Remarks that are no errors; with `--json` the object says what there is to say, and standard error stays clean.
    func note(_ notes: [String], unless isJSON: Bool) {
        guard !isJSON else { return }
        for note in notes {
            standardError.say("note: \(PrintableText.line(note))\n")
        }
    }
}
