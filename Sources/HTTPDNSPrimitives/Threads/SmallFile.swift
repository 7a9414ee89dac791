// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// Small files that are read whole: secrets, certificates, keys, authorities.
///
/// The calls block during the disk access: they belong on a thread of ``SharedRead``.
package enum SmallFile {
    /// The reason why a file could not be read, without any of its content.
    package struct Unreadable: Error, Hashable, Sendable {
        package let reason: String

        package init(reason: String) { self.reason = reason }
    }

    /// The time, in milliseconds, that a pipe's writer may take between two pieces. A thread that waits for a writer without a
    /// limit would never read the file that takes the pipe's place.
    private static let patience: Int32 = 30_000

    /// Returns the bytes of a file.
    /// - Parameters:
    ///   - maximum: The maximum size in bytes.
    ///   - isSecret: Whether a regular file that others may read or write is refused.
    package static func read(
        _ path: String,
        maximum: Int,
        isSecret: Bool = false
    ) throws(Unreadable) -> [UInt8] {
        // Opening a pipe without a writer would block.
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Unreadable(reason: systemErrorText(errno)) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw Unreadable(reason: systemErrorText(errno)) }
        let isRegular = status.st_mode & S_IFMT == S_IFREG
        if isSecret, isRegular, status.st_mode & (S_IWGRP | S_IRWXO) != 0 {
            let mode = String(status.st_mode & 0o777, radix: 8)
            throw Unreadable(reason: "its mode is \(mode), which lets others at it; chmod 600 it, or 640 for one group")
        }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: min(maximum + 1, 64 * 1024))
        while bytes.count <= maximum {
            if !isRegular { try awaitWriter(of: descriptor) }
            let count = chunk.withUnsafeMutableBytes { systemRead(descriptor, $0) }
            if count < 0, errno == EINTR || errno == EAGAIN { continue }
            guard count >= 0 else { throw Unreadable(reason: systemErrorText(errno)) }
            guard count > 0 else { return bytes }
            bytes += chunk[..<count]
        }
        throw Unreadable(reason: "it has more than \(maximum) bytes")
    }

    private static func awaitWriter(of descriptor: Int32) throws(Unreadable) {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        let result = poll(&entry, 1, patience)
        guard result != 0 else { throw Unreadable(reason: "it is a pipe, and nothing was written to it for 30 s") }
    }
}

/// Returns the system's text for an error number.
package func systemErrorText(_ number: Int32) -> String {
    String(cString: strerror(number))
}

/// Calls the system's `read`: the functions above hide its own name.
private func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
    read(descriptor, buffer.baseAddress, buffer.count)
}
