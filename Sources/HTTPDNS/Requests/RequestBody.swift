internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import Synchronization

extension HTTPDNSClient.Request {
    /// The bytes that a request carries.
    public struct Body: Sendable {
        enum Content: Sendable {
            case none
            case bytes([UInt8])
            case stream(length: Int64?, any AsyncSequence<[UInt8], any Error> & Sendable)
            case pieces([BodyPiece])
        }

        let content: Content
        /// Sent as `Content-Type` by a request that has none of its own.
        let contentType: String?
        /// How it is compressed as it is sent; nil: not at all.
        var coding: HTTPDNSClient.ContentCoding?
        /// Told how far the sending is.
        var report: (@Sendable (HTTPDNSClient.Progress) -> Void)?
        private let pass: SinglePass?

        init(_ content: Content, contentType: String? = nil, pass: SinglePass? = nil) {
            self.content = content
            self.contentType = contentType
            self.pass = pass
        }

        /// No body.
        public static let none = HTTPDNSClient.Request.Body(.none)
        /// These bytes. They can be sent again.
        public static func bytes(_ bytes: [UInt8]) -> HTTPDNSClient.Request.Body {
            HTTPDNSClient.Request.Body(.bytes(bytes))
        }
        /// This text in UTF-8.
        public static func text(_ text: String) -> HTTPDNSClient.Request.Body { .bytes(Array(text.utf8)) }

        /// The contents of a regular file. It is opened and measured each time that the body is sent, read in pieces on a
        /// thread of its own, and can be sent again. A file that cannot be read, or that is cut while it is sent, fails the
        /// request with ``HTTPDNSClientError/Code/requestBodyFailed``; what is appended meanwhile is not sent.
        /// - Parameter path: The file's path. A link is followed; pipes and devices are refused.
        public static func file(_ path: String) -> HTTPDNSClient.Request.Body {
            HTTPDNSClient.Request.Body(.pieces([.file(path)]))
        }

        /// A stream that is read once, by the caller's side and never on the loop thread.
        ///
        /// Copies share the stream: a second transfer of it, by a retry or under another call, fails with
        /// ``HTTPDNSClientError/Code/requestBodyFailed`` before anything is sent.
        /// - Parameters:
        ///   - length: How many bytes the stream has. With nil HTTP/1.1 uses chunked transfer coding; with a number the
        ///     stream must have exactly as many.
        ///   - chunks: The stream, in pieces of any size and kind: `[UInt8]`, `ArraySlice<UInt8>`, `Data`. An error that it
        ///     throws fails the request, and is in ``HTTPDNSClientError/underlying``.
        public static func stream<Chunks: AsyncSequence & Sendable>(
            length: Int64? = nil,
            _ chunks: Chunks
        ) -> HTTPDNSClient.Request.Body where Chunks.Element: Sequence<UInt8> {
            let pass = SinglePass()
            return HTTPDNSClient.Request.Body(
                .stream(length: length, SinglePassChunks(base: chunks, pass: pass)),
                pass: pass
            )
        }

        /// The same body, with a closure that is told how much of it libcurl has taken: growing numbers from 0 on,
        /// and at the end exactly the number of bytes, with ``HTTPDNSClient/Progress/isComplete``. What was taken is on its
        /// way: up to 64 KiB, and what the kernel holds, may not be at the server yet.
        ///
        /// It is called in a task of the client's, never on the loop thread; the last call may come after the head of the
        /// answer. A sending that is repeated (redirect, retry) begins at 0 again. An answer that comes before the body's end
        /// ends it early. Closures that the body has already are told as well, before this one.
        public func reportingProgress(_ report: @escaping @Sendable (HTTPDNSClient.Progress) -> Void)
            -> HTTPDNSClient.Request.Body
        {
            var body = self
            body.report = HTTPDNSClient.Progress.reporting(to: self.report, and: report)
            return body
        }

        /// Whether the body can be sent a second time.
        public var isReplayable: Bool { pass == nil }

        /// Whether there is none.
        var isEmpty: Bool { if case .none = content { true } else { false } }

        /// Whether the body is a stream whose reading has begun.
        var isSpent: Bool { pass?.isTaken ?? false }

        /// The body as the transport takes it. Files are opened here, and what is in memory is compressed.
        /// - Parameters:
        ///   - deadline: The call's.
        ///   - kept: What the call has compressed before.
        /// - Throws: ``BodyOverdue``; ``HTTPDNSClientError`` with code `requestBodyFailed`; `CancellationError`.
        func opened(
            until deadline: MonotonicTime? = nil,
            keeping kept: CompressedOnce? = nil
        ) async throws -> RequestBodySource {
            switch content {
            case .none: return .none
            case .bytes(var bytes):
                if let coding { bytes = try await coding.compressed(bytes, until: deadline, keeping: kept) }
                guard report != nil else { return .bytes(bytes) }
                return try await OpenPieces.source(of: [.bytes(bytes)], until: deadline)
            case .stream(let length, let chunks):
                guard let coding else { return .stream(length: length, chunks) }
                return .compressed(chunks, length: length, coding)
            case .pieces(let pieces):
                let source = try await OpenPieces.source(of: pieces, until: deadline)
                guard let coding, case .stream(let length, let chunks) = source else { return source }
                return .compressed(chunks, length: length, coding)
            }
        }

        /// What the transport tells of the sending.
        func progress(sending source: RequestBodySource) -> (@Sendable (Int64, Bool) -> Void)? {
            guard let report, case .stream(let length, _) = source else { return nil }
            return { bytes, isComplete in
                report(HTTPDNSClient.Progress(bytes: bytes, total: isComplete ? bytes : length, isComplete: isComplete))
            }
        }
    }
}

/// Says who was first.
final class SinglePass: Sendable {
    private let taken = Atomic(false)

    var isTaken: Bool { taken.load(ordering: .acquiring) }

    /// Whether this was the first call.
    func take() -> Bool { !taken.exchange(true, ordering: .acquiringAndReleasing) }
}

/// A stream whose second reader gets an error, not the rest that the first one left.
struct SinglePassChunks<Base: AsyncSequence & Sendable>: AsyncSequence, Sendable where Base.Element: Sequence<UInt8> {
    typealias Element = [UInt8]
    typealias Failure = any Error

    let base: Base
    let pass: SinglePass

    struct AsyncIterator: AsyncIteratorProtocol {
        var base: Base.AsyncIterator?

        mutating func next() async throws -> [UInt8]? {
            try await next(isolation: #isolation)
        }

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
            guard base != nil else { throw HTTPDNSClientError.bodySentTwice }
            // Of an array this makes no copy.
            return try await base?.next(isolation: actor).map { Array($0) }
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(base: pass.take() ? base.makeAsyncIterator() : nil)
    }
}

extension HTTPDNSClientError {
    static var bodySentTwice: HTTPDNSClientError {
        HTTPDNSClientError(
            code: .requestBodyFailed,
            stage: .request,
            message: "the request's body is a stream that was read before, and it can be sent once",
            hint: "give the body as bytes where a request may be sent again, or check isReplayable first"
        )
    }
}
