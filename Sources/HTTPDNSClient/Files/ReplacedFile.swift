internal import HTTPDNSPrimitives

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// A file that is written under another name beside its own, and gets its name when it is whole. Every other end removes it.
package final class ReplacedFile: Sendable {
    private enum State {
        case open, ended
    }

    /// Where it will be.
    package let path: String
    private let temporary: String
    private let descriptor: Int32
    private let state = Lock(State.open)

    /// - Parameter path: A path in a folder that can be written to. A link stays a link: the file that it leads to is replaced.
    /// - Throws: ``FileFault`` also for what is there and is no regular file.
    package init(_ path: String) throws(FileFault) {
        guard !path.isEmpty else { throw FileFault(path, "a path without a name") }
        let final = Self.resolved(path)
        var status = stat()
        let isThere = stat(final, &status) == 0
        guard !isThere || status.st_mode & S_IFMT == S_IFREG else {
            throw FileFault(path, "there is something that is no regular file")
        }
        guard final.utf8.last != UInt8(ascii: "/") else { throw FileFault(path, "it is the name of a folder") }
        let folder = final.lastIndex(of: "/").map { final[...$0] } ?? ""
        // The file's own name with an ending could be longer than the file system takes.
        temporary = "\(folder).httpdns-\(String(UInt64.random(in: .min ... .max), radix: 16)).part"
        descriptor = Self.created(temporary)
        guard descriptor >= 0 else { throw FileFault(path, errno) }
        // A new file has what the process's umask leaves; one in the place of another has its rights.
        if isThere { fchmod(descriptor, status.st_mode & 0o777) }
        self.path = final
    }

    deinit {
        discard()
        close(descriptor)
    }

    /// Writes at the end. It may wait for the disk.
    package func append(_ bytes: [UInt8]) throws(FileFault) {
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                write(descriptor, buffer.baseAddress?.advanced(by: written), buffer.count - written)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw FileFault(path, errno) }
            written += count
        }
    }

    /// Puts the file in its place, in one step, once it is on the disk. It may wait for that.
    package func finish() throws(FileFault) {
        guard takeEnd() else { return }
        // Else a loss of power could leave the name with nothing behind it.
        if fsync(descriptor) == 0, rename(temporary, path) == 0 { return }
        let number = errno
        unlink(temporary)
        throw FileFault(path, number)
    }

    /// Leaves nothing behind, unless it is finished.
    package func discard() {
        if takeEnd() { unlink(temporary) }
    }

    /// Whether this call is the one that ends it.
    private func takeEnd() -> Bool {
        state.withLock { state in
            defer { state = .ended }
            return state == .open
        }
    }

    private static func resolved(_ path: String) -> String {
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    private static func created(_ path: String) -> Int32 {
        open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o666)
    }
}
