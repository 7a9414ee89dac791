#if os(Linux)
#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// What inotify watches for one path, and what its events mean. A value; it is changed under the lock of its owner.
struct FolderWatches {
    /// What one watch is for. One folder may be watched for several reasons.
    private struct Purpose {
        /// The names in a folder that count, with the folder's path.
        var names: [String: String] = [:]
        var isFile = false
    }

    /// Names appear, go and change rights, and files are written and closed. The folder tells of writes as well, although the
    /// file is watched too: it tells of those to a file that was moved there a moment ago and has no watch yet. Of a file that
    /// lost its name nothing is wanted: that somebody closes it says nothing of the file that has the name now.
    private static let folderMask =
        IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | IN_MODIFY | IN_CLOSE_WRITE | goneMask
        | IN_EXCL_UNLINK
    private static let fileMask = IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | goneMask
    private static let goneMask = IN_DELETE_SELF | IN_MOVE_SELF

    private var purposes: [Int32: Purpose] = [:]
    /// The file's own name where the way ends, as a path.
    private var end: String?

    /// Watches what `chain` says, and nothing else.
    /// - Returns: Whether all of it is watched.
    mutating func arm(_ chain: LinkChain, on descriptor: Int32) -> Bool {
        var armed: [Int32: Purpose] = [:]
        var isWhole = true
        func watch(_ path: String, _ mask: Int32) -> Int32? {
            // Masks are added up: one folder may be reached by two paths. What is too much of them is filtered by name.
            let watch = inotify_add_watch(descriptor, path, UInt32(bitPattern: mask | IN_MASK_ADD))
            if watch >= 0 { return watch }
            // What is gone again, or may not be read, is told by the folder above. Limits of the system are another matter.
            if errno != ENOENT, errno != ENOTDIR, errno != EACCES { isWhole = false }
            return nil
        }
        for folder in chain.folders {
            guard let watch = watch(folder, Self.goneMask | IN_ONLYDIR) else { continue }
            armed[watch] = armed[watch] ?? Purpose()
        }
        for (folder, names) in chain.names {
            guard let watch = watch(folder.isEmpty ? "/" : folder, Self.folderMask | IN_ONLYDIR) else {
                // A folder that may be entered and not listed cannot be watched.
                if access(folder.isEmpty ? "/" : folder, F_OK) == 0 { isWhole = false }
                continue
            }
            for name in names { armed[watch, default: Purpose()].names[name] = folder + "/" + name }
        }
        if let file = chain.file, let watch = watch(file, Self.fileMask) {
            armed[watch, default: Purpose()].isFile = true
        }
        for watch in purposes.keys where armed[watch] == nil { inotify_rm_watch(descriptor, watch) }
        purposes = armed
        end = chain.file
        return isWhole
    }

    /// What an event means for the file; nil when it is about something else.
    func event(watch: Int32, mask: UInt32, name: String) -> FileEvent? {
        func has(_ bit: Int32) -> Bool { mask & UInt32(bitPattern: bit) != 0 }
        if has(IN_Q_OVERFLOW) { return .diverted }
        // A watch that was taken back still has events in the queue, and says so at their end.
        guard let purpose = purposes[watch], !has(IN_IGNORED) else { return nil }
        if has(Self.goneMask) { return purpose.isFile ? .touched : .diverted }
        if name.isEmpty {
            guard purpose.isFile else { return nil }
            if has(IN_MODIFY) { return .modified }
            return has(IN_CLOSE_WRITE) ? .closed : .touched
        }
        guard let path = purpose.names[name] else { return nil }
        // A link or a folder leads to a file whose folder is watched from now on only: what is written there may go unseen.
        if has(IN_ISDIR) || has(IN_MOVED_TO) || has(IN_CREATE), Self.leadsElsewhere(path) { return .diverted }
        if has(IN_MOVED_TO) { return .replaced }
        if has(IN_CREATE) { return Self.hasOtherNames(path) ? .replaced : .created }
        if has(IN_MODIFY) { return .modified }
        return has(IN_CLOSE_WRITE) ? .closed : .touched
    }

    private static func leadsElsewhere(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) != 0 || status.st_mode & S_IFMT != S_IFREG
    }

    /// Whether a file that just appeared was there before, under another name.
    private static func hasOtherNames(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_nlink > 1
    }
}
#endif
