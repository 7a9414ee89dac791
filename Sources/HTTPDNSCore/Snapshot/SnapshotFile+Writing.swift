// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNSPrimitives

extension SnapshotFile {
    /// Replaces the file with `bytes` in one step.
    ///
    /// At any time, also after a loss of power, the path leads to the old contents or the new ones. Only a file that is
    /// a mount of its own is written in place; its checksum finds a write that was interrupted.
    func replace(with bytes: [UInt8]) throws(HTTPDNSResolutionStoreError) {
        if let fault { throw failure(.notWritable, fault) }
        guard let folder = OpenDescriptor(open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) else {
            throw failure(.notWritable, systemError: errno, during: "its folder cannot be opened")
        }
        try checkReplaceable(in: folder)
        do throws(FileFault) {
            let file = try ReplacedFile(path, isPrivate: true)
            try file.append(bytes)
            try file.finish()
        } catch {
            guard let number = error.number else { throw failure(.notWritable, error.reason) }
            throw failure(.notWritable, systemError: number)
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

    /// The age from which a temporary file counts as left behind: no living process takes that long to write some MiB.
    private static let leftoverAge: Int64 = 600

    /// Removes temporary files of this snapshot whose writers ended before they completed.
    /// - Parameter wallNow: The calendar time in milliseconds, which the files' own times are compared with.
    func removeLeftovers(wallNow: Int64) {
        guard fault == nil else { return }
        ReplacedFile.removeLeftovers(of: path, changedBefore: wallNow / 1000 - Self.leftoverAge)
    }
}
