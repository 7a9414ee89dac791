internal import Glibc

/// The permissions of other users on a configuration file. A user with write access decides where requests go.
enum FilePermissions {
    /// Returns the reason that users other than the owner may change the file of the path; nil when none may.
    ///
    /// It checks the file, its folder, and for a link the link's folder too.
    static func fault(_ path: String) -> (reason: String, hint: String)? {
        guard let file = status(path), isWritableByOthers(file) else {
            let target = realpath(path, nil)
            defer { free(target) }
            let paths = [path] + (target.map { [String(cString: $0)] } ?? [])
            return paths.lazy.compactMap { folderFault(folder(of: $0)) }.first
        }
        return ("others may write it (mode \(octal(file.st_mode)))", "chmod go-w \(path)")
    }

    private static func folderFault(_ folder: String) -> (reason: String, hint: String)? {
        // With the sticky bit only the owner of a file may replace it (chmod(2)).
        guard let status = status(folder), status.st_mode & S_ISVTX == 0, isWritableByOthers(status) else { return nil }
        return (
            "others may replace it: they may write the folder \(folder) (mode \(octal(status.st_mode)))",
            "chmod go-w \(folder)"
        )
    }

    private static func isWritableByOthers(_ status: stat) -> Bool {
        if status.st_mode & S_IWOTH != 0 { return true }
        // A user's own group has the same number as the user, where each user has one.
        return status.st_mode & S_IWGRP != 0 && status.st_gid != status.st_uid
    }

    /// Returns nil as well on a read-only file system, such as a ConfigMap's.
    private static func status(_ path: String) -> stat? {
        var (status, system) = (stat(), statvfs())
        guard stat(path, &status) == 0 else { return nil }
        guard statvfs(path, &system) != 0 || system.f_flag & UInt(ST_RDONLY) == 0 else { return nil }
        return status
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func octal(_ mode: mode_t) -> String { "0" + String(mode & 0o7777, radix: 8) }
}
