internal import Foundation

/// An open file that output goes to.
struct StandardStream: Sendable {
    let descriptor: Int32

    /// Puts something in the place of standard streams that the caller closed, or the next file or connection would get
    /// their numbers and the output with them. It is opened the wrong way round, so that using it fails as it should.
    static func occupyClosed() {
        for (descriptor, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
        where fcntl(descriptor, F_GETFD) < 0 {
            _ = open("/dev/null", mode)
        }
    }

    /// Whether a person looks at it.
    var isTerminal: Bool { isatty(descriptor) == 1 }

    /// The columns of the terminal; nil when it is none, or does not tell.
    var terminalWidth: Int? { terminalSize.flatMap { $0.ws_col > 0 ? Int($0.ws_col) : nil } }

    /// The lines of the terminal; nil when it is none, or does not tell.
    var terminalHeight: Int? { terminalSize.flatMap { $0.ws_row > 0 ? Int($0.ws_row) : nil } }

    private var terminalSize: winsize? {
        var size = winsize()
        return isTerminal && ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 ? size : nil
    }

    /// Writes text, with the failures of bytes.
    func write(_ text: String) throws(CommandFailure) {
        try write(Array(text.utf8))
    }

    /// Writes text about the run, for standard error: when that is lost, there is nobody left to tell.
    func say(_ text: String) {
        _ = try? write(text)
    }

    /// Writes bytes. A reader that went away ends the program quietly.
    /// - Throws: ``CommandFailure`` for everything else, such as a full disk.
    func write(_ bytes: [UInt8]) throws(CommandFailure) {
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                Foundation.write(descriptor, buffer.baseAddress?.advanced(by: written), buffer.count - written)
            }
            if count >= 0 {
                written += count
            } else if errno == EPIPE {
                Interruption.endAsBrokenPipe()
            } else if errno == EAGAIN {
                // A terminal or pipe that another program made non-blocking.
                var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = Foundation.poll(&poll, 1, -1)
            } else if errno != EINTR {
                throw .failed(code: "output-failed", "cannot write the output: \(SystemError.text(errno))")
            }
        }
    }
}

/// The system's words for an error number.
enum SystemError {
    static func text(_ number: Int32) -> String { String(cString: strerror(number)) }
}
