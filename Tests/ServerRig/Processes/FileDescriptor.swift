// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// A file descriptor that is closed with its last reference, and is never inherited by a child process.
final class FileDescriptor: Sendable {
    let number: Int32

    init(_ number: Int32) { self.number = number }

    deinit { close(number) }

    /// Creates both ends of a connection inside this machine. The reader gets an end of file when the writer is closed.
    static func pipe() throws -> (reading: FileDescriptor, writing: FileDescriptor) {
        // Swift's Glibc has no pipe2; a socket pair does the same and can be created close-on-exec.
        var ends: [Int32] = [0, 0]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        try checked("socketpair", socketpair(AF_UNIX, type, 0, &ends))
        return (FileDescriptor(ends[0]), FileDescriptor(ends[1]))
    }

    /// Creates a file without a name.
    static func unnamedFile() throws -> FileDescriptor {
        let (file, name) = try newFile("output", "")
        unlink(name)
        return file
    }

    /// Creates a new file in the temporary folder.
    static func newFile(_ prefix: String, _ suffix: String) throws -> (file: FileDescriptor, name: String) {
        let name = "/tmp/httpdns-\(prefix).\(getpid()).\(UInt64.random(in: .min ... .max))\(suffix)"
        let file = try checked("open \(name)", open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600))
        return (FileDescriptor(file), name)
    }

    /// Writes a new file, or replaces one.
    static func write(_ text: String, to path: String) throws {
        let file = FileDescriptor(
            try checked("open \(path)", open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644))
        )
        let bytes = Array(text.utf8)
        guard Glibc.write(file.number, bytes, bytes.count) == bytes.count else {
            throw SystemCallError("write \(path)")
        }
    }

    /// Returns the content of a regular file from `offset` on.
    func contents(from offset: Int = 0) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = pread(number, &buffer, buffer.count, offset + bytes.count)
            guard count > 0 else { return bytes }
            bytes += buffer[..<count]
        }
    }
}
