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
        do {
            let count = try await write(to: file, upTo: limit)
            try await file.finish()
            return count
        } catch {
            file.discard()
            throw error
        }
    }

    /// Writes the body to the end of a file, which stays open.
    func write(to file: FileSaving, upTo limit: HTTPDNSClient.ByteLimit = .inherited) async throws -> Int64 {
        var count: Int64 = 0
        var waiting: [UInt8] = []
        do {
            for try await chunk in self {
                count += Int64(chunk.count)
                if let bytes = limit.bytes, count > bytes {
                    throw HTTPDNSClientError.bodyTooLong(limit: .bytes(bytes), on: hop)
                }
                if waiting.isEmpty { waiting = chunk } else { waiting += chunk }
                guard waiting.count >= HTTPDNSClient.Response.Body.portion else { continue }
                let portion = waiting
                waiting = []
                try await file.append(portion)
            }
        } catch {
            // A later download begins after the last byte that was received.
            if file.isResumed, !waiting.isEmpty { try? await file.appendUncanceled(waiting) }
            throw error
        }
        if !waiting.isEmpty { try await file.append(waiting) }
        return count
    }
}

/// A file that is written outside the threads of the concurrency pool.
struct FileSaving: Sendable {
    private let file: ReplacedFile
    private let work = SerialWork(on: ThreadPool.files)
    /// Whether the bytes stay for a later download when this one fails.
    let isResumed: Bool

    /// The path of the file, with links resolved.
    var path: String { file.path }

    /// - Throws: ``HTTPDNSClientError`` with code `fileFailed`; `CancellationError`.
    init(_ path: String, _ policy: HTTPDNSClient.Download.ExistingFile = .replace) async throws {
        let work = self.work
        let isResumed = policy == .resume
        self.isResumed = isResumed
        file = try await FileSaving.named(path, .request) {
            try await work.run { try ReplacedFile(path, ending: policy.ending, continuesPart: isResumed) }
        }
    }

    /// Runs work that waits for the disk.
    /// - Throws: ``HTTPDNSClientError`` with code `fileFailed`; `CancellationError`.
    func perform<Value: Sendable>(_ body: @escaping @Sendable (ReplacedFile) throws -> Value) async throws -> Value {
        try await FileSaving.named(file.path, .body) { [file] in try await work.run { try body(file) } }
    }

    /// Appends bytes also in a canceled task.
    func appendUncanceled(_ bytes: [UInt8]) async throws {
        try await Task { try await append(bytes) }.value
    }

    func append(_ bytes: [UInt8]) async throws {
        try await FileSaving.named(file.path, .body) { try await work.run { [file] in try file.append(bytes) } }
    }

    /// Finishes the file. A rename cannot be undone: cancellation takes effect before it or not at all.
    /// - Returns: The path of the file.
    @discardableResult
    func finish() async throws -> String {
        try Task.checkCancellation()
        let (file, work) = (self.file, self.work)
        return try await FileSaving.named(file.path, .body) {
            try await Task { try await work.run { try file.finish() } }.value
        }
    }

    /// Finishes the file, and removes the state of a download that was continued.
    /// - Returns: The number of bytes in the file, and its path.
    func finishCounted() async throws -> (Int64, String) {
        let length = try await perform(\.length)
        let path = try await finish()
        if isResumed { await removeState() }
        return (length, path)
    }

    /// Keeps nothing for a later download.
    func forget() async {
        guard isResumed else { return }
        await removeState()
        _ = try? await perform { try $0.truncate(to: 0) }
    }

    private func removeState() async {
        _ = try? await Task { try await perform { PartialDownload.remove(for: $0) } }.value
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
