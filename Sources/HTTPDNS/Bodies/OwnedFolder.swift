// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

/// A folder of this user alone, which one process has at a time (`flock(2)`). All calls block.
///
/// Other users may neither read nor write it, so they cannot exchange its files. Its last reference frees and closes it.
package final class OwnedFolder: Sendable {
    package let path: String
    /// The open folder, for calls such as `openat(2)`, which do not look up the path again.
    package let descriptor: Int32

    /// Opens a folder, and creates it when it is missing. A link to a folder is refused.
    /// - Parameters:
    ///   - path: The path without NUL. Slashes and dots at its end are left out.
    ///   - user: The word for the object that uses the folder, such as `cache`, for the error when another one has it.
    package init(_ path: String, of user: String) throws(FileFault) {
        guard !path.isEmpty, !path.utf8.contains(0) else { throw FileFault(path, "the path is empty or has a NUL") }
        let path = Self.withoutEnd(path)
        if mkdir(path, 0o700) != 0, errno != EEXIST {
            let number = errno
            throw Self.fault(
                path,
                "it cannot be created: \(systemErrorText(number)); create the folder above it",
                number
            )
        }
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else {
            let number = errno
            throw Self.fault(path, "it cannot be opened: \(systemErrorText(number))", number)
        }
        if let refusal = Self.refusal(of: descriptor, user) {
            close(descriptor)
            var fault = FileFault(path, refusal.reason)
            fault.isPassing = refusal.isPassing
            throw fault
        }
        self.path = path
        self.descriptor = descriptor
    }

    deinit {
        // A process that this one just forked has the same lock until it runs its program, so closing alone would not free it.
        unlock()
        close(descriptor)
    }

    /// Frees the folder for another process or user object, while it stays open here.
    package func unlock() { flock(descriptor, LOCK_UN) }

    /// Returns the names of all files in the folder, in no order.
    package func names() throws(FileFault) -> [String] {
        // The stream of names owns its descriptor.
        let copy = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0 else { throw unlisted(errno) }
        guard let stream = fdopendir(copy) else {
            let number = errno
            close(copy)
            throw unlisted(number)
        }
        defer { closedir(stream) }
        var names: [String] = []
        errno = 0
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            names.append(name)
            errno = 0
        }
        guard errno == 0 else { throw unlisted(errno) }
        return names
    }

    /// Removes a file.
    /// - Returns: The error number of the system; `nil` when the file is gone.
    @discardableResult
    package func remove(_ name: String) -> Int32? {
        unlinkat(descriptor, name, 0) == 0 || errno == ENOENT ? nil : errno
    }

    private func unlisted(_ number: Int32) -> FileFault {
        Self.fault(path, "its files cannot be listed: \(systemErrorText(number))", number)
    }

    /// The errors that a wrong path or wrong permissions have.
    private static let mistakes: Set<Int32> = [ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG, EACCES, EPERM]

    private static func fault(_ path: String, _ reason: String, _ number: Int32) -> FileFault {
        var fault = FileFault(path, reason)
        fault.isPassing = !mistakes.contains(number)
        return fault
    }

    private static func refusal(of descriptor: Int32, _ user: String) -> (reason: String, isPassing: Bool)? {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return (systemErrorText(errno), true) }
        guard status.st_uid == geteuid() else {
            return ("it belongs to user \(status.st_uid), and this process runs as user \(geteuid())", false)
        }
        guard status.st_mode & 0o077 == 0 else {
            return ("other users may open it; set its permissions to 0700", false)
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let inUse = "another process or \(user) uses it; give each process a folder of its own"
            return (errno == EWOULDBLOCK ? inUse : systemErrorText(errno), true)
        }
        return nil
    }

    /// Returns a path without slashes and dots at its end: before them the system follows a link.
    private static func withoutEnd(_ path: String) -> String {
        var rest = path[...]
        while rest.utf8.count > 1, rest.hasSuffix("/") || rest.hasSuffix("/.") { rest.removeLast() }
        return String(rest)
    }
}
