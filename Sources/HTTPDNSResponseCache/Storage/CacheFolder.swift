// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import Synchronization

/// The folder of a cache on disk, which one process has at a time. All calls block; none follows a link in the folder.
final class CacheFolder: Sendable {
    private static let suffix = ".response"
    private static let partSuffix = ".part"

    let path: String
    private let descriptor: Int32
    private let lastNumber = Atomic<UInt64>(0)

    /// Opens a folder, and creates it when it is missing.
    /// - Throws: ``HTTPDNSClient/ResponseCache/Error``.
    init(_ path: String) throws(HTTPDNSClient.ResponseCache.Error) {
        guard !path.isEmpty, !path.utf8.contains(0) else { throw Self.failure(path, "the path is empty or has a NUL") }
        let path = Self.withoutEnd(path)
        if mkdir(path, 0o700) != 0, errno != EEXIST {
            throw Self.failure(path, "it cannot be created: \(systemErrorText(errno)); create the folder above it")
        }
        let descriptor = Self.opened(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.failure(path, "it cannot be opened: \(systemErrorText(errno))") }
        if let reason = Self.refusal(of: descriptor) {
            close(descriptor)
            throw Self.failure(path, reason)
        }
        self.path = path
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    private static func refusal(of descriptor: Int32) -> String? {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return systemErrorText(errno) }
        guard status.st_uid == geteuid() else {
            return "it belongs to user \(status.st_uid), and this process runs as user \(geteuid())"
        }
        guard status.st_mode & 0o077 == 0 else { return "other users may open it; set its permissions to 0700" }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            return errno == EWOULDBLOCK
                ? "another process or cache uses it; give each process a folder of its own" : systemErrorText(errno)
        }
        return nil
    }

    private static func failure(_ path: String, _ reason: String) -> HTTPDNSClient.ResponseCache.Error {
        HTTPDNSClient.ResponseCache.Error(
            path: path,
            message: "the cache folder \"\(path.escaped(limit: 200))\" cannot be used: \(reason)"
        )
    }

    /// Returns a path without slashes and dots at its end: before them the system follows a link.
    private static func withoutEnd(_ path: String) -> String {
        var rest = path[...]
        while rest.utf8.count > 1, rest.hasSuffix("/") || rest.hasSuffix("/.") { rest.removeLast() }
        return String(rest)
    }

    private static func opened(_ path: String, _ flags: Int32) -> Int32 { Glibc.open(path, flags) }

    // MARK: all files

    /// Reads the heads of all files, and removes those that are unfinished, damaged or for an earlier session.
    /// - Parameter times: The times of arrival of the responses to keep, in milliseconds since 1970. The files of the
    ///   others are removed: they are too old, or from the future of a clock that was set back.
    /// - Returns: The stored responses, the oldest first.
    func load(_ times: ClosedRange<Int64> = .min ... .max) -> [(head: StoredHead, file: StoredFile)] {
        var found: [(head: StoredHead, file: StoredFile)] = []
        for name in names() {
            if name.hasSuffix(Self.partSuffix) {
                remove(name)
            } else if name.hasSuffix(Self.suffix) {
                if let stored = read(name), !stored.head.isForSession, times.contains(stored.head.responseTime) {
                    found.append(stored)
                } else {
                    remove(name)
                }
            }
        }
        return found.sorted { $0.head.responseTime < $1.head.responseTime }
    }

    /// Returns the names of all files in the folder.
    private func names() -> [String] {
        // The stream of names owns its descriptor.
        let copy = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0, let stream = fdopendir(copy) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            names.append(name)
        }
        return names
    }

    private func read(_ name: String) -> (head: StoredHead, file: StoredFile)? {
        guard let file = OpenCacheFile(openat(descriptor, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)) else {
            return nil
        }
        guard let prefix = file.read(at: 0, count: StoredFile.prefixLength), let lengths = StoredFile.lengths(prefix),
            let bytes = file.read(at: Int64(StoredFile.prefixLength), count: lengths.head),
            let head = StoredFile.head(prefix: prefix, bytes, checksum: lengths.checksum)
        else { return nil }
        let stored = StoredFile(name: name, room: lengths.room, bodyLength: lengths.body)
        return file.ownedLength == stored.length ? (head, stored) : nil
    }

    func remove(_ name: String) { unlinkat(descriptor, name, 0) }

    // MARK: one file

    /// Opens a file for reading; nil when it is gone or is no longer as long as it was.
    func open(_ file: StoredFile) -> OpenCacheFile? {
        guard let open = OpenCacheFile(openat(descriptor, file.name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)),
            open.ownedLength == file.length
        else { return nil }
        return open
    }

    /// Creates a file under a name of its own, which only ``finish(_:_:_:)`` makes the name of a response.
    func create() -> (file: OpenCacheFile, name: String)? {
        let number = lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
        let name = "\(number)\(Self.partSuffix)"
        let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        return OpenCacheFile(openat(descriptor, name, flags, 0o600)).map { ($0, name) }
    }

    /// Writes the start of a file, and gives it the name of its response.
    /// - Returns: The file; nil after an error of the file system, and the file is removed then.
    func finish(_ file: OpenCacheFile, _ part: String, _ head: StoredHead, room: Int, bodyLength: Int64) -> StoredFile?
    {
        let encoded = head.encoded
        // The same response may be stored again while the old file is still open: each file has a number of its own.
        let key = SHA256.hexadecimal(of: "\(head.partition)\n\(head.url)\n\(head.vary.text)")
        let number = String(UInt64.random(in: .min ... .max), radix: 16)
        let stored = StoredFile(name: "\(key)-\(number)\(Self.suffix)", room: room, bodyLength: bodyLength)
        guard file.write(StoredFile.start(encoded, room: room, bodyLength: bodyLength), at: 0),
            renameat(descriptor, part, descriptor, stored.name) == 0
        else {
            remove(part)
            return nil
        }
        return stored
    }

    /// Writes another head into a file.
    /// - Returns: Whether it has room for it, and was written.
    func update(_ file: StoredFile, _ head: StoredHead) -> Bool {
        let encoded = head.encoded
        guard encoded.count <= file.room,
            let open = OpenCacheFile(openat(descriptor, file.name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC))
        else { return false }
        return open.write(StoredFile.start(encoded, room: file.room, bodyLength: file.bodyLength), at: 0)
    }
}

/// An open file of a cache. Its last reference closes it.
final class OpenCacheFile: Sendable {
    private let descriptor: Int32

    /// Takes ownership of the result of `open`; nil if that was an error.
    init?(_ descriptor: Int32) {
        guard descriptor >= 0 else { return nil }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// The length of a regular file of this user with one name; nil for anything else.
    var ownedLength: Int64? {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
            status.st_nlink <= 1
        else { return nil }
        return Int64(status.st_size)
    }

    /// Reads exactly `count` bytes; nil when there are fewer, and after an error.
    func read(at offset: Int64, count: Int) -> [UInt8]? {
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            while initialized < count {
                let start = UnsafeMutableRawPointer(buffer.baseAddress)?.advanced(by: initialized)
                let got = pread(descriptor, start, count - initialized, off_t(offset) + off_t(initialized))
                if got < 0, errno == EINTR { continue }
                guard got > 0 else { return }
                initialized += got
            }
        }
        return bytes.count == count ? bytes : nil
    }

    /// Writes all bytes.
    /// - Returns: Whether the file system took them.
    func write(_ bytes: [UInt8], at offset: Int64) -> Bool {
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                let start = buffer.baseAddress?.advanced(by: written)
                return pwrite(descriptor, start, buffer.count - written, off_t(offset) + off_t(written))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            written += count
        }
        return true
    }
}

extension VaryFields {
    /// The values on one line each, for a digest.
    var text: String { fields.map { "\($0.name):\($0.value ?? "-")" }.joined(separator: "\n") }
}
