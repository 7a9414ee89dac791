// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

/// A regular file that is read in pieces, on threads of ``ThreadPool/files``. Its last reference closes it.
package final class ReadableFile: Sendable {
    /// The number of bytes per read. A read may start a thread, which costs as much as copying a tenth of this.
    private static let portion = 256 * 1024

    private let path: String
    private let descriptor: Int32
    /// The length of the file when it was opened.
    package let length: Int64
    private let work = SerialWork(on: ThreadPool.files)

    /// - Parameter lockLimit: The longest wait for the lock of the file; nil for no lock.
    private init(_ path: String, lockLimit: Duration? = nil) throws(FileFault) {
        // A pipe without a writer would block the call.
        let descriptor = Self.openedForReading(path)
        guard descriptor >= 0 else { throw FileFault(path, errno) }
        do throws(FileFault) {
            // The length is that of the complete bytes only when nothing writes them in place.
            if let lockLimit { try ReplacedFile.lock(descriptor, of: path, isShared: true, waiting: lockLimit) }
        } catch {
            close(descriptor)
            throw error
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw FileFault(path, "it is no regular file")
        }
        // Files of the kernel (/proc, /sys) report a size of 0, whatever their content.
        var byte: UInt8 = 0
        guard status.st_size > 0 || pread(descriptor, &byte, 1, 0) <= 0 else {
            close(descriptor)
            throw FileFault(path, "it says that it is empty, and is not")
        }
        self.path = path
        self.descriptor = descriptor
        length = Int64(status.st_size)
    }

    deinit { close(descriptor) }

    /// - Throws: ``HTTPDNSClientError`` with code `requestBodyFailed`, or `timedOut` at the deadline, whatever the file system
    ///   does; `CancellationError`.
    static func open(_ path: String, until deadline: MonotonicTime?) async throws -> ReadableFile {
        do {
            return try await SerialWork(on: ThreadPool.files).run(until: deadline) { try ReadableFile(path) }
        } catch let fault as FileFault {
            throw HTTPDNSClientError.unreadable(fault)
        } catch is SerialWork.Overdue {
            throw HTTPDNSClientError.bodyOverdue(
                while: "the file of the request's body was opened: \(path.escaped(limit: 200))"
            )
        } catch is SerialWork.NoThread {
            throw HTTPDNSClientError.unreadable(FileFault(path, EAGAIN))
        }
    }

    /// Opens a file that is not the body of a request.
    /// - Throws: ``FileFault``, also after ``SmallFile/patience``; `CancellationError`.
    package static func open(_ path: String) async throws -> ReadableFile {
        try await onThread(of: SerialWork(on: ThreadPool.files), path) { try ReadableFile(path) }
    }

    /// Returns the first bytes of a file: `limit` bytes, or all of a shorter file. It waits for the disk.
    /// - Parameter lockLimit: The longest wait for another process that writes the file in place; nil for
    ///   ``ReplacedFile/lockLimit``.
    package static func contents(
        of path: String,
        upTo limit: Int = .max,
        waiting lockLimit: Duration? = nil
    ) throws(FileFault) -> [UInt8] {
        let file = try ReadableFile(path, lockLimit: lockLimit ?? ReplacedFile.lockLimit)
        defer { ReplacedFile.unlock(file.descriptor) }
        var bytes: [UInt8] = []
        while bytes.count < file.length, bytes.count < limit { bytes += try file.readNow(at: Int64(bytes.count)) }
        return Array(bytes.prefix(limit))
    }

    /// Reads the bytes at an offset below the length: at least one, and never beyond the length.
    /// - Throws: ``FileFault``, also after ``SmallFile/patience``; `CancellationError`.
    package func read(at offset: Int64) async throws -> [UInt8] {
        try await Self.onThread(of: work, path) { [self] in try readNow(at: offset) }
    }

    /// A file system that hangs must not keep a body without a time limit of its own.
    private static func onThread<Value: Sendable>(
        of work: SerialWork,
        _ path: String,
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        do {
            return try await work.run(until: SystemTimeSource().now() + SmallFile.patience, body)
        } catch is SerialWork.NoThread {
            throw FileFault(path, EAGAIN)
        } catch is SerialWork.Overdue {
            throw FileFault(path, "\(SharedReadError.overdue)")
        }
    }

    private func readNow(at offset: Int64) throws(FileFault) -> [UInt8] {
        let capacity = Int(min(Int64(Self.portion), length - offset))
        var number: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, initialized in
            repeat {
                let count = pread(descriptor, buffer.baseAddress, capacity, off_t(offset))
                number = count < 0 ? errno : 0
                initialized = max(0, count)
            } while number == EINTR
        }
        guard number == 0 else { throw FileFault(path, number) }
        guard !bytes.isEmpty else {
            throw FileFault(path, "it was cut to \(offset) of its \(length) bytes while it was read")
        }
        return bytes
    }

    private static func openedForReading(_ path: String) -> Int32 {
        Glibc.open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
    }
}
