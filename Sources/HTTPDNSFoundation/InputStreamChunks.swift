// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Foundation
internal import HTTPDNS
internal import HTTPDNSCore

/// The chunks of a stream of Foundation, which are read on a thread of their own.
struct InputStreamChunks: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error

    private let reader: InputStreamReader

    init(_ stream: InputStream) { reader = InputStreamReader(stream) }

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let reader: InputStreamReader

        mutating func next() async throws -> [UInt8]? { try await reader.next() }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reader: reader) }
}

/// A stream of Foundation and the thread that reads it.
///
/// Sharing is safe: the stream is used only by jobs of `work`, which run one after the other, and by the end of the last
/// reference, after which there is no job.
private final class InputStreamReader: @unchecked Sendable {
    /// The number of bytes of a read.
    private static let portion = 64 * 1024

    private let stream: InputStream
    private let work = SerialWork()

    init(_ stream: InputStream) { self.stream = stream }

    deinit { stream.close() }

    /// Returns the next chunk; nil at the end.
    /// - Throws: ``InputStreamError``, `CancellationError`.
    func next() async throws -> [UInt8]? {
        do {
            return try await work.run { [self] in try read() }
        } catch is SerialWork.NoThread {
            throw InputStreamError(reason: "the system has no thread left to read it")
        }
    }

    private func read() throws -> [UInt8]? {
        if stream.streamStatus == .notOpen { stream.open() }
        if stream.streamStatus == .error { throw InputStreamError(stream.streamError) }
        var count = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: InputStreamReader.portion) { buffer, initialized in
            guard let start = buffer.baseAddress else { return }
            count = stream.read(start, maxLength: InputStreamReader.portion)
            initialized = Swift.max(0, count)
        }
        guard count >= 0 else { throw InputStreamError(stream.streamError) }
        return bytes.isEmpty ? nil : bytes
    }
}

/// The error of a body stream that cannot be read.
struct InputStreamError: Error, CustomStringConvertible {
    let description: String

    init(reason: String) { description = "the body stream of the URLRequest cannot be read: \(reason)" }

    init(_ error: (any Error)?) { self.init(reason: error.map { "\($0)" } ?? "it gives no reason") }
}
