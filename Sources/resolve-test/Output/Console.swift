// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import Foundation
internal import Logging

/// The output streams of a command, and its environment.
struct Console: Sendable {
    var standardOutput: StandardStream
    var standardError: StandardStream
    var environment: [String: String]

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
            style: Style(terminal: stream.isTerminal, environment: environment),
            isUnicode: usesUTF8
        )
    }

    /// Whether the locale's charset is UTF-8, by the variables of POSIX in their order.
    private var usesUTF8: Bool {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty } ?? ""
        return ["utf-8", "utf8"].contains { locale.lowercased().hasSuffix($0) }
    }

    /// Returns whether a stream is a terminal that supports cursor movement; with `TERM=dumb` it does not.
    func movesCursor(on stream: StandardStream) -> Bool { stream.isTerminal && environment["TERM"] != "dumb" }

    /// Writes a report to standard output: as JSON, or as text for its screen.
    func write(_ output: OutputOptions, json: @autoclosure () throws -> String, text: (Screen) -> String) throws {
        try standardOutput.write(output.isJSON ? json() : text(screen(for: standardOutput)))
    }

    /// Prints remarks that are no errors. With `--json` the object has all of the content, and standard error stays clean.
    func note(_ notes: [String], unless isJSON: Bool) {
        guard !isJSON else { return }
        for note in notes {
            standardError.say("note: \(PrintableText.line(note))\n")
        }
    }
}

/// An open file for output.
struct StandardStream: Sendable {
    let descriptor: Int32

    /// Opens something for standard streams that the caller closed. Otherwise the next file or connection would get their
    /// numbers, and the output with them.
    ///
    /// It is opened for the opposite direction, so that using it fails as it should.
    static func occupyClosed() {
        for (descriptor, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
        where fcntl(descriptor, F_GETFD) < 0 {
            _ = open("/dev/null", mode)
        }
    }

    var isTerminal: Bool { isatty(descriptor) == 1 }

    /// The columns of the terminal; nil when it is none, or does not report them.
    var terminalWidth: Int? { terminalSize.flatMap { $0.ws_col > 0 ? Int($0.ws_col) : nil } }

    /// The lines of the terminal; nil when it is none, or does not report them.
    var terminalHeight: Int? { terminalSize.flatMap { $0.ws_row > 0 ? Int($0.ws_row) : nil } }

    private var terminalSize: winsize? {
        var size = winsize()
        return isTerminal && ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 ? size : nil
    }

    /// Writes text, with the same errors as for bytes. A terminal gets no bytes that are not UTF-8: it might obey them.
    func write(_ text: String) throws(CommandFailure) {
        let bytes = RawText.bytes(text)
        try write(RawText.isRaw(text) && isTerminal ? Array(String(decoding: bytes, as: UTF8.self).utf8) : bytes)
    }

    /// Writes text about the run to standard error; failures are ignored, because there is no other output for them.
    func say(_ text: String) {
        _ = try? write(text)
    }

    /// Writes bytes. If the reader has gone, the program ends silently.
    /// - Throws: ``CommandFailure`` for all other errors, such as a full disk.
    func write(_ bytes: [UInt8]) throws(CommandFailure) {
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                Foundation.write(descriptor, buffer.baseAddress?.advanced(by: written), buffer.count - written)
            }
            if count >= 0 {
                written += count
            } else if errno == EPIPE, !Interruption.ignoredAtStart.contains(SIGPIPE) {
                Interruption.endAsBrokenPipe()
            } else if errno == EAGAIN {
                // A terminal or pipe that another program made non-blocking.
                var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = Foundation.poll(&poll, 1, -1)
            } else if errno != EINTR {
                throw .outputFailed("cannot write the output: \(SystemError.text(errno))")
            }
        }
    }
}

enum SystemError {
    static func text(_ number: Int32) -> String { String(cString: strerror(number)) }
}

extension Logger {
    /// Returns a logger for standard error.
    static func standardError(_ label: String, _ level: Logger.Level) -> Logger {
        var logger = Logger(label: label) { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = level
        return logger
    }
}
#endif
