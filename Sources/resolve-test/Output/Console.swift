internal import Foundation

/// The output streams of a command, and its environment.
struct Console: Sendable {
    var standardOutput: StandardStream
    var standardError: StandardStream
    var environment: [String: String]

    /// The console of the process.
    static var process: Console {
        Console(
            standardOutput: StandardStream(descriptor: STDOUT_FILENO),
            standardError: StandardStream(descriptor: STDERR_FILENO),
            environment: ProcessInfo.processInfo.environment
        )
    }

    /// Returns the properties of one of the streams for reports.
    func screen(for stream: StandardStream) -> Screen {
        Screen(
            width: stream.terminalWidth ?? .max,
            style: Style(terminal: stream.isTerminal, environment: environment)
        )
    }

    /// Returns whether a stream is a terminal that supports cursor movement; with `TERM=dumb` it does not.
    func movesCursor(on stream: StandardStream) -> Bool { stream.isTerminal && environment["TERM"] != "dumb" }

    /// Prints remarks that are no errors. With `--json` the object has all of the content, and standard error stays clean.
    func note(_ notes: [String], unless isJSON: Bool) {
        guard !isJSON else { return }
        for note in notes {
            standardError.say("note: \(PrintableText.line(note))\n")
        }
    }
}
