// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// A log that a server is writing.
struct LogFile: Sendable {
    let path: String

    /// The position after the last written byte.
    var end: LogMark {
        var status = stat()
        return LogMark(offset: stat(path, &status) == 0 ? Int(status.st_size) : 0)
    }

    /// Returns the whole lines that began after `mark`; an incomplete one is left for later.
    func lines(since mark: LogMark) throws -> [Substring] {
        let file = FileDescriptor(try checked("open \(path)", open(path, O_RDONLY | O_CLOEXEC)))
        let newline = UInt8(ascii: "\n")
        // The byte before the mark ends a line, unless the mark was taken during the writing of a line.
        let bytes = file.contents(from: max(0, mark.offset - 1))
        guard let last = bytes.lastIndex(of: newline) else { return [] }
        let first = mark.offset == 0 ? 0 : bytes.firstIndex(of: newline) ?? last
        return String(decoding: bytes[first..<last], as: UTF8.self).split(separator: "\n")
    }

    /// Returns the end of the log, for error messages.
    func tail(_ count: Int) -> String {
        ((try? lines(since: .beginning)) ?? []).suffix(count).joined(separator: "\n")
    }
}
