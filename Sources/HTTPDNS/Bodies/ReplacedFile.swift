// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNSPrimitives

/// A file that is written under another name in the same folder, and renamed when it is complete. Any other end removes
/// it.
package final class ReplacedFile: Sendable {
    private enum State {
        case open, ended
    }

    /// The final path of the file.
    package let path: String
    private let temporary: String
    private let descriptor: Int32
    private let state = Lock(State.open)

    /// - Parameters:
    ///   - path: A path in a writable folder. A link stays a link: its target is replaced.
    ///   - isPrivate: Whether the file is readable and writable for its owner alone, whatever an earlier file allowed.
    /// - Throws: ``FileFault``, also when the path exists and is not a regular file.
    package init(_ path: String, isPrivate: Bool = false) throws(FileFault) {
        guard !path.isEmpty else { throw FileFault(path, "a path without a name") }
        let final = try Self.resolved(path)
        var status = stat()
        let isThere = stat(final, &status) == 0
        // Otherwise an error such as a name that is too long would appear only at the rename.
        guard isThere || errno == ENOENT else { throw FileFault(path, errno) }
        guard !isThere || status.st_mode & S_IFMT == S_IFREG else {
            throw FileFault(path, "there is something that is no regular file")
        }
        guard final.utf8.last != UInt8(ascii: "/") else { throw FileFault(path, "it is the name of a folder") }
        // The file's own name with a suffix could be longer than the file system permits.
        temporary = "\(Self.folder(of: final)).httpdns-\(String(UInt64.random(in: .min ... .max), radix: 16)).part"
        // A new file gets the permissions that the process's umask leaves. A replacement is private even while it is
        // empty.
        descriptor = Self.created(temporary, isThere || isPrivate ? 0o600 : 0o666)
        guard descriptor >= 0 else { throw FileFault(path, errno) }
        if isThere, !isPrivate { Self.hand(descriptor, over: status) }
        self.path = final
    }

    deinit {
        discard()
        close(descriptor)
    }

    /// Appends bytes. It may wait for the disk.
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

    /// Renames the file to its path, in one step, once it is on the disk. It may wait for that.
    package func finish() throws(FileFault) {
        guard takeEnd() else { return }
        // Otherwise a loss of power could leave the name with an empty file.
        if fsync(descriptor) == 0, rename(temporary, path) == 0 { return }
        let number = errno
        unlink(temporary)
        throw FileFault(path, number)
    }

    /// Removes the file, unless it is finished.
    package func discard() {
        if takeEnd() { unlink(temporary) }
    }

    /// Whether this call is the one that ends the writing.
    private func takeEnd() -> Bool {
        state.withLock { state in
            defer { state = .ended }
            return state == .open
        }
    }

    /// The maximum number of links that are followed when the target does not exist: as many as Linux follows
    /// (path_resolution(7)).
    private static let maximumLinks = 40

    /// Resolves the links of a path, also when nothing exists there yet.
    private static func resolved(_ path: String) throws(FileFault) -> String {
        var place = path
        for _ in 0...maximumLinks {
            if let resolved = realpath(place, nil) {
                defer { free(resolved) }
                return String(cString: resolved)
            }
            guard let target = linkTarget(of: place) else { return place }
            // A relative target starts at the link's own folder.
            place = target.hasPrefix("/") ? target : "\(folder(of: place))\(target)"
        }
        throw FileFault(path, ELOOP)
    }

    /// Returns the target of a link; nil for anything else.
    private static func linkTarget(of path: String) -> String? {
        let bytes = [UInt8](unsafeUninitializedCapacity: Int(PATH_MAX)) { buffer, count in
            count = buffer.withMemoryRebound(to: CChar.self) { text in
                text.baseAddress.map { max(0, readlink(path, $0, text.count)) } ?? 0
            }
        }
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the folder with a final slash; empty for a name alone.
    private static func folder(of path: String) -> Substring {
        path.lastIndex(of: "/").map { path[...$0] } ?? ""
    }

    private static func created(_ path: String, _ rights: mode_t) -> Int32 {
        open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, rights)
    }

    /// Gives a file the owner, the group and the permissions of another, as far as the system allows it.
    private static func hand(_ descriptor: Int32, over status: stat) {
        var rights = status.st_mode & 0o777
        // Only root may change the owner; the group must be one of the process's own.
        if fchown(descriptor, status.st_uid, status.st_gid) != 0, fchown(descriptor, .max, status.st_gid) != 0 {
            // The permissions of that group do not apply to this one.
            rights &= 0o707 | (rights & 0o007) << 3
        }
        fchmod(descriptor, rights)
    }
}
