// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// A listening socket with a name in the file system.
///
/// Only those whom its mode names may ever connect: on Linux a socket's file gets the mode of its descriptor, so the mode is set
/// first (`unix_bind` in the kernel; `umask` can only remove permissions, and applies to the whole process).
package struct SocketFile: Sendable {
    /// The listening socket. It does not block.
    package let descriptor: Int32
    private let path: String
    private let identity: Identity

    /// The identity of the file, independent of its name.
    private struct Identity: Equatable, Sendable {
        var device: UInt64
        var number: UInt64

        init(_ status: stat) {
            device = UInt64(truncatingIfNeeded: status.st_dev)
            number = UInt64(truncatingIfNeeded: status.st_ino)
        }
    }

    /// Creates the socket, and replaces one without a listener.
    /// - Parameters:
    ///   - mode: The permissions of the file.
    ///   - backlog: The number of peers that may wait in the kernel to be accepted.
    package init(path: String, mode: UInt32 = 0o600, backlog: Int32 = 16) throws(SocketFileError) {
        guard let address = UnixSocketAddress(path: path) else {
            throw SocketFileError(
                code: .invalidPath,
                path: path,
                message:
                    "the path \"\(path.escaped(limit: 200))\" is empty, longer than \(UnixSocketAddress.maximumPath) bytes or has a NUL in it",
                hint: "give a short absolute path, such as /run/app/httpdns.sock"
            )
        }
        self.path = path
        // Two processes that start at the same time must not replace each other's socket.
        let turn = try DirectoryLock(for: path)
        defer { turn.end() }
        try SocketFile.clear(path, address)
        do {
            descriptor = try UnixSocketAddress.newSocket(isBlocking: false)
        } catch {
            throw .system("no socket for \(path)", path, error)
        }
        do throws(SystemErrorNumber) {
            guard fchmod(descriptor, mode) == 0 else { throw SystemErrorNumber(errno) }
            try address.bind(descriptor)
            var status = stat()
            guard lstat(path, &status) == 0 else { throw SystemErrorNumber(errno) }
            if status.st_mode & 0o777 != mode {
                // Restores permissions that an umask such as 0277 removed. A link created meanwhile is not followed.
                guard fchmodat(AT_FDCWD, path, mode, AT_SYMLINK_NOFOLLOW) == 0 else {
                    throw SystemErrorNumber(errno)
                }
            }
            identity = Identity(status)
            guard listen(descriptor, backlog) == 0 else { throw SystemErrorNumber(errno) }
        } catch {
            close(descriptor)
            throw .system("cannot listen on \(path)", path, error)
        }
    }

    /// Closes the socket and removes its file, unless another file has that name by now.
    package func remove() {
        let turn = try? DirectoryLock(for: path)
        var status = stat()
        if lstat(path, &status) == 0, Identity(status) == identity { unlink(path) }
        close(descriptor)
        turn?.end()
    }

    /// Removes the file that a killed process left behind.
    private static func clear(_ path: String, _ address: UnixSocketAddress) throws(SocketFileError) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw SocketFileError(
                code: .occupied,
                path: path,
                message: "\(path) exists and is not a socket",
                hint: "move it away, or choose another path"
            )
        }
        guard status.st_uid == geteuid() else {
            throw SocketFileError(
                code: .occupied,
                path: path,
                message: "\(path) is a socket of user \(status.st_uid), and this process runs as \(geteuid())",
                hint: "let that user remove it, or choose another path"
            )
        }
        if let listener = listener(at: address) {
            throw SocketFileError(
                code: .inUse,
                path: path,
                message: "\(listener) listens on \(path) already",
                hint: "end that process first, or give each listener a path of its own"
            )
        }
        unlink(path)
    }

    /// Returns the text for the process that listens at an address; nil for none.
    private static func listener(at address: UnixSocketAddress) -> String? {
        do throws(SystemErrorNumber) {
            let probe = try UnixSocketAddress.newSocket(isBlocking: false)
            defer { close(probe) }
            try address.connect(probe)
            return PeerCredentials(of: probe).map {
                $0.process == getpid() ? "this process" : "process \($0.process)"
            } ?? "a process"
        } catch {
            // EAGAIN means that its queue is full.
            return error.number == ECONNREFUSED || error.number == ENOENT ? nil : "a process"
        }
    }
}

/// An error that prevented a socket's file.
package struct SocketFileError: Error {
    /// The kind of failure.
    package enum Code: String, Sendable {
        case invalidPath = "invalid-path"
        case inUse = "in-use"
        case occupied
        case systemError = "system-error"
    }

    package var code: Code
    /// The path as it was given.
    package var path: String
    package var message: String
    package var hint: String?
}

extension SocketFileError {
    package static func system(_ what: String, _ path: String, _ error: SystemErrorNumber) -> SocketFileError {
        let hints: [Int32: String] = [
            ENOENT: "make its folder first",
            EACCES: "the process needs the right to write to the folder",
            EROFS: "choose a folder that can be written to, such as /run/app",
        ]
        return SocketFileError(
            code: .systemError,
            path: path,
            message: "\(what): \(error)",
            hint: hints[error.number]
        )
    }
}

/// The address of a Unix socket (`unix(7)`): its name in the file system, or in the abstract name space.
package struct UnixSocketAddress: Sendable {
    private var address = sockaddr_un()
    private var length = socklen_t(MemoryLayout<sockaddr_un>.size)

    /// The maximum number of bytes of a path, without the NUL at its end.
    package static let maximumPath = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

    /// - Returns: Nil for a path that is empty, too long, or has a NUL in it.
    package init?(path: String) {
        let bytes = Array(path.utf8)
        guard (1...UnixSocketAddress.maximumPath).contains(bytes.count), !bytes.contains(0) else { return nil }
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    }

    /// - Returns: Nil for a name that is empty, too long, or has a NUL in it.
    package init?(abstractName name: String) {
        guard let named = UnixSocketAddress(path: name) else { return nil }
        self = named
        let bytes = [0] + Array(name.utf8)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        length = socklen_t(MemoryLayout.size(ofValue: address.sun_family) + bytes.count)
    }

    /// - Throws: The number of the system's error.
    private func pass(
        to call: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32,
        _ descriptor: Int32
    ) throws(SystemErrorNumber) {
        let result = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                call(descriptor, $0, length)
            }
        }
        guard result == 0 else { throw SystemErrorNumber(errno) }
    }

    /// Returns a stream socket that child processes do not inherit.
    /// - Throws: The number of the system's error.
    package static func newSocket(isBlocking: Bool) throws(SystemErrorNumber) -> Int32 {
        var type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        if !isBlocking { type |= Int32(SOCK_NONBLOCK.rawValue) }
        let descriptor = socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else { throw SystemErrorNumber(errno) }
        return descriptor
    }

    package func connect(_ descriptor: Int32) throws(SystemErrorNumber) { try pass(to: Glibc.connect, descriptor) }

    package func bind(_ descriptor: Int32) throws(SystemErrorNumber) { try pass(to: Glibc.bind, descriptor) }
}

/// A lock on a folder (`flock(2)`) for changes of its sockets, which one process holds at a time, without a lock file.
struct DirectoryLock {
    private let descriptor: Int32

    /// A holder makes only a few system calls. If the lock is held for longer than a second, the process continues without
    /// it, as on a file system without such locks.
    private static let tries = 50
    private static let pauseMilliseconds: Int32 = 20

    /// - Throws: ``SocketFileError`` when the folder does not exist, or cannot be read.
    init(for path: String) throws(SocketFileError) {
        let name = path.lastIndex(of: "/").map { path[..<$0] }
        let folder = name.map { $0.isEmpty ? "/" : String($0) } ?? "."
        descriptor = open(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY)
        guard descriptor >= 0 else { throw .system("cannot open the folder \(folder)", path, SystemErrorNumber(errno)) }
        var triesLeft = DirectoryLock.tries
        while triesLeft > 0, flock(descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK || errno == EINTR {
            poll(nil, 0, DirectoryLock.pauseMilliseconds)
            triesLeft -= 1
        }
    }

    func end() {
        // A process that this one just forked has the same lock until it runs its program, so closing alone would not free it.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }
}

/// The process at the other end of a Unix socket, as reported by the kernel: `struct ucred` of unix(7), which glibc declares for
/// _GNU_SOURCE only.
package struct PeerCredentials: Hashable, Sendable {
    package let process: Int32
    package let user: UInt32
    package let group: UInt32

    /// - Returns: Nil when the system does not report it.
    package init?(of descriptor: Int32) {
        var credentials: (process: Int32, user: UInt32, group: UInt32) = (0, 0, 0)
        var length = socklen_t(MemoryLayout.size(ofValue: credentials))
        guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0,
            length == MemoryLayout.size(ofValue: credentials)
        else { return nil }
        (process, user, group) = credentials
    }
}

/// The error number of a failed system call.
package struct SystemErrorNumber: Error, Hashable, CustomStringConvertible {
    package let number: Int32

    package init(_ number: Int32) { self.number = number }

    package var description: String { systemErrorText(number) }
}
