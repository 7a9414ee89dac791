// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNS
internal import HTTPDNSPrimitives

/// The folder of a file store, which one process has at a time. All calls block; none follows a link in the folder.
final class RecordFolder: Sendable {
    private static let prefix = "traffic-"
    private static let suffix = ".jsonl"

    private let folder: OwnedFolder

    var path: String { folder.path }

    /// Opens a folder, and creates it when it is missing.
    /// - Throws: ``HTTPDNSTrafficMonitor/Error``.
    init(_ path: String) throws(HTTPDNSTrafficMonitor.Error) {
        do throws(FileFault) {
            folder = try OwnedFolder(path, of: "store")
        } catch {
            throw Self.failure(error)
        }
    }

    /// Frees the folder for another process or store.
    func unlock() { folder.unlock() }

    private static func failure(_ fault: FileFault) -> HTTPDNSTrafficMonitor.Error {
        HTTPDNSTrafficMonitor.Error(path: fault.path, "the folder cannot be used: \(fault.reason)")
    }

    private static func name(_ number: UInt64) -> String {
        let digits = String(number)
        return prefix + String(repeating: "0", count: max(0, 10 - digits.count)) + digits + suffix
    }

    // MARK: files

    /// Reads all files, and cuts off the unfinished last line of each, which a process left that was killed.
    /// - Returns: The files, in no order.
    /// - Throws: ``HTTPDNSTrafficMonitor/Error`` for the folder, and for a file that cannot be read or cut.
    func load() throws(HTTPDNSTrafficMonitor.Error) -> [SegmentList.Segment] {
        var segments: [SegmentList.Segment] = []
        for name in try names() {
            guard name.hasPrefix(Self.prefix), name.hasSuffix(Self.suffix),
                let number = UInt64(name.dropFirst(Self.prefix.count).dropLast(Self.suffix.count)),
                name == Self.name(number)
            else { continue }
            do throws(FileFault) {
                if let segment = try load(number) { segments.append(segment) }
            } catch {
                throw HTTPDNSTrafficMonitor.Error(
                    path: path + "/" + name,
                    "the file of records cannot be used: \(error.reason); move it out of the folder, or change its permissions"
                )
            }
        }
        return segments
    }

    /// - Returns: Nil for a file without a whole line, which is removed.
    private func load(_ number: UInt64) throws(FileFault) -> SegmentList.Segment? {
        try check(number)
        let bytes = try read(number)
        let end = bytes.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        guard end > 0 else {
            guard unlinkat(folder.descriptor, Self.name(number), 0) == 0 else { throw FileFault(path, errno) }
            return nil
        }
        if end < bytes.count { try cut(number, to: end) }
        let time = WallClock.modificationTime(of: Self.name(number), in: folder.descriptor) ?? 0
        return SegmentList.Segment(
            number: number,
            bytes: Int64(end),
            records: bytes[..<end].count { $0 == UInt8(ascii: "\n") },
            firstTime: time,
            lastTime: time
        )
    }

    private func cut(_ number: UInt64, to length: Int) throws(FileFault) {
        let file = openat(folder.descriptor, Self.name(number), O_WRONLY | O_NOFOLLOW | O_CLOEXEC)
        guard file >= 0 else { throw FileFault(path, errno) }
        defer { close(file) }
        guard ftruncate(file, off_t(length)) == 0 else { throw FileFault(path, errno) }
    }

    private func names() throws(HTTPDNSTrafficMonitor.Error) -> [String] {
        do throws(FileFault) {
            return try folder.names()
        } catch {
            throw Self.failure(error)
        }
    }

    private func check(_ number: UInt64) throws(FileFault) {
        var status = stat()
        guard fstatat(folder.descriptor, Self.name(number), &status, AT_SYMLINK_NOFOLLOW) == 0 else {
            throw FileFault(path, errno)
        }
        guard status.st_mode & S_IFMT == S_IFREG else { throw FileFault(path, "it is no regular file") }
    }

    /// Returns the bytes of a file.
    func read(_ number: UInt64) throws(FileFault) -> [UInt8] {
        let file = openat(folder.descriptor, Self.name(number), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { throw FileFault(path, errno) }
        defer { close(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 256 * 1024)
        while true {
            let count = Glibc.read(file, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw FileFault(path, errno) }
            guard count > 0 else { return bytes }
            bytes += chunk[..<count]
        }
    }

    /// Appends a line to a file, which is created when it is missing. After an error the file has its earlier length.
    /// - Throws: ``FileFault``.
    func append(_ line: [UInt8], to number: UInt64, at offset: Int64) throws(FileFault) {
        let flags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC
        let file = openat(folder.descriptor, Self.name(number), flags, 0o600)
        guard file >= 0 else { throw FileFault(path, errno) }
        defer { close(file) }
        var written = 0
        while written < line.count {
            let count = line.withUnsafeBytes { buffer in
                write(file, buffer.baseAddress?.advanced(by: written), buffer.count - written)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                let fault = FileFault(path, errno)
                ftruncate(file, off_t(offset))
                throw fault
            }
            written += count
        }
    }

    func remove(_ number: UInt64) { folder.remove(Self.name(number)) }
}
