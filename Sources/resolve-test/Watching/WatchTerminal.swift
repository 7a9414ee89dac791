// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import Dispatch
internal import Foundation

/// The terminal during `watch`: keys are read one by one without echo, and the table is redrawn in place.
///
/// Used by one task; ``restore()`` restores the terminal.
final class WatchTerminal {
    private let output: StandardStream
    private let saved: termios
    private var keys: (any DispatchSourceRead)?
    private var drawnLines = 0
    private var drawnWidth = 0

    /// - Parameter onKey: Called for each key, on another thread; Ctrl-D counts as `q`.
    /// - Returns: Nil unless input and output are terminals that support cursor movement, and this is their foreground process.
    init?(_ console: Console, onKey: @escaping @Sendable (Character) -> Void) {
        var settings = termios()
        let output = console.standardOutput
        guard console.movesCursor(on: output), tcgetattr(STDIN_FILENO, &settings) == 0,
            // A background process would be stopped when it accesses the terminal.
            tcgetpgrp(STDIN_FILENO) == getpgrp()
        else { return nil }
        self.output = output
        saved = settings
        settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
        // Ctrl-Z would leave the shell a terminal without cursor and echo.
        withUnsafeMutableBytes(of: &settings.c_cc) { characters in
            characters[Int(VSUSP)] = 0
            characters[Int(VMIN)] = 1
            characters[Int(VTIME)] = 0
        }
        tcsetattr(STDIN_FILENO, TCSANOW, &settings)
        keys = Self.keys(onKey)
        output.say("\u{1B}[?25l")
    }

    /// Draws the lines over the previous ones, in one write, so that nothing flickers.
    func draw(_ lines: (_ width: Int, _ height: Int) -> [String]) throws(CommandFailure) {
        let width = output.terminalWidth ?? 80
        // The cursor is below the last line.
        let height = max(2, (output.terminalHeight ?? 24) - 1)
        let lines = lines(width, height).prefix(height)
        // Another width has folded the old lines, and their present number is unknown: begin with an empty screen.
        var text = width == drawnWidth || drawnLines == 0 ? "\r" : "\u{1B}[H\u{1B}[2J"
        if width == drawnWidth, drawnLines > 0 { text += "\u{1B}[\(drawnLines)A" }
        for line in lines { text += line + "\u{1B}[K\n" }
        text += "\u{1B}[J"
        drawnLines = lines.count
        drawnWidth = width
        try output.write(text)
    }

    /// Restores the terminal. Idempotent.
    func restore() {
        guard let keys else { return }
        keys.cancel()
        self.keys = nil
        var settings = saved
        tcsetattr(STDIN_FILENO, TCSANOW, &settings)
        output.say("\u{1B}[?25h")
    }

    private static func keys(_ onKey: @escaping @Sendable (Character) -> Void) -> any DispatchSourceRead {
        let source = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO, queue: .global())
        source.setEventHandler {
            var bytes = [UInt8](repeating: 0, count: 64)
            let count = read(STDIN_FILENO, &bytes, bytes.count)
            guard count > 0 else {
                // The terminal is gone: there are no more keys, and no endless loop over its end.
                if count == 0 || errno != EINTR && errno != EAGAIN { source.cancel() }
                return
            }
            for byte in bytes.prefix(count) { onKey(byte == 0x04 ? "q" : Character(Unicode.Scalar(byte))) }
        }
        source.resume()
        return source
    }
}
#endif
