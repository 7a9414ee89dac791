internal import Glibc

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
