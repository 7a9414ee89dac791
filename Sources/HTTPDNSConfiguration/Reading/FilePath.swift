internal import Glibc

/// Paths of files in the configuration.
enum FilePath {
    /// Returns the path relative to the folder of the configuration file.
    static func resolve(_ path: String, besideFile file: String) -> String {
        guard !path.hasPrefix("/"), let slash = file.lastIndex(of: "/") else { return path }
        return file[...slash] + path
    }

    /// Returns the absolute path; nil when the working directory was removed.
    static func absolute(_ path: String) -> String? {
        if path.hasPrefix("/") { return path }
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        guard getcwd(&buffer, buffer.count) != nil else { return nil }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self) + "/" + path
    }

    /// Returns the last part of a path.
    static func name(_ path: String) -> Substring {
        path.lastIndex(of: "/").map { path[path.index(after: $0)...] } ?? path[...]
    }

    /// Returns the system's reason that a file cannot be read; nil when it can.
    static func whyUnreadable(_ path: String) -> String? {
        var status = stat()
        guard !path.utf8.contains(0) else { return "the path holds a NUL" }
        guard stat(path, &status) == 0, access(path, R_OK) == 0 else { return FileContents.reason(errno) }
        return status.st_mode & S_IFMT == S_IFDIR ? "it is a folder" : nil
    }

    /// Returns the reason that a path can never be that of a file; nil when it can, whether or not there is one yet.
    static func whyNoFile(_ path: String) -> String? {
        guard !path.utf8.contains(0) else { return "the path holds a NUL" }
        var status = stat()
        if path.hasSuffix("/") { return "it is a folder" }
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR ? "it is a folder" : nil
    }
}
