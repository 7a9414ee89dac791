// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The beginning of a body.
enum BodyBeginning: Sendable {
    case whole([UInt8])
    /// The body is longer than the limit: a stream of all of it.
    case longer(ContinuedBody)
}

extension HTTPDNSClient.Response.Body {
    /// Whether the body certainly ends, and is not known to be longer than a limit.
    func mayBeCollected(upTo limit: HTTPDNSByteCount) -> Bool {
        if hasArrived { return true }
        guard let length = declaredLength ?? receivedLength else { return false }
        return length <= limit.bytes
    }

    /// Reads the body up to a limit.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    @concurrent
    func beginning(upTo limit: HTTPDNSByteCount) async throws -> BodyBeginning {
        var iterator = makeAsyncIterator()
        var chunks: [[UInt8]] = []
        var count = 0
        while let chunk = try await iterator.next() {
            chunks.append(chunk)
            count += chunk.count
            if count > limit.bytes { return .longer(ContinuedBody(chunks, iterator)) }
        }
        // A body of one chunk is returned without a copy.
        return .whole(chunks.count == 1 ? chunks[0] : Array(chunks.joined()))
    }
}

/// A body of which a part was read: the chunks that were read, and then the others.
///
/// It is read once.
struct ContinuedBody: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error

    private final class Parts: Sendable {
        let content: Lock<Content?>

        init(_ content: sending Content) { self.content = Lock(content) }
    }

    fileprivate struct Content {
        var chunks: ArraySlice<[UInt8]>
        var rest: HTTPDNSClient.Response.Body.AsyncIterator
    }

    private let parts: Parts

    init(_ chunks: [[UInt8]], _ rest: sending HTTPDNSClient.Response.Body.AsyncIterator) {
        parts = Parts(Content(chunks: chunks[...], rest: rest))
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var content: Content?

        mutating func next() async throws -> [UInt8]? {
            if let chunk = content?.chunks.popFirst() { return chunk }
            return try await content?.rest.next()
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        let content = parts.content.withLock { content in
            let taken = content
            content = nil
            return taken
        }
        return AsyncIterator(content: content)
    }
}
