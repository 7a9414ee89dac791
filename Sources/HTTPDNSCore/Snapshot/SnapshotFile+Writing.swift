// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNSPrimitives

extension SnapshotFile {
    /// Replaces the file with `octets` in one step.
    ///
    /// At any time, also after a loss of power, the path leads to the old contents or the new ones.
    func replace(with octets: [UInt8]) throws(HTTPDNSResolutionStoreError) {
        if let fault { throw failure(.notWritable, fault) }
        guard let folder = OpenDescriptor(open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) else {
            throw failure(.notWritable, systemError: errno, during: "its folder cannot be opened")
        }
        try checkReplaceable(in: folder)

        let temporary = TemporaryName(for: name)
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        guard let descriptor = OpenDescriptor(openat(folder.number, temporary.text, flags, S_IRUSR | S_IWUSR)) else {
            throw failure(.notWritable, systemError: errno, during: "no file can be created in its folder")
        }
        do throws(HTTPDNSResolutionStoreError) {
            try write(octets, to: descriptor)
            guard renameat(folder.number, temporary.text, folder.number, name) == 0 else {
                throw failure(.notWritable, systemError: errno, during: "putting the new file in its place")
            }
        } catch {
            _ = unlinkat(folder.number, temporary.text, 0)
            throw error
        }
        // Only this writes the new name to the disk. Some file systems do not support it for folders (EINVAL).
        guard fsync(folder.number) == 0 || errno == EINVAL else {
            throw failure(.notWritable, systemError: errno, during: "writing its folder to the disk")
        }
    }

    /// Checks that the present file may be replaced.
    ///
    /// A wrong path must not destroy an unrelated file. A snapshot only replaces snapshots, and the remains of one after a
    /// crash of the machine, which are empty or zeros. A wrong user must not write either: a service can neither load nor
    /// replace a snapshot that root has written in place of its own.
    private func checkReplaceable(in folder: borrowing OpenDescriptor) throws(HTTPDNSResolutionStoreError) {
        var status = stat()
        guard fstatat(folder.number, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
            guard errno != ENOENT else { return }
            throw failure(.notWritable, systemError: errno, during: "its status cannot be read")
        }
        if status.isSymbolicLink { throw symbolicLink(.notWritable) }
        guard status.isRegularFile else {
            throw failure(.notWritable, "it is no regular file; give the path of a file of its own")
        }
        guard status.st_uid == user else {
            throw failure(
                .notWritable,
                "it belongs to user \(status.st_uid), and this process runs as user \(user), whose snapshot that user could "
                    + "neither load nor replace; give each user a file of its own, or remove this one"
            )
        }
        guard
            let descriptor = OpenDescriptor(openat(folder.number, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC))
        else {
            guard errno != ENOENT else { return }
            throw failure(.notWritable, systemError: errno, during: "the file that is there cannot be opened")
        }
        var beginning = [UInt8](repeating: 0, count: SnapshotFormat.magic.count)
        let count = pread(descriptor.number, &beginning, beginning.count, 0)
        guard count >= 0 else {
            throw failure(.notWritable, systemError: errno, during: "the file that is there cannot be read")
        }
        let isSnapshot = SnapshotFormat.magic.starts(with: beginning.prefix(count))
        guard isSnapshot || beginning.prefix(count).allSatisfy({ $0 == 0 }) else {
            throw failure(
                .notWritable,
                "there is a file that is no snapshot; give the path of a file of its own, or remove it"
            )
        }
    }

    private func write(
        _ octets: [UInt8],
        to descriptor: borrowing OpenDescriptor
    ) throws(HTTPDNSResolutionStoreError) {
        // The umask may have removed more permissions than intended.
        guard fchmod(descriptor.number, S_IRUSR | S_IWUSR) == 0 else {
            throw failure(.notWritable, systemError: errno, during: "setting its mode")
        }
        var offset = 0
        while offset < octets.count {
            let step = octets[offset...].withUnsafeBytes { writeSome(descriptor.number, $0) }
            if step < 0, errno == EINTR { continue }
            guard step >= 0 else { throw failure(.notWritable, systemError: errno, during: "writing") }
            offset += step
        }
        // Before the rename: otherwise a loss of power could leave the name without contents.
        guard fsync(descriptor.number) == 0 else {
            throw failure(.notWritable, systemError: errno, during: "writing it to the disk")
        }
    }
}

/// `write` under a name that the functions above do not shadow.
private func writeSome(_ descriptor: Int32, _ octets: UnsafeRawBufferPointer) -> Int {
    write(descriptor, octets.baseAddress, octets.count)
}

extension SnapshotFile {
    /// The age from which a temporary file counts as left behind: no living process takes that long to write some MiB.
    static let leftoverAge: Duration = .seconds(600)

    /// Removes temporary files of this snapshot whose writers ended before they completed.
    ///
    /// Failures are ignored, because nothing depends on the removal: a file that cannot be removed stays.
    /// - Parameter wallNow: The calendar time in milliseconds, which the files' own times are compared with.
    func removeLeftovers(wallNow: Int64) {
        guard fault == nil, let stream = opendir(folder) else { return }
        defer { closedir(stream) }
        let descriptor = dirfd(stream)
        while let entry = readdir(stream) {
            let found = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: $0.pointee)) {
                    String(cString: $0)
                }
            }
            guard TemporaryName.isOne(found, for: name) else { continue }
            var status = stat()
            guard fstatat(descriptor, found, &status, AT_SYMLINK_NOFOLLOW) == 0, status.isRegularFile,
                status.st_uid == user
            else { continue }
            let changed = Int64(status.st_mtim.tv_sec)
            guard .milliseconds(wallNow) - .seconds(changed) > Self.leftoverAge else { continue }
            _ = unlinkat(descriptor, found, 0)
        }
    }
}

/// The name of a file while it is written: the snapshot's name, 16 random hexadecimal digits, `.tmp`.
struct TemporaryName: Hashable {
    private static let digits = 16
    private static let ending = ".tmp"

    let text: String

    /// Creates a unique name. If a file of that name exists nevertheless, `O_EXCL` refuses it.
    init(for name: String) {
        let number = String(UInt64.random(in: .min ... .max), radix: 16)
        text = "\(name)." + String(repeating: "0", count: Self.digits - number.count) + number + Self.ending
    }

    /// Returns whether `text` is a name that this type could have created for the snapshot `name`.
    static func isOne(_ text: String, for name: String) -> Bool {
        guard text.hasPrefix("\(name)."), text.hasSuffix(ending) else { return false }
        let middle = text.utf8.dropFirst(name.utf8.count + 1).dropLast(ending.utf8.count)
        return middle.count == digits
            && middle.allSatisfy {
                UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || UInt8(ascii: "a")...UInt8(ascii: "f") ~= $0
            }
    }
}
