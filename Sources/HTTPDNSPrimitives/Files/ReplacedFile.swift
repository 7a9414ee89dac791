// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// A file that is written under another name in the same folder, and renamed when it is complete. Any other end removes
/// it, except a part that is kept.
///
/// This is how the library replaces each of its files. A file that is a mount of its own, as containers have them for
/// single files, cannot be replaced: the complete bytes are then written into it.
package final class ReplacedFile: Sendable {
    private enum State {
        case open, abandoned, ended
    }

    /// The handling of a file that has the path at the end.
    package enum Ending: Sendable {
        /// It is replaced.
        case replacing
        /// It fails the writing.
        case creating
        /// The new file gets the next free name with a number.
        case numbering
    }

    /// The final path of the file, without a number.
    package let path: String
    private let temporary: String
    private let descriptor: Int32
    /// The open file at the path when it is a mount of its own; -1 otherwise.
    private let mounted: Int32
    private let ending: Ending
    private let isPrivate: Bool
    private let state = Lock(State.open)
    private let isKept: Lock<Bool>
    /// Whether a write in place has begun.
    private let isTorn = Lock(false)

    /// - Parameters:
    ///   - path: A path in a writable folder. A link stays a link: its target is replaced.
    ///   - isPrivate: Whether the file is readable and writable for its owner alone, whatever an earlier file allowed.
    ///   - ending: The handling of an existing file.
    ///   - continuesPart: Whether the file begins with the bytes of an earlier one that was kept, see ``keep()``.
    /// - Throws: ``FileFault``, also when the path exists and is not a regular file, or can be neither replaced nor
    ///   written.
    package init(
        _ path: String,
        isPrivate: Bool = false,
        ending: Ending = .replacing,
        continuesPart: Bool = false
    ) throws(FileFault) {
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
        guard !isThere || ending != .creating else { throw Self.exists(path) }
        let mounted = try isThere && ending == .replacing ? Self.mounted(final, isPrivate: isPrivate) : -1
        do throws(FileFault) {
            // A new file gets the permissions that the process's umask leaves. A replacement is private even while it
            // is empty.
            let rights: mode_t = isThere || isPrivate ? 0o600 : 0o666
            if continuesPart {
                temporary = Self.name(beside: final, "part")
                descriptor = try Self.continued(temporary, rights)
            } else {
                (temporary, descriptor) = try Self.created(for: final, rights, isMounted: mounted >= 0)
            }
        } catch {
            if mounted >= 0 { close(mounted) }
            throw error
        }
        // The umask may have removed more permissions than intended.
        if isPrivate { fchmod(descriptor, 0o600) }
        if isThere, !isPrivate, ending == .replacing { Self.hand(descriptor, over: status) }
        self.path = final
        self.mounted = mounted
        self.ending = ending
        self.isPrivate = isPrivate
        isKept = Lock(false)
    }

    /// Returns the path of a file that belongs to another one in the same folder, and has a constant name.
    package static func name(beside path: String, _ suffix: String) -> String {
        let folder = folder(of: path)
        return "\(folder)\(TemporaryName.stem(for: path.dropFirst(folder.count))).\(suffix)"
    }

    /// The number of bytes in the file.
    package var length: Int64 {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? Int64(status.st_size) : 0
    }

    /// Keeps the part when it is discarded, for a later file with the same path. It needs `continuesPart`.
    package func keep() { isKept.withLock { $0 = true } }

    /// Shortens the file, and keeps it no more.
    package func truncate(to length: Int64) throws(FileFault) {
        isKept.withLock { $0 = false }
        guard ftruncate(descriptor, off_t(length)) == 0 else { throw FileFault(path, errno) }
    }

    /// Returns at most 256 KiB of the file; none at its end.
    package func bytes(at offset: Int64) throws(FileFault) -> [UInt8] {
        var number: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: 256 * 1024) { buffer, initialized in
            repeat {
                let count = pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
                number = count < 0 ? errno : 0
                initialized = max(0, count)
            } while number == EINTR
        }
        guard number == 0 else { throw FileFault(path, number) }
        return bytes
    }

    deinit {
        discard()
        unlock()
        close(descriptor)
        if mounted >= 0 { close(mounted) }
    }

    /// Appends bytes. It may wait for the disk.
    package func append(_ bytes: [UInt8]) throws(FileFault) { try write(bytes, to: descriptor) }

    private func write(_ bytes: [UInt8], to descriptor: Int32) throws(FileFault) {
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                Glibc.write(descriptor, buffer.baseAddress?.advanced(by: written), buffer.count - written)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw FileFault(path, errno) }
            written += count
        }
    }

    /// Renames the file to its path, in one step, once it is on the disk. It may wait for that. A file that is a mount
    /// of its own is written in place, which a loss of power can interrupt.
    /// - Parameter limit: The longest wait for another process that reads such a file or writes it.
    /// - Returns: The path, with its number if there is one.
    @discardableResult
    package func finish(waiting limit: Duration = ReplacedFile.lockLimit) throws(FileFault) -> String {
        // Otherwise a loss of power could leave the name with an empty file.
        let failure = fsync(descriptor) == 0 ? nil : FileFault(path, errno)
        // A file that was abandoned while the disk was at work gets no name.
        guard change(from: [.open], to: .ended) else { return path }
        defer { unlock() }
        do throws(FileFault) {
            if let failure { throw failure }
            switch ending {
            case .replacing:
                if mounted < 0, rename(temporary, path) == 0 { return path }
                // A system without /proc tells only now that the file is a mount.
                guard mounted >= 0 || errno == EBUSY || errno == EXDEV else { throw FileFault(path, errno) }
                try writeInPlace(waiting: limit)
                unlink(temporary)
                return path
            case .creating:
                guard try give(path) else { throw Self.exists(path) }
                return path
            case .numbering: return try number()
            }
        } catch {
            if !isTorn.withLock({ $0 }) { unlink(temporary) }
            throw error
        }
    }

    /// Writes the complete bytes into the file at the path. Where the file system can reserve the space, a full disk
    /// leaves the earlier bytes.
    private func writeInPlace(waiting limit: Duration) throws(FileFault) {
        let target = mounted >= 0 ? mounted : try Self.opened(path, isPrivate: isPrivate)
        defer { if target != mounted { close(target) } }
        try Self.lock(target, of: path, isShared: false, waiting: limit)
        defer { Self.unlock(target) }
        var status = stat()
        guard fstat(target, &status) == 0 else { throw FileFault(path, errno) }
        let length = length
        let reserved = length > 0 ? posix_fallocate(target, 0, off_t(length)) : 0
        guard ![ENOSPC, EDQUOT, EFBIG].contains(reserved) else {
            ftruncate(target, status.st_size)
            throw FileFault(path, reserved)
        }
        // From here on the path may have a part of both: after an error the temporary file is the only complete one.
        isTorn.withLock { $0 = true }
        do throws(FileFault) {
            var offset: Int64 = 0
            while offset < length {
                let bytes = try bytes(at: offset)
                guard !bytes.isEmpty else { break }
                try write(bytes, to: target)
                offset += Int64(bytes.count)
            }
            guard ftruncate(target, off_t(offset)) == 0, fsync(target) == 0 else { throw FileFault(path, errno) }
        } catch {
            throw FileFault(path, "\(error.reason); the whole content is in \(temporary)")
        }
    }

    /// Gives the file a name that is free, in one step. Returns whether it was free.
    private func give(_ name: String) throws(FileFault) -> Bool {
        if link(temporary, name) == 0 {
            unlink(temporary)
            return true
        }
        if errno == EEXIST { return false }
        // Some file systems have no links. Another program could then create the name in between.
        guard errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS else { throw FileFault(path, errno) }
        guard access(name, F_OK) != 0 else { return false }
        guard rename(temporary, name) == 0 else { throw FileFault(path, errno) }
        return true
    }

    /// Gives the file its name, or the first free one with a number before the last dot.
    private func number() throws(FileFault) -> String {
        if try give(path) { return path }
        let folder = Self.folder(of: path)
        let name = path.dropFirst(folder.count)
        let dot = name.dropFirst().lastIndex(of: ".") ?? name.endIndex
        for number in 1...Self.maximumNumber {
            let numbered = "\(folder)\(name[..<dot])-\(number)\(name[dot...])"
            if try give(numbered) { return numbered }
        }
        throw FileFault(path, "there are \(Self.maximumNumber) files with this name and a number")
    }

    private static let maximumNumber = 10_000

    private static func exists(_ path: String) -> FileFault {
        FileFault(path, "the file exists already, and the download must not replace it")
    }

    /// Prevents that the file gets its name, without waiting for the disk. ``discard()`` removes it.
    /// - Returns: Whether it has not got its name, and is not just getting it.
    @discardableResult
    package func abandon() -> Bool { change(from: [.open], to: .abandoned) }

    /// Removes the file, unless it is finished or kept.
    package func discard() {
        guard change(from: [.open, .abandoned], to: .ended) else { return }
        if !isKept.withLock({ $0 }) { unlink(temporary) }
        unlock()
    }

    /// Frees the part for the next download.
    private func unlock() { Self.unlock(descriptor) }

    /// The longest wait for the lock of a file. Its holder does nothing else than to read or write the file.
    package static let lockLimit = Duration.seconds(5)

    /// Locks an open file while it is read, or written in place (`flock(2)`): a reader gets no part of new bytes, and
    /// two writers do not mix theirs. On a file system without such locks it does nothing.
    /// - Parameter isShared: Whether others may read meanwhile.
    /// - Throws: ``FileFault`` when another process has the file for the whole time.
    package static func lock(
        _ descriptor: Int32,
        of path: String,
        isShared: Bool,
        waiting limit: Duration
    ) throws(FileFault) {
        let end = SystemTimeSource().now() + limit
        while flock(descriptor, (isShared ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR else { return }
            guard SystemTimeSource().now() < end else {
                throw FileFault(path, "another process is \(isShared ? "" : "reading or ")writing it")
            }
            poll(nil, 0, 10)
        }
    }

    /// Ends a lock. Closing alone would not: a process that this one just forked has the same lock until it runs its
    /// program (`flock(2)`).
    package static func unlock(_ descriptor: Int32) { flock(descriptor, LOCK_UN) }

    /// Removes files of writers that ended before they completed. Failures are ignored, because nothing depends on the
    /// removal.
    /// - Parameters:
    ///   - path: The path that the files would have got.
    ///   - time: The calendar time in seconds; files that changed at this time or later stay.
    package static func removeLeftovers(of path: String, changedBefore time: Int64) {
        let folder = folder(of: path)
        guard let stream = opendir(folder.isEmpty ? "." : String(folder)) else { return }
        defer { closedir(stream) }
        let descriptor = dirfd(stream)
        while let entry = readdir(stream) {
            let found = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: $0.pointee)) {
                    String(cString: $0)
                }
            }
            guard TemporaryName.isOne(found, for: path.dropFirst(folder.count)) else { continue }
            var status = stat()
            guard fstatat(descriptor, found, &status, AT_SYMLINK_NOFOLLOW) == 0, status.st_mode & S_IFMT == S_IFREG,
                status.st_uid == geteuid(), Int64(status.st_mtim.tv_sec) < time
            else { continue }
            unlinkat(descriptor, found, 0)
        }
    }

    /// Removes a file, if it is there.
    package static func remove(_ path: String) { unlink(path) }

    /// - Returns: Whether this call is the one that changed the state.
    private func change(from states: [State], to new: State) -> Bool {
        state.withLock { state in
            guard states.contains(state) else { return false }
            state = new
            return true
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

    /// Creates the file that is written first.
    /// - Returns: Its path and its descriptor.
    private static func created(
        for path: String,
        _ rights: mode_t,
        isMounted: Bool
    ) throws(FileFault) -> (String, Int32) {
        var folders = [folder(of: path)]
        // A mount is written in place, so its folder may be read-only, as it is in many containers.
        if isMounted {
            let given = getenv("TMPDIR").map { String(cString: $0) } ?? ""
            folders.append("\(given.isEmpty ? "/tmp" : given)/")
        }
        let name = TemporaryName(for: path.dropFirst(folders[0].count)).text
        var number: Int32 = 0
        for folder in folders {
            let descriptor = open("\(folder)\(name)", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, rights)
            if descriptor >= 0 { return ("\(folder)\(name)", descriptor) }
            if number == 0 { number = errno }
        }
        throw FileFault(path, number)
    }

    /// Opens the file at a path when it is a mount of its own, which no other file can replace; -1 when it is none.
    /// - Throws: ``FileFault`` for a file that can be neither replaced nor written. Otherwise that would appear only at
    ///   the rename, when the request has been executed.
    private static func mounted(_ path: String, isPrivate: Bool) throws(FileFault) -> Int32 {
        let folder = folder(of: path)
        if let own = mount(of: path), let other = mount(of: folder.isEmpty ? "." : String(folder)), own != other {
            return try opened(path, isPrivate: isPrivate)
        }
        // rmdir(2) never removes a file. It fails with EPERM where the rename would: in a sticky folder of others, and
        // for a file with the attribute immutable or append-only.
        guard rmdir(path) == 0 || errno != EPERM else {
            throw FileFault(path, "this user may not replace it (a sticky folder of another user, or chattr +i or +a)")
        }
        return -1
    }

    /// `O_PATH`, which the module Glibc lacks: the descriptor needs no permission for the file.
    private static let pathOnly: Int32 = 0o10000000

    /// Returns the number of the mount that a path belongs to; nil where the system does not tell.
    private static func mount(of path: String) -> String? {
        let descriptor = open(path, pathOnly | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let bytes = try? SmallFile.read("/proc/self/fdinfo/\(descriptor)", maximum: 4096)
        let lines = bytes.map { String(decoding: $0, as: UTF8.self).split(separator: "\n") }
        return lines?.first { $0.hasPrefix("mnt_id:") }.map { String($0) }
    }

    /// Opens a file that is written in place.
    private static func opened(_ path: String, isPrivate: Bool) throws(FileFault) -> Int32 {
        let descriptor = open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileFault(path, errno) }
        var status = stat()
        let isRegular = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        guard isRegular, !isPrivate || status.st_mode & 0o077 == 0 || fchmod(descriptor, 0o600) == 0 else {
            close(descriptor)
            throw FileFault(
                path,
                isRegular ? "others may open it, and this user cannot change that" : "it is no regular file"
            )
        }
        return descriptor
    }

    /// Opens a part, or creates it. One object at a time has it (`flock(2)`).
    private static func continued(_ path: String, _ rights: mode_t) throws(FileFault) -> Int32 {
        while true {
            // A pipe would block the call without O_NONBLOCK.
            let flags = O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
            let descriptor = open(path, flags, rights)
            guard descriptor >= 0 else { throw FileFault(path, errno) }
            var (own, named) = (stat(), stat())
            let isOwn = fstat(descriptor, &own) == 0 && own.st_mode & S_IFMT == S_IFREG && own.st_uid == geteuid()
            guard isOwn, flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                close(descriptor)
                let reason = isOwn ? "another download writes it" : "it is no regular file of this user"
                throw FileFault(path, reason)
            }
            // An earlier download may have given it its final name before the lock was free.
            if lstat(path, &named) == 0, named.st_ino == own.st_ino, named.st_dev == own.st_dev { return descriptor }
            close(descriptor)
        }
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

/// The name of a file while it is written: a digest of the name that it gets, 16 random hexadecimal digits, `.part`.
private struct TemporaryName {
    private static let digits = 16
    private static let ending = ".part"

    let text: String

    /// Creates a unique name. If a file of that name exists nevertheless, `O_EXCL` refuses it.
    init(for name: Substring) {
        let number = String(UInt64.random(in: .min ... .max), radix: 16)
        let zeros = String(repeating: "0", count: Self.digits - number.count)
        text = "\(Self.stem(for: name))-\(zeros)\(number)\(Self.ending)"
    }

    /// Returns the beginning of the names of all files that belong to a file. With the name itself it could be longer
    /// than the file system permits.
    static func stem(for name: Substring) -> String {
        ".httpdns-\(SHA256Hash.hexadecimal(of: String(name)).prefix(32))"
    }

    /// Returns whether `text` is a name that this type could have created for `name`.
    static func isOne(_ text: String, for name: Substring) -> Bool {
        // The digest of the name is needed for the few that look like one.
        guard text.hasPrefix(".httpdns-"), text.hasSuffix(ending), text.hasPrefix("\(stem(for: name))-") else {
            return false
        }
        let middle = text.utf8.dropFirst(stem(for: name).utf8.count + 1).dropLast(ending.utf8.count)
        return middle.count == digits
            && middle.allSatisfy {
                UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || UInt8(ascii: "a")...UInt8(ascii: "f") ~= $0
            }
    }
}
