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
    func failure(_ code: HTTPDNSResolutionStoreError.Code, systemError: Int32, during action: String)
        -> HTTPDNSResolutionStoreError
    {
        let text = strerror(systemError).map { String(cString: $0) } ?? "error \(systemError)"
        let advice = Self.advice(systemError, isWriting: code == .notWritable)
        return failure(code, "\(action): \(text)" + (advice.map { "; \($0)" } ?? ""))
    }

    private static func advice(_ systemError: Int32, isWriting: Bool) -> String? {
        switch systemError {
        case ENOENT: "create the folder; relative paths are seen from the working directory"
        case ENOTDIR: "a part of the path is a file; check the path"
        case EACCES, EPERM:
            isWriting
                ? "the process's user needs the right to create files in the folder"
                : "the process's user needs the right to read it; remove the file to begin anew"
        case EROFS: "the file system is read-only; choose a folder that can be written"
        case ENOSPC, EDQUOT: "make room on the file system; what was saved before is still there"
        case EFBIG: "the process's limit for file sizes is too low (ulimit -f)"
        case EMFILE, ENFILE: "raise the limit of open files (ulimit -n)"
        case ENAMETOOLONG: "choose a shorter name; 22 characters are added while it is written"
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
