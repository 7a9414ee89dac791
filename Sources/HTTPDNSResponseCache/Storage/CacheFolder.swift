// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import Synchronization

/// The reason that the file of a response cannot be read.
enum CacheFileError: Error {
    /// The file is missing, is a link, or has other content than was written.
    case damaged
    /// The system refused, such as for want of a descriptor. The value is its error number. The file may be readable later.
    case unavailable(Int32)
}

/// The folder of a cache on disk, which one process has at a time. All calls block; none follows a link in the folder.
final class CacheFolder: Sendable {
    private static let suffix = ".response"
    private static let partSuffix = ".part"

    private let folder: OwnedFolder
    private let lastNumber = Atomic<UInt64>(0)
    /// The salt of the digests in its files.
    let salt: CacheSalt

    var path: String { folder.path }

    /// Opens a folder, and creates it when it is missing.
    /// - Throws: ``HTTPDNSClient/ResponseCache/Error``.
    init(_ path: String) throws(HTTPDNSClient.ResponseCache.Error) {
        do throws(FileFault) {
            folder = try OwnedFolder(path, of: "cache")
        } catch {
            throw Self.failure(error)
        }
        salt = Self.storedSalt(of: folder) ?? Self.newSalt(of: folder)
    }

    private static let saltName = "salt"

    private static func storedSalt(of folder: OwnedFolder) -> CacheSalt? {
        let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
        guard let file = OpenCacheFile(openat(folder.descriptor, saltName, flags)),
            let length = try? file.ownedLength(), let bytes = try? file.read(at: 0, count: Int(min(length, 64)))
        else { return nil }
        return CacheSalt(text: String(decoding: bytes, as: UTF8.self))
    }

    /// Returns a salt and writes it. One that cannot be written holds until the folder is opened again: responses for a credential
    /// are not found then.
    private static func newSalt(of folder: OwnedFolder) -> CacheSalt {
        let (salt, part) = (CacheSalt(), "0" + partSuffix)
        folder.remove(part)
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        guard let file = OpenCacheFile(openat(folder.descriptor, part, flags, 0o600)) else { return salt }
        if !file.write(Array(salt.text.utf8), at: 0)
            || renameat(folder.descriptor, part, folder.descriptor, saltName) != 0
        {
            folder.remove(part)
        }
        return salt
    }

    private static func failure(_ fault: FileFault) -> HTTPDNSClient.ResponseCache.Error {
        HTTPDNSClient.ResponseCache.Error(
            path: fault.path,
            message: "the cache folder \"\(fault.path.escaped(limit: 200))\" cannot be used: \(fault.reason)",
            reason: fault.reason,
            isPassing: fault.isPassing
        )
    }

    /// Checks that files can be created and removed. A full file system counts as usable: files can be removed.
    /// - Throws: ``HTTPDNSClient/ResponseCache/Error``, which may pass.
    func probe() throws(HTTPDNSClient.ResponseCache.Error) {
        var number: Int32?
        if let (_, name) = create() { number = remove(name) } else { number = errno }
        guard let number, number != ENOSPC, number != EDQUOT else { return }
        var fault = FileFault(path, "files cannot be created and removed: \(systemErrorText(number))")
        fault.isPassing = true
        throw Self.failure(fault)
    }

    // MARK: all files

    /// Reads the heads of all files, and removes those that are unfinished, damaged or for an earlier session. Files under
    /// other names than the cache gives are left alone.
    /// - Parameters:
    ///   - times: The times of arrival of the responses to keep, in milliseconds since 1970. The files of the others are
    ///     removed: they are too old, or from the future of a clock that was set back.
    ///   - onUnreadable: Called with the name and the error of each file that the system refuses to read. It is removed: it
    ///     may have a response that is invalidated later, without anybody knowing.
    ///   - remove: Removes a file; nil removes it now.
    /// - Returns: The stored responses, the oldest first.
    /// - Throws: ``HTTPDNSClient/ResponseCache/Error`` when the process lacks descriptors or memory. No file is removed then.
    func load(
        _ times: ClosedRange<Int64> = .min ... .max,
        onUnreadable: (String, Int32) -> Void = { _, _ in },
        remove: ((String) -> Void)? = nil
    ) throws(HTTPDNSClient.ResponseCache.Error) -> [(head: StoredHead, file: StoredFile)] {
        var found: [(head: StoredHead, file: StoredFile)] = []
        let remove = remove ?? { self.remove($0) }
        for name in try names() {
            if Self.isPart(name) {
                remove(name)
            } else if Self.isResponse(name) {
                do throws(CacheFileError) {
                    let stored = try read(name)
                    guard !stored.head.isForSession, times.contains(stored.head.responseTime) else { throw .damaged }
                    found.append(stored)
                } catch {
                    if case .unavailable(let number) = error {
                        if Self.shortages.contains(number) {
                            var fault = FileFault(path, "\(name) cannot be read: \(systemErrorText(number))")
                            fault.isPassing = true
                            throw Self.failure(fault)
                        }
                        onUnreadable(name, number)
                    }
                    remove(name)
                }
            }
        }
        return found.sorted { $0.head.responseTime < $1.head.responseTime }
    }

    /// The errors that concern the process and no file.
    private static let shortages: Set<Int32> = [EMFILE, ENFILE, ENOMEM]

    /// Whether a name is that of an unfinished file of a cache: digits and the suffix.
    private static func isPart(_ name: String) -> Bool {
        guard name.hasSuffix(partSuffix) else { return false }
        let number = name.utf8.dropLast(partSuffix.utf8.count)
        return !number.isEmpty && number.allSatisfy(\.isDigit)
    }

    /// Whether a name is that of a stored response: a digest, a number and the suffix.
    private static func isResponse(_ name: String) -> Bool {
        guard name.hasSuffix(suffix) else { return false }
        let parts = name.utf8.dropLast(suffix.utf8.count).split(
            separator: UInt8(ascii: "-"),
            omittingEmptySubsequences: false
        )
        return parts.count == 2 && parts[0].count == 64 && (1...16).contains(parts[1].count)
            && parts.joined().allSatisfy { digits.contains($0) }
    }

    private static let digits = Set("0123456789abcdef".utf8)

    private func names() throws(HTTPDNSClient.ResponseCache.Error) -> [String] {
        do throws(FileFault) {
            return try folder.names()
        } catch {
            throw Self.failure(error)
        }
    }

    private func read(_ name: String) throws(CacheFileError) -> (head: StoredHead, file: StoredFile) {
        let file = try openFile(name, O_RDONLY)
        let prefix = try file.read(at: 0, count: StoredFile.prefixLength)
        guard let lengths = StoredFile.lengths(prefix) else { throw .damaged }
        let bytes = try file.read(at: Int64(StoredFile.prefixLength), count: lengths.head)
        let stored = StoredFile(name: name, room: lengths.room, bodyLength: lengths.body)
        guard let head = StoredFile.head(prefix: prefix, bytes, checksum: lengths.checksum),
            try file.ownedLength() == stored.length
        else { throw .damaged }
        return (head, stored)
    }

    private func openFile(_ name: String, _ access: Int32) throws(CacheFileError) -> OpenCacheFile {
        let result = openat(folder.descriptor, name, access | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        let number = errno
        guard let file = OpenCacheFile(result) else {
            throw number == ENOENT || number == ELOOP ? CacheFileError.damaged : .unavailable(number)
        }
        return file
    }

    /// Removes a file.
    /// - Returns: The error number of the system; nil when the file is gone.
    @discardableResult
    func remove(_ name: String) -> Int32? { folder.remove(name) }

    // MARK: one file

    /// Opens a file for reading. It is damaged when it is no longer as long as it was.
    func open(_ file: StoredFile) throws(CacheFileError) -> OpenCacheFile {
        let open = try openFile(file.name, O_RDONLY)
        guard try open.ownedLength() == file.length else { throw .damaged }
        return open
    }

    /// Creates a file under a name of its own, which only ``finish(_:_:_:)`` makes the name of a response.
    func create() -> (file: OpenCacheFile, name: String)? {
        let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        while true {
            let number = lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
            let name = "\(number)\(Self.partSuffix)"
            if let file = OpenCacheFile(openat(folder.descriptor, name, flags, 0o600)) { return (file, name) }
            // A leftover of an earlier process, which is removed when the folder is read.
            guard errno == EEXIST else { return nil }
        }
    }

    /// Writes the start of a file, and gives it the name of its response.
    /// - Returns: The file; nil after an error of the file system, and the file is removed then.
    func finish(_ file: OpenCacheFile, _ part: String, _ head: StoredHead, room: Int, bodyLength: Int64) -> StoredFile?
    {
        let encoded = head.encoded
        // The same response may be stored again while the old file is still open: each file has a number of its own.
        let key = SHA256Hash.hexadecimal(of: "\(head.partition)\n\(head.url)\n\(head.vary.text)")
        let number = String(UInt64.random(in: .min ... .max), radix: 16)
        let stored = StoredFile(name: "\(key)-\(number)\(Self.suffix)", room: room, bodyLength: bodyLength)
        guard file.write(StoredFile.start(encoded, room: room, bodyLength: bodyLength), at: 0),
            renameat(folder.descriptor, part, folder.descriptor, stored.name) == 0
        else {
            remove(part)
            return nil
        }
        return stored
    }

    /// Writes another head into a file. It is damaged when it has no room for the head, or when the head was not written
    /// whole.
    func update(_ file: StoredFile, _ head: StoredHead) throws(CacheFileError) {
        let encoded = head.encoded
        guard encoded.count <= file.room,
            try openFile(file.name, O_RDWR)
                .write(StoredFile.start(encoded, room: file.room, bodyLength: file.bodyLength), at: 0)
        else { throw .damaged }
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

    /// Returns the length of a regular file of this user with one name; nil for anything else.
    func ownedLength() throws(CacheFileError) -> Int64? {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .unavailable(errno) }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
            status.st_nlink <= 1
        else { return nil }
        return Int64(status.st_size)
    }

    /// Reads exactly `count` bytes. With fewer the file is damaged.
    func read(at offset: Int64, count: Int) throws(CacheFileError) -> [UInt8] {
        var failure: Int32?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            while initialized < count {
                let start = UnsafeMutableRawPointer(buffer.baseAddress)?.advanced(by: initialized)
                let got = pread(descriptor, start, count - initialized, off_t(offset) + off_t(initialized))
                if got < 0, errno == EINTR { continue }
                if got < 0 { failure = errno }
                guard got > 0 else { return }
                initialized += got
            }
        }
        if let failure { throw .unavailable(failure) }
        guard bytes.count == count else { throw .damaged }
        return bytes
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
