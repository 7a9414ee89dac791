// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNSPrimitives

/// Reading of whole files as UTF-8 text, with a limit.
enum FileContents {
    /// The maximum size of a file: a million rules of 16 bytes, far above what one file should hold.
    static let limit = 16 << 20

    /// Returns the text of a file.
    static func read(_ path: String) throws(HTTPDNSConfigurationFileError) -> String {
        try text(try reading(path).bytes, file: path)
    }

    /// Checks that bytes are UTF-8 text without NUL.
    static func text(_ bytes: [UInt8], file: String) throws(HTTPDNSConfigurationFileError) -> String {
        if bytes.starts(with: [0xff, 0xfe]) || bytes.starts(with: [0xfe, 0xff]) {
            throw HTTPDNSConfigurationFileError(file, "the file is UTF-16; allowed: UTF-8", hint: "save it as UTF-8")
        }
        if !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) { return text }
        if let offset = firstBadByte(in: bytes) {
            let before = String(decoding: bytes[..<offset], as: UTF8.self)
            let position = Position(of: before.endIndex, in: before)
            throw HTTPDNSConfigurationFileError(
                file,
                "byte \(offset) (0x\(String(bytes[offset], radix: 16))) is not UTF-8; allowed: UTF-8 text",
                at: position,
                hint: "save the file as UTF-8"
            )
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The reads in progress and their callers, by path: one that hangs is the only one of its file, however often the
    /// file is needed.
    static let reads = Lock<[String: (read: SharedRead<WatchedFileReading>, callers: Int)]>([:])

    /// Returns the bytes of a file as they are after the call.
    /// - Parameter patience: The time that a pipe's writer may take. The calling thread waits for a file system that
    ///   hangs a little longer than that.
    static func reading(
        _ path: String,
        patience: Duration = SmallFile.patience
    ) throws(HTTPDNSConfigurationFileError) -> WatchedFileReading {
        let read = reads.withLock { reads in
            let (read, callers) = reads[path] ?? (read: SharedRead<WatchedFileReading>(), callers: 0)
            reads[path] = (read: read, callers: callers + 1)
            return read
        }
        defer {
            reads.withLock { reads in
                let callers = (reads[path]?.callers ?? 1) - 1
                let isNeeded = callers > 0 || read.startedAt != nil
                reads[path] = isNeeded ? (read: read, callers: callers) : nil
            }
        }
        let body = { @Sendable () throws -> WatchedFileReading in
            try readingNow(path, name: path, patience: patience)
        }
        let end = SystemTimeSource().now() + patience + .seconds(5)
        do {
            // One that began before may have the bytes of an earlier version.
            if read.startedAt != nil { _ = try? read.valueNow(within: end - SystemTimeSource().now(), body) }
            return try read.valueNow(within: end - SystemTimeSource().now(), body)
        } catch let error as HTTPDNSConfigurationFileError {
            throw error
        } catch SharedReadError.noThread {
            return try readingNow(path, name: path, patience: patience)
        } catch {
            throw HTTPDNSConfigurationFileError(path, "the configuration file cannot be read: \(error)")
        }
    }

    /// Returns the bytes of a file. It blocks during the disk access.
    /// - Parameters:
    ///   - name: The name in errors.
    ///   - patience: The time that a pipe's writer may take; nil to read only a regular file.
    static func readingNow(
        _ path: String,
        name: String,
        patience: Duration?
    ) throws(HTTPDNSConfigurationFileError) -> WatchedFileReading {
        guard !path.utf8.contains(0) else { throw HTTPDNSConfigurationFileError(name, "the path holds a NUL") }
        // Opening a pipe without a writer would block.
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(name, errno) }
        defer { close(descriptor) }
        let before = FileStatus(descriptor: descriptor)
        let isPlain = before?.isPlain ?? true
        if patience == nil, !isPlain {
            throw HTTPDNSConfigurationFileError(name, "it is no regular file, and only such a one can be read again")
        }
        do throws(SmallFile.Unreadable) {
            let bytes = try SmallFile.content(
                of: descriptor,
                isRegular: isPlain,
                maximum: limit,
                patience: patience ?? .zero
            )
            let isSteady = before == FileStatus(descriptor: descriptor)
            return WatchedFileReading(bytes: bytes, sight: before, isSteady: isSteady)
        } catch {
            if error.isTooLarge {
                throw HTTPDNSConfigurationFileError(
                    name,
                    "the file is larger than \(HTTPDNSByteCount.bytes(limit))",
                    hint: "is it a configuration file?"
                )
            }
            if error.number != 0 { throw failure(name, error.number) }
            throw HTTPDNSConfigurationFileError(name, "the configuration file cannot be read: \(error.reason)")
        }
    }

    private static func failure(_ path: String, _ code: Int32) -> HTTPDNSConfigurationFileError {
        let hint: String? =
            switch code {
            case ENOENT: path.isEmpty ? "the path is empty" : "check the path; it is as seen from the working directory"
            case EACCES: "the process's user needs the right to read it"
            case EISDIR: "name the file inside it"
            default: nil
            }
        let message = "the configuration file cannot be read: \(systemErrorText(code))"
        return HTTPDNSConfigurationFileError(path, message, hint: hint)
    }

    /// Returns the index of the first sequence that RFC 3629 does not allow, or of a NUL, which no text contains.
    private static func firstBadByte(in bytes: [UInt8]) -> Int? {
        var decoder = UTF8()
        var iterator = bytes.makeIterator()
        var offset = 0
        while true {
            switch decoder.decode(&iterator) {
            case .scalarValue("\0"): return offset
            case .scalarValue(let scalar): offset += UTF8.width(scalar)
            case .emptyInput: return nil
            case .error: return offset
            }
        }
    }
}

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
        guard stat(path, &status) == 0, access(path, R_OK) == 0 else { return systemErrorText(errno) }
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
