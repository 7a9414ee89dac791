internal import Glibc
internal import HTTPDNSPrimitives

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
