// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The body of a response in a file: blocks that are checked before their bytes are returned.
///
/// A read takes at most 256 KiB, on a thread of ``ThreadPool/files``.
struct StoredBody: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error

    let open: OpenCacheFile
    let file: StoredFile
    /// The bytes of the body that are returned.
    let range: Range<Int64>
    /// Called for a block that is not the one that was written.
    let onDamage: @Sendable () async -> Void

    /// The number of blocks in a read.
    private static let blocksPerRead = 4

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let body: StoredBody
        fileprivate var next: Int64
        fileprivate var ready: [[UInt8]] = []
        fileprivate let work = SerialWork(on: ThreadPool.files)

        /// Returns the next bytes; nil at the end.
        /// - Throws: ``HTTPDNSClientError`` with code `fileFailed`, `CancellationError`.
        mutating func next() async throws -> [UInt8]? {
            if ready.isEmpty, next < body.range.upperBound {
                let (body, start) = (self.body, next)
                guard let blocks = try await work.run({ body.read(from: start) }) else {
                    await body.onDamage()
                    next = body.range.upperBound
                    throw HTTPDNSClientError.damagedStoredBody
                }
                next += blocks.reduce(0) { $0 + Int64($1.count) }
                ready = blocks.reversed()
            }
            return ready.popLast()
        }

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? { try await next() }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(body: self, next: range.lowerBound) }

    /// Reads some blocks from a byte of the body on; nil when one is damaged.
    private func read(from start: Int64) -> [[UInt8]]? {
        let size = Int64(StoredFile.blockLength)
        var blocks: [[UInt8]] = []
        var number = start / size
        while blocks.count < Self.blocksPerRead, number * size < range.upperBound {
            guard let content = block(number) else { return nil }
            let first = Swift.max(range.lowerBound, start) - number * size
            let last = Swift.min(range.upperBound - number * size, Int64(content.count))
            let lower = content.startIndex + Int(Swift.max(0, first))
            blocks.append(Array(content[lower..<content.startIndex + Int(last)]))
            number += 1
        }
        return blocks
    }

    private func block(_ number: Int64) -> ArraySlice<UInt8>? {
        let size = Int64(StoredFile.blockLength)
        let count = Swift.min(size, file.bodyLength - number * size)
        let (offset, length) = (file.offset(ofBlock: number), Int(count) + 4)
        guard let bytes = open.read(at: offset, count: length) else { return nil }
        return StoredFile.content(ofBlock: bytes[...])
    }

    /// Whether all blocks of the range are as they were written.
    func isIntact() -> Bool {
        let size = Int64(StoredFile.blockLength)
        var number = range.lowerBound / size
        while number * size < range.upperBound {
            guard block(number) != nil else { return false }
            number += 1
        }
        return true
    }

    /// Returns the whole body at once; nil when it is damaged.
    func readAll() -> [UInt8]? {
        var bytes: [UInt8] = []
        while Int64(bytes.count) < Int64(range.count) {
            guard let blocks = read(from: range.lowerBound + Int64(bytes.count)), !blocks.isEmpty else { return nil }
            for block in blocks { bytes += block }
        }
        return bytes
    }
}

extension HTTPDNSClientError {
    fileprivate static var damagedStoredBody: HTTPDNSClientError {
        HTTPDNSClientError(
            code: .fileFailed,
            phase: .body,
            message: "a stored response cannot be read on: its file is damaged, and was removed from the cache",
            hint: "send the request again; it goes to the server"
        )
    }
}
