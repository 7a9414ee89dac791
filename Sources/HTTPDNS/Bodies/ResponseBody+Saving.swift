// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSPrimitives

extension HTTPDNSClient.Response.Body {
    /// The number of bytes per write. A write may start a thread, which costs as much as copying a tenth of this.
    private static let portion = 256 * 1024

    /// Writes the body to a file, which appears whole or not at all. The bytes are written to another name in the same
    /// folder, and renamed when the last byte is on the disk. After a failure or cancellation, the previous file
    /// remains and nothing else.
    ///
    /// The file is written on one of 16 threads that all files of the process share. A slow disk slows the server down.
    /// A new file gets the permissions that the umask leaves. A replacement gets the permissions of the previous file,
    /// and its owner and group as far as the process may set them. Only the end of the whole process can leave a file
    /// behind, `.httpdns-….part`.
    /// - Parameters:
    ///   - path: A path in an existing folder. A link stays a link: its target is replaced.
    ///   - limit: The most bytes that are saved; ``HTTPDNSClient/ByteLimit/inherited`` means no limit besides that of
    ///     the request.
    /// - Returns: The number of bytes.
    /// - Throws: ``HTTPDNSClientError``, with code `fileFailed` for errors of the file system, and with
    ///   `responseTooLarge` for a body over the limit; `CancellationError`.
    @discardableResult
    public func save(to path: String, upTo limit: HTTPDNSClient.ByteLimit = .inherited) async throws -> Int64 {
        if let bytes = limit.bytes, let declaredLength, declaredLength > bytes {
            throw HTTPDNSClientError.bodyTooLong(limit: .bytes(bytes), on: hop)
        }
        return try await save(to: try await FileSaving(path), upTo: limit)
    }

    func save(to file: FileSaving, upTo limit: HTTPDNSClient.ByteLimit = .inherited) async throws -> Int64 {
        var count: Int64 = 0
        do {
            var waiting: [UInt8] = []
            for try await chunk in self {
                count += Int64(chunk.count)
                if let bytes = limit.bytes, count > bytes {
                    throw HTTPDNSClientError.bodyTooLong(limit: .bytes(bytes), on: hop)
                }
                if waiting.isEmpty { waiting = chunk } else { waiting += chunk }
                guard waiting.count >= HTTPDNSClient.Response.Body.portion else { continue }
                try await file.append(waiting)
                waiting = []
            }
            if !waiting.isEmpty { try await file.append(waiting) }
            try await file.finish()
        } catch {
            file.discard()
            throw error
        }
        return count
    }
}

/// A file that is written outside the threads of the concurrency pool.
struct FileSaving: Sendable {
    private let file: ReplacedFile
    private let work = SerialWork(on: ThreadPool.files)

    /// The path of the file, with links resolved.
    var path: String { file.path }

    /// - Throws: ``HTTPDNSClientError`` with code `fileFailed`; `CancellationError`.
    init(_ path: String) async throws {
        let work = self.work
        file = try await FileSaving.named(path, .request) { try await work.run { try ReplacedFile(path) } }
    }

    func append(_ bytes: [UInt8]) async throws {
        try await FileSaving.named(file.path, .body) { try await work.run { [file] in try file.append(bytes) } }
    }

    /// Finishes the file. A rename cannot be undone: cancellation takes effect before it or not at all.
    func finish() async throws {
        try Task.checkCancellation()
        let (file, work) = (self.file, self.work)
        try await FileSaving.named(file.path, .body) {
            try await Task { try await work.run { try file.finish() } }.value
        }
    }

    func discard() { file.discard() }

    private static func named<Value: Sendable>(
        _ path: String,
        _ phase: HTTPDNSClientError.Phase,
        _ body: () async throws -> Value
    ) async throws -> Value {
        do {
            return try await body()
        } catch let fault as FileFault {
            throw HTTPDNSClientError.unwritable(fault, phase)
        } catch is SerialWork.NoThread {
            throw HTTPDNSClientError.unwritable(FileFault(path, "the system gave no thread to write it"), phase)
        }
    }
}
