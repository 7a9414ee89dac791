#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// What a look at a path shows, links followed: a file by the marks of its content, or why there is none.
package enum FileSight: Hashable, Sendable {
    /// What changes when other content is written or moved into place. The moment of the last change of rights or links is
    /// not among it: a file that is moved away while it is read stays what it was.
    package struct Stamp: Hashable, Sendable {
        package var device: UInt64
        package var inode: UInt64
        package var size: Int64
        /// Nanoseconds since 1970, in steps as coarse as the file system's.
        package var modified: Int64
        /// Who may read it. A file that nobody could read may be readable now.
        package var mode: UInt32

        package init(device: UInt64 = 1, inode: UInt64, size: Int64, modified: Int64, mode: UInt32 = 0o100644) {
            self.device = device
            self.inode = inode
            self.size = size
            self.modified = modified
            self.mode = mode
        }

        init(_ status: stat) {
            device = UInt64(truncatingIfNeeded: status.st_dev)
            inode = UInt64(truncatingIfNeeded: status.st_ino)
            size = Int64(status.st_size)
            #if canImport(Darwin)
            let time = status.st_mtimespec
            #else
            let time = status.st_mtim
            #endif
            modified = Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
            mode = UInt32(status.st_mode)
        }
    }

    case file(Stamp)
    /// The system's number for why there is nothing.
    case absent(Int32)

    /// Whether it is a regular file or a folder, of which reading tells the rest: nothing that keeps its reader waiting.
    var isPlain: Bool {
        guard case .file(let stamp) = self else { return false }
        return [UInt32(S_IFREG), UInt32(S_IFDIR)].contains(stamp.mode & UInt32(S_IFMT))
    }

    /// Whether both are the same file, with other content or not; or both none.
    func isSameFile(as other: FileSight?) -> Bool {
        switch (self, other) {
        case (.file(let left), .file(let right)): left.inode == right.inode && left.device == right.device
        case (.absent, .absent): true
        default: false
        }
    }

    /// Looks at `path`.
    package init(_ path: String) {
        var status = stat()
        self = stat(path, &status) == 0 ? .file(Stamp(status)) : .absent(errno)
    }

    /// Looks at an open file; nil when even that fails.
    init?(descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self = .file(Stamp(status))
    }
}
