internal import Glibc

/// A log that a server is writing.
struct LogFile: Sendable {
    let path: String

    /// The place after the last byte written.
    var end: LogMark {
        var status = stat()
        return LogMark(offset: stat(path, &status) == 0 ? Int(status.st_size) : 0)
    }

    /// The whole lines after `mark`; one that is still being written is left for later.
    func lines(since mark: LogMark) throws -> [Substring] {
        let file = FileDescriptor(try checked("open \(path)", open(path, O_RDONLY | O_CLOEXEC)))
        let bytes = file.contents(from: mark.offset)
        guard let last = bytes.lastIndex(of: UInt8(ascii: "\n")) else { return [] }
        return String(decoding: bytes[..<last], as: UTF8.self).split(separator: "\n")
    }

    /// The end of the log, for error messages.
    func tail(_ count: Int) -> String {
        ((try? lines(since: .beginning)) ?? []).suffix(count).joined(separator: "\n")
    }
}
