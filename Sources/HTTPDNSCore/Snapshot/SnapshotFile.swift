// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNSPrimitives

/// The path of a snapshot, and its file system errors. All calls block.
struct SnapshotFile: Sendable {
    /// The path as the user gave it.
    let path: String
    /// The folder of the file; the working directory is `.`.
    let folder: String
    /// The name in that folder.
    let name: String
    /// The user that the file must belong to.
    let user: uid_t

    init(path: String, user: uid_t = geteuid()) {
        self.path = path
        self.user = user
        if let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) {
            folder = slash == path.startIndex ? "/" : String(path[..<slash])
            name = String(path[path.utf8.index(after: slash)...])
        } else {
            folder = "."
            name = path
        }
    }

    /// The reason that the path cannot be that of a file; nil when it can.
    var fault: String? {
        if path.utf8.contains(0) { return "the path holds a NUL" }
        if path.isEmpty { return "the path is empty; give the path of a file" }
        if ["", ".", ".."].contains(name) { return "this is the path of a folder; name a file inside it" }
        return nil
    }

    /// Returns an error for this file.
    func failure(_ code: HTTPDNSResolutionStoreError.Code, _ reason: String) -> HTTPDNSResolutionStoreError {
        let effect = code == .notWritable ? "cannot be written" : "is not used"
        return HTTPDNSResolutionStoreError(
            code: code,
            path: path,
            message: "the snapshot \"\(path.escaped(limit: 200))\" \(effect): \(reason)"
        )
    }

    /// Returns an error for this file from a system call.
    func failure(_ code: HTTPDNSResolutionStoreError.Code, systemError: Int32, during action: String? = nil)
        -> HTTPDNSResolutionStoreError
    {
        let advice = Self.advice(systemError, isWriting: code == .notWritable).map { "; \($0)" } ?? ""
        return failure(code, "\(action.map { "\($0): " } ?? "")\(systemErrorText(systemError))\(advice)")
    }

    private static func advice(_ systemError: Int32, isWriting: Bool) -> String? {
        switch systemError {
        case ENOENT: "create the folder; relative paths are seen from the working directory"
        case ENOTDIR: "a part of the path is a file; check the path"
        case EACCES, EPERM:
            isWriting
                ? "the process's user needs the right to create files in the folder"
                : "the process's user needs the right to read it; remove the file to begin with an empty one"
        case EROFS: "the file system is read-only; choose a folder that can be written"
        case ENOSPC, EDQUOT: "make room on the file system; what was saved before is still there"
        case EFBIG: "the process's limit for file sizes is too low (ulimit -f)"
        case EMFILE, ENFILE: "raise the limit of open files (ulimit -n)"
        case ENAMETOOLONG: "choose a shorter name"
        default: nil
        }
    }
}

/// An open descriptor that is closed at the end of its lifetime.
struct OpenDescriptor: ~Copyable {
    let number: Int32

    /// Takes ownership of the result of `open`; nil if that was an error.
    init?(_ number: Int32) {
        guard number >= 0 else { return nil }
        self.number = number
    }

    deinit { close(number) }
}

extension SnapshotFile {
    /// Returns the bytes of the file, if only this process's user can have written them; nil when there is no file.
    ///
    /// It reads at most `maximumBytes`, and no part of a larger file. Neither a pipe nor a device can block it.
    /// - Parameter limit: The longest wait for another process that writes the file in place.
    func contents(
        maximumBytes: Int,
        waiting limit: Duration = ReplacedFile.lockLimit
    ) throws(HTTPDNSResolutionStoreError) -> [UInt8]? {
        if let fault { throw failure(.notReadable, fault) }
        guard let descriptor = OpenDescriptor(open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC))
        else {
            let systemError = errno
            if systemError == ENOENT { return nil }
            guard systemError != ELOOP else { throw symbolicLink(.unsafePermissions) }
            throw failure(.notReadable, systemError: systemError, during: "it cannot be opened")
        }
        do throws(FileFault) {
            try ReplacedFile.lock(descriptor.number, of: path, isShared: true, waiting: limit)
        } catch {
            throw failure(.notReadable, error.reason)
        }
        defer { ReplacedFile.unlock(descriptor.number) }
        var status = stat()
        guard fstat(descriptor.number, &status) == 0 else {
            throw failure(.notReadable, systemError: errno, during: "its status cannot be read")
        }
        try check(status)
        guard status.st_size <= maximumBytes else {
            throw failure(
                .tooLarge,
                "it has \(status.st_size) bytes, and \(maximumBytes) are allowed; raise the limit, or remove the file"
            )
        }
        return try octets(of: descriptor, count: Int(status.st_size))
    }

    func symbolicLink(_ code: HTTPDNSResolutionStoreError.Code) -> HTTPDNSResolutionStoreError {
        failure(code, "it is a symbolic link, which others could turn elsewhere; give the path of the file itself")
    }

    /// Checks owner and permissions.
    ///
    /// A user with write access to the file decides where requests go, within the address policy; so it must be this user
    /// alone.
    private func check(_ status: stat) throws(HTTPDNSResolutionStoreError) {
        guard status.isRegularFile else {
            throw failure(.notReadable, "it is no regular file; give the path of a file of its own")
        }
        guard status.st_uid == user else {
            throw failure(
                .unsafePermissions,
                "it belongs to user \(status.st_uid), and this process runs as user \(user); remove it"
            )
        }
        guard status.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
            let mode = String(status.st_mode & 0o7777, radix: 8)
            throw failure(.unsafePermissions, "others may write it (mode \(mode)); remove it if that was not meant")
        }
    }

    private func octets(of descriptor: borrowing OpenDescriptor, count: Int) throws(HTTPDNSResolutionStoreError)
        -> [UInt8]
    {
        let number = descriptor.number
        var systemError: Int32 = 0
        let octets = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            while initialized < count {
                let part = UnsafeMutableRawBufferPointer(buffer)[initialized...]
                let step = read(number, UnsafeMutableRawBufferPointer(rebasing: part).baseAddress, count - initialized)
                if step < 0, errno == EINTR { continue }
                if step < 0 { systemError = errno }
                // An early end means that another process is truncating the file. The length check then fails.
                guard step > 0 else { return }
                initialized += step
            }
        }
        guard systemError == 0 else { throw failure(.notReadable, systemError: systemError, during: "reading") }
        return octets
    }
}

extension stat {
    var isRegularFile: Bool { st_mode & S_IFMT == S_IFREG }
    var isSymbolicLink: Bool { st_mode & S_IFMT == S_IFLNK }
}
