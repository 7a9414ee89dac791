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
    /// The time limit of the call covers the file. On a file system that hangs, the part is removed when it answers.
    /// A new file gets the permissions that the umask leaves. A replacement gets the permissions of the previous file,
    /// and its owner and group as far as the process may set them. Only the end of the whole process can leave a file
    /// behind, `.httpdns-….part`.
    /// - Parameters:
    ///   - path: A path in an existing folder. A link stays a link: its target is replaced.
    ///   - limit: The most bytes that are saved; nil means no limit besides that of the request.
    /// - Returns: The number of bytes.
    /// - Throws: ``HTTPDNSClientError``, with code `fileFailed` for errors of the file system, and with
    ///   `responseTooLarge` for a body over the limit, and with `timedOut`; `CancellationError`.
    @discardableResult
    public func save(to path: String, upTo limit: HTTPDNSByteCount? = nil) async throws -> Int64 {
        if let bytes = limit?.bytes, let declaredLength, declaredLength > bytes {
            throw HTTPDNSClientError.bodyTooLong(limit: .bytes(bytes), on: hop)
        }
        return try await save(to: try await FileSaving(path, in: .body, of: hop?.time), upTo: limit)
    }

    func save(to file: FileSaving, upTo limit: HTTPDNSByteCount? = nil) async throws -> Int64 {
        do {
            let count = try await write(to: file, upTo: limit)
            try await file.finish()
            return count
        } catch {
            await file.discard(after: error)
            throw error
        }
    }

    /// Writes the body to the end of a file, which stays open.
    func write(to file: FileSaving, upTo limit: HTTPDNSByteCount? = nil) async throws -> Int64 {
        var count: Int64 = 0
        var waiting: [UInt8] = []
        do {
            var iterator = makeAsyncIterator()
            iterator.gather(HTTPDNSClient.Response.Body.portion, of: declaredLength ?? 0)
            while let chunk = try await iterator.next() {
                count += Int64(chunk.count)
                if let bytes = limit?.bytes, count > bytes {
                    throw HTTPDNSClientError.bodyTooLong(limit: .bytes(bytes), on: hop)
                }
                if waiting.isEmpty { waiting = chunk } else { waiting += chunk }
                // A chunk ends where the next piece of 16 KiB would not fit.
                guard waiting.count > HTTPDNSClient.Response.Body.portion - 16 * 1024 else { continue }
                // A canceled task does not write them.
                try Task.checkCancellation()
                let portion = waiting
                waiting = []
                try await file.append(portion)
            }
        } catch {
            // A later download begins after the last byte that was received.
            if file.isResumed, !waiting.isEmpty { await file.appendUncanceled(waiting) }
            throw error
        }
        if !waiting.isEmpty { try await file.append(waiting) }
        return count
    }
}

/// A file that is written outside the threads of the concurrency pool, within the time of its call.
struct FileSaving: Sendable {
    /// The longest wait for work whose result the call does not need, such as the removal of the file.
    private static let patience = Duration.seconds(20)
    /// The same for a call that is canceled, or whose time is over.
    private static let shortPatience = Duration.seconds(2)

    private let file: ReplacedFile
    /// The times of the call; nil for a body without one.
    private let time: CallTime?
    private let work: SerialWork
    private let clock: any TimeSource
    /// Whether the bytes stay for a later download when this one fails.
    let isResumed: Bool

    /// The path of the file, with links resolved.
    var path: String { file.path }

    /// - Parameters:
    ///   - phase: `request` before the request is sent, else `body`.
    ///   - time: The times of the call; nil for a body without one.
    ///   - clock: The clock of the deadlines.
    /// - Throws: ``HTTPDNSClientError`` with code `fileFailed` or `timedOut`; `CancellationError`.
    init(
        _ path: String,
        _ policy: HTTPDNSClient.Download.ExistingFile = .replace,
        in phase: HTTPDNSClientError.Phase,
        of time: CallTime?,
        work: SerialWork = SerialWork(on: ThreadPool.files),
        clock: any TimeSource = SystemTimeSource()
    ) async throws {
        let isResumed = policy == .resume
        self.isResumed = isResumed
        self.time = time
        self.work = work
        self.clock = clock
        file = try await FileSaving.named(path, phase, time) {
            try await work.run(until: FileSaving.deadline(in: phase, of: time), on: clock) { () -> ReplacedFile in
                let file = try ReplacedFile(path, ending: policy.ending, continuesPart: isResumed)
                // A file that is opened too late must not lose its part.
                if isResumed, file.length > 0 { file.keep() }
                return file
            }
        }
    }

    /// Runs work that waits for the disk.
    /// - Parameter phase: `request` before the request is sent, else `body`.
    /// - Throws: ``HTTPDNSClientError`` with code `fileFailed` or `timedOut`; `CancellationError`.
    func perform<Value: Sendable>(
        in phase: HTTPDNSClientError.Phase = .body,
        _ body: @escaping @Sendable (ReplacedFile) throws -> Value
    ) async throws -> Value {
        let (file, work, clock) = (self.file, self.work, self.clock)
        return try await FileSaving.named(file.path, phase, time) {
            try await work.run(until: FileSaving.deadline(in: phase, of: time), on: clock) { try body(file) }
        }
    }

    /// Does work whose result the call does not need, also in a canceled task and after the deadline.
    /// - Parameter waits: Whether to wait for it, for a while.
    private func attempt(
        waits: Bool = true,
        _ body: @escaping @Sendable (ReplacedFile) throws -> Void
    ) async {
        let (file, work, clock) = (self.file, self.work, self.clock)
        let now = clock.now()
        let isOver = Task.isCancelled || time?.deadline.map { $0 <= now } == true
        let end = now + (isOver ? FileSaving.shortPatience : FileSaving.patience)
        let attempt = CallWork.task {
            _ = try? await work.run(until: end, on: clock) { try body(file) }
        }
        if waits { await attempt.value }
    }

    /// Appends bytes also in a canceled task and after the deadline, if that is possible.
    func appendUncanceled(_ bytes: [UInt8]) async { await attempt { try $0.append(bytes) } }

    func append(_ bytes: [UInt8]) async throws { try await perform { try $0.append(bytes) } }

    /// Finishes the file. A rename cannot be undone: cancellation takes effect before it or not at all.
    /// - Returns: The path of the file.
    @discardableResult
    func finish() async throws -> String {
        try Task.checkCancellation()
        let outcome = OneShot<Result<String, any Error>>()
        _ = CallWork.task { [self] in
            do {
                outcome.deliver(.success(try await perform { try $0.finish() }))
            } catch {
                outcome.deliver(.failure(error))
            }
        }
        return try await withTaskCancellationHandler {
            await outcome.value()
        } onCancel: {
            if file.abandon() { outcome.deliver(.failure(CancellationError())) }
        }.get()
    }

    /// Finishes the file, and removes the state of a download that was continued.
    /// - Returns: The number of bytes in the file, and its path.
    func finishCounted() async throws -> (Int64, String) {
        let length = try await perform(\.length)
        let path = try await finish()
        if isResumed { await attempt { PartialDownload.remove(for: $0) } }
        return (length, path)
    }

    /// Keeps nothing for a later download.
    func forget() async {
        guard isResumed else { return }
        await attempt { file in
            PartialDownload.remove(for: file)
            try file.truncate(to: 0)
        }
    }

    /// Removes the file, unless it is finished or kept. On a file system that hangs, that is done when it answers.
    func discard(after error: any Error) async {
        file.abandon()
        let failure = error as? HTTPDNSClientError
        // Work that hangs is done first.
        let isStuck = failure?.code == .timedOut && failure?.underlying is FileFault
        await attempt(waits: !isStuck) { $0.discard() }
    }

    private static func deadline(in phase: HTTPDNSClientError.Phase, of time: CallTime?) -> MonotonicTime? {
        phase == .request ? time?.firstDeadline : time?.deadline
    }

    private static func named<Value: Sendable>(
        _ path: String,
        _ phase: HTTPDNSClientError.Phase,
        _ time: CallTime?,
        _ body: () async throws -> Value
    ) async throws -> Value {
        do {
            return try await body()
        } catch let fault as FileFault {
            throw HTTPDNSClientError.unwritable(fault, phase)
        } catch is SerialWork.NoThread {
            throw HTTPDNSClientError.unwritable(FileFault(path, "the system gave no thread to write it"), phase)
        } catch is SerialWork.Overdue {
            throw HTTPDNSClientError.unwritten(path, phase, time)
        }
    }
}
