// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The moments on `SystemTimeSource` at which a stored response must have been read; nil without a limit.
struct ReadTime: Sendable {
    /// For its head, and for a body that is read or checked as a whole before.
    var head: MonotonicTime?
    /// For its whole body.
    var body: MonotonicTime?
}

/// The body of a response in a file: blocks that are checked before their bytes are returned.
///
/// A read takes at most 256 KiB, on a thread of the folder.
struct StoredBody: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error

    let open: OpenCacheFile
    let file: StoredFile
    /// The bytes of the body that are returned.
    let range: Range<Int64>
    let access: FolderAccess
    /// The moment at which the body must have been read; nil without a limit.
    let deadline: MonotonicTime?
    /// Called for a block that is not the one that was written.
    let onDamage: @Sendable () async -> Void

    /// The number of blocks in a read.
    private static let blocksPerRead = 4

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let body: StoredBody
        fileprivate var next: Int64
        fileprivate var ready: [[UInt8]] = []
        fileprivate let work: SerialWork

        /// Returns the next bytes; nil at the end.
        /// - Throws: ``HTTPDNSClientError`` with code `fileFailed` or `timedOut`, `CancellationError`.
        mutating func next() async throws -> [UInt8]? {
            if ready.isEmpty, next < body.range.upperBound {
                let (body, start) = (self.body, next)
                let blocks: [[UInt8]]
                do {
                    let limit = SystemTimeSource().now() + body.access.times.bodyPart
                    blocks = try await body.access.run(
                        on: work,
                        until: body.deadline.map { Swift.min($0, limit) } ?? limit,
                        isForOpenFile: true
                    ) { _ in try body.read(from: start) }
                } catch let error as CacheFileError {
                    if case .damaged = error { await body.onDamage() }
                    next = body.range.upperBound
                    throw StoredBodyError.broken(error)
                } catch is SerialWork.NoThread {
                    next = body.range.upperBound
                    throw StoredBodyError.broken(.unavailable(EAGAIN))
                } catch is SerialWork.Overdue {
                    next = body.range.upperBound
                    throw StoredBodyError.overdue(
                        isCallDeadline: body.deadline.map { SystemTimeSource().now() >= $0 } ?? false
                    )
                }
                next += blocks.reduce(0) { $0 + Int64($1.count) }
                ready = blocks.reversed()
            }
            return ready.popLast()
        }

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? { try await next() }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(body: self, next: range.lowerBound, work: SerialWork(on: access.pool))
    }

    /// Reads some blocks from a byte of the body on.
    private func read(from start: Int64) throws(CacheFileError) -> [[UInt8]] {
        let size = Int64(StoredFile.blockLength)
        var blocks: [[UInt8]] = []
        var number = start / size
        while blocks.count < Self.blocksPerRead, number * size < range.upperBound {
            let content = try block(number)
            let first = Swift.max(range.lowerBound, start) - number * size
            let last = Swift.min(range.upperBound - number * size, Int64(content.count))
            let lower = content.startIndex + Int(Swift.max(0, first))
            blocks.append(Array(content[lower..<content.startIndex + Int(last)]))
            number += 1
        }
        return blocks
    }

    private func block(_ number: Int64) throws(CacheFileError) -> ArraySlice<UInt8> {
        let size = Int64(StoredFile.blockLength)
        let count = Swift.min(size, file.bodyLength - number * size)
        let (offset, length) = (file.offset(ofBlock: number), Int(count) + 4)
        guard let content = StoredFile.content(ofBlock: try open.read(at: offset, count: length)[...]) else {
            throw .damaged
        }
        return content
    }

    /// Checks that all blocks of the range are as they were written, or the first ones until a moment.
    func check(until end: MonotonicTime, _ call: FolderAccess.Call) throws(CacheFileError) {
        let size = Int64(StoredFile.blockLength)
        var number = range.lowerBound / size
        while number * size < range.upperBound {
            _ = try block(number)
            number += 1
            guard SystemTimeSource().now() < end else { return }
            call.progress()
        }
    }

    /// Returns the whole body at once.
    func readAll() throws(CacheFileError) -> [UInt8] {
        var bytes: [UInt8] = []
        while Int64(bytes.count) < Int64(range.count) {
            let blocks = try read(from: range.lowerBound + Int64(bytes.count))
            guard !blocks.isEmpty else { throw .damaged }
            for block in blocks { bytes += block }
        }
        return bytes
    }
}

/// The errors of a stored response that is being read.
enum StoredBodyError {
    fileprivate static func overdue(isCallDeadline: Bool) -> HTTPDNSClientError {
        guard isCallDeadline else {
            return HTTPDNSClientError(
                code: .timedOut,
                phase: .body,
                message: "the folder of the cache does not respond: a stored response was not read on",
                hint: "check the file system of the folder, and send the request again"
            )
        }
        return .callOverdue(
            .body,
            "a stored response was not read from the folder of the cache within the time of the call",
            hint: "check the file system of the folder, or give the call more time (timeouts.total)"
        )
    }

    fileprivate static func broken(_ error: CacheFileError) -> HTTPDNSClientError {
        switch error {
        case .damaged: broken("its file is damaged, and was removed from the cache")
        case .unavailable(let number): broken(systemErrorText(number))
        }
    }

    static func broken(_ reason: String) -> HTTPDNSClientError {
        HTTPDNSClientError(
            code: .fileFailed,
            phase: .body,
            message: "a stored response cannot be read on: \(reason)",
            hint: "send the request again"
        )
    }
}
