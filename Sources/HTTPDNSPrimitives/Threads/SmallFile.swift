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
        /// The system's error number; 0 for other reasons.
        package let number: Int32
        /// Whether it has more bytes than allowed.
        package let isTooLarge: Bool

        package init(reason: String) { (self.reason, number, isTooLarge) = (reason, 0, false) }

        fileprivate init(maximum: Int) {
            (reason, number, isTooLarge) = ("it has more than \(maximum) bytes", 0, true)
        }

        /// - Parameter number: The system's error number.
        package init(_ number: Int32) {
            (reason, self.number, isTooLarge) = (systemErrorText(number), number, false)
        }
    }

    /// The time that a pipe's writer may take between two pieces. A thread that waits for a writer without a limit would never
    /// read the file that takes the pipe's place.
    package static let patience: Duration = .seconds(30)

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
        guard descriptor >= 0 else { throw Unreadable(errno) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw Unreadable(errno) }
        let isRegular = status.st_mode & S_IFMT == S_IFREG
        if isSecret, isRegular, status.st_mode & (S_IWGRP | S_IRWXO) != 0 {
            let mode = String(status.st_mode & 0o777, radix: 8)
            throw Unreadable(reason: "its mode is \(mode), which lets others at it; chmod 600 it, or 640 for one group")
        }
        return try content(of: descriptor, isRegular: isRegular, maximum: maximum)
    }

    /// Returns the bytes of an open file.
    /// - Parameter descriptor: A descriptor with `O_NONBLOCK`, or a read from a pipe could block.
    package static func content(
        of descriptor: Int32,
        isRegular: Bool,
        maximum: Int,
        patience: Duration = patience
    ) throws(Unreadable) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: min(maximum + 1, 64 * 1024))
        var mayHaveNoWriter = !isRegular
        while bytes.count <= maximum {
            let count = chunk.withUnsafeMutableBytes { systemRead(descriptor, $0) }
            if count < 0, errno == EINTR { continue }
            // A pipe ends at once while nobody has opened it for writing. What it holds is read first: poll(2) does not tell the
            // end of a pipe whose writer had left before it was opened here.
            if count < 0 && errno == EAGAIN || count == 0 && mayHaveNoWriter {
                try awaitWriter(of: descriptor, within: patience)
                mayHaveNoWriter = false
                continue
            }
            guard count >= 0 else { throw Unreadable(errno) }
            guard count > 0 else { return bytes }
            mayHaveNoWriter = false
            bytes += chunk[..<count]
        }
        throw Unreadable(maximum: maximum)
    }

    private static func awaitWriter(of descriptor: Int32, within patience: Duration) throws(Unreadable) {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        let result = poll(&entry, 1, Int32(clamping: patience.wholeNanoseconds / 1_000_000))
        guard result != 0 else {
            throw Unreadable(reason: "it is a pipe, and nothing was written to it for \(patience.shortText)")
        }
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
