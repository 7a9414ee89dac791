// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// The inotify watches for one path, and the meaning of their events. A value; it is changed under the lock of its owner.
struct FolderWatches {
    /// The purpose of one watch. One folder may be watched for several reasons.
    private struct Purpose {
        /// The relevant names in a folder, with the folder's path.
        var names: [String: String] = [:]
        var isFile = false
    }

    /// Names are added, removed and change permissions, and files are written and closed. The folder reports writes as well,
    /// although the file is watched too: it reports those to a file that was just moved there and has no watch yet. Events of a
    /// file that lost its name are not needed: its closing has no meaning for the file that has the name now.
    private static let folderMask =
        IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | IN_MODIFY | IN_CLOSE_WRITE | goneMask
        | IN_EXCL_UNLINK
    private static let fileMask = IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | goneMask
    private static let goneMask = IN_DELETE_SELF | IN_MOVE_SELF

    private var purposes: [Int32: Purpose] = [:]
    /// The path of the last name, at the end of the links.
    private var end: String?

    /// Watches exactly the names in `chain`.
    /// - Returns: Whether all of them are watched.
    mutating func arm(_ chain: LinkChain, on descriptor: Int32) -> Bool {
        var armed: [Int32: Purpose] = [:]
        var isWhole = true
        func watch(_ path: String, _ mask: Int32) -> Int32? {
            // Masks are combined: two paths may lead to one folder. Superfluous events are filtered by name.
            let watch = inotify_add_watch(descriptor, path, UInt32(bitPattern: mask | IN_MASK_ADD))
            if watch >= 0 { return watch }
            // The folder above reports names that were removed again, or cannot be read. Limits of the system are another
            // matter.
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

    /// Returns the meaning of an event for the file; nil when it is unrelated.
    func event(watch: Int32, mask: UInt32, name: String) -> FileEvent? {
        func has(_ bit: Int32) -> Bool { mask & UInt32(bitPattern: bit) != 0 }
        if has(IN_Q_OVERFLOW) { return .diverted }
        // A removed watch still has events in the queue, and reports their end.
        guard let purpose = purposes[watch], !has(IN_IGNORED) else { return nil }
        if has(Self.goneMask) { return purpose.isFile ? .touched : .diverted }
        if name.isEmpty {
            guard purpose.isFile else { return nil }
            if has(IN_MODIFY) { return .modified }
            return has(IN_CLOSE_WRITE) ? .closed : .touched
        }
        guard let path = purpose.names[name] else { return nil }
        // A link or a folder leads to a file whose folder is watched from now on only: earlier writes there cause no events.
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

    /// Returns whether a file that just appeared existed before, under another name.
    private static func hasOtherNames(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_nlink > 1
    }
}

/// The chain of links from a path to a file: every name whose change may lead to another file.
///
/// Kubernetes mounts a file as `config/httpdns.yaml -> ..data/httpdns.yaml` with `..data -> ..2026_11_21`, and moves another
/// `..data` into place: three names in two folders decide which file it is.
struct LinkChain: Hashable {
    /// The folders with their relevant names: links, the file, and the last name if there is no file.
    private(set) var names: [String: Set<String>] = [:]
    /// The folders in the path, which may be moved or removed themselves.
    private(set) var folders: Set<String> = []
    /// The file without links; nil when the path leads to no file.
    private(set) var file: String?

    /// As many links as Linux follows (path_resolution(7)).
    private static let maximumLinks = 40

    /// Follows an absolute path.
    init(to path: String) {
        var left = Self.parts(path)
        var folder = ""
        var links = 0
        while let name = left.popLast() {
            if name == ".." {
                folder = folder.lastIndex(of: "/").map { String(folder[..<$0]) } ?? ""
                continue
            }
            let place = folder + "/" + name
            var status = stat()
            let isThere = lstat(place, &status) == 0
            switch isThere ? status.st_mode & S_IFMT : 0 {
            case S_IFLNK:
                names[folder, default: []].insert(name)
                links += 1
                guard links <= Self.maximumLinks, let target = Self.target(of: place) else { return }
                if target.hasPrefix("/") { folder = "" }
                left += Self.parts(target)
            case S_IFDIR where !left.isEmpty:
                folder = place
                folders.insert(place)
            default:
                // A file, or nothing: in both cases this name decides. A file cannot contain further names.
                names[folder, default: []].insert(name)
                if isThere, left.isEmpty, status.st_mode & S_IFMT != S_IFDIR { file = place }
                return
            }
        }
    }

    /// Returns the parts of a path, the first one last.
    private static func parts(_ path: String) -> [String] {
        path.split(separator: "/").filter { $0 != "." }.reversed().map(String.init)
    }

    private static func target(of link: String) -> String? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(link, &buffer, buffer.count)
        return count > 0 ? String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
    }
}
