// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
public import HTTPDNSPrimitives
internal import Synchronization

extension HTTPDNSClient.Request {
    /// The body of a request.
    public struct Body: Sendable {
        enum Content: Sendable {
            case none
            case bytes([UInt8])
            case stream(length: Int64?, any AsyncSequence<[UInt8], any Error> & Sendable)
            case pieces([BodyPart])
        }

        let content: Content
        /// The `Content-Type` of a request that has none of its own.
        package let contentType: String?
        /// The coding that compresses the body while it is sent; nil for none.
        var coding: HTTPDNSClient.ContentCoding?
        /// The closure for progress reports.
        var report: (@Sendable (HTTPDNSClient.Progress) -> Void)?
        private let pass: SinglePass?

        init(_ content: Content, contentType: String? = nil, pass: SinglePass? = nil) {
            self.content = content
            self.contentType = contentType
            self.pass = pass
        }

        /// The number of bytes of a body that is in memory and not compressed; nil for any other.
        package var knownLength: Int? {
            if case .stream = content { return nil }
            return coding == nil ? declaredLength.map { Int($0) } : nil
        }

        /// No body.
        public static let none = HTTPDNSClient.Request.Body(.none)
        /// Returns a body of these bytes, which can be sent again.
        public static func bytes(_ bytes: [UInt8]) -> HTTPDNSClient.Request.Body {
            HTTPDNSClient.Request.Body(.bytes(bytes))
        }
        /// Returns a body of this text in UTF-8.
        public static func text(_ text: String) -> HTTPDNSClient.Request.Body { .bytes(Array(text.utf8)) }

        /// Returns a body with the contents of a regular file, which can be sent again. The file is opened and measured
        /// each time that the body is sent, and read in pieces on a separate thread.
        ///
        /// A file that cannot be read, or that is truncated while it is sent, fails the request with
        /// ``HTTPDNSClientError/Code/requestBodyFailed``. Bytes appended meanwhile are not sent.
        /// - Parameter path: The path of the file. A link is followed; pipes and devices are refused.
        public static func file(_ path: String) -> HTTPDNSClient.Request.Body {
            HTTPDNSClient.Request.Body(.pieces([.file(path)]))
        }

        /// Returns a body from a stream, which is read once, in a task and never on the loop thread.
        ///
        /// Copies share the stream: sending it a second time, by a retry or another call, fails with
        /// ``HTTPDNSClientError/Code/requestBodyFailed`` before anything is sent.
        /// - Parameters:
        ///   - length: The number of bytes of the stream. With nil, HTTP/1.1 uses chunked transfer coding; otherwise
        ///     the stream must have exactly this length.
        ///   - chunks: The stream, in pieces of any size and kind: `[UInt8]`, `ArraySlice<UInt8>`, `Data`. An error
        ///     that it throws fails the request, and is in ``HTTPDNSClientError/underlying``.
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

        /// Returns the same body with a closure that receives the number of bytes that libcurl has read. The numbers
        /// grow from 0, and the last one is the exact length, with ``HTTPDNSClient/Progress/isComplete``. Bytes that
        /// libcurl has read may not be at the server yet: up to 64 KiB, and the content of the kernel's buffer.
        ///
        /// The closure runs in a task of the client or in that of the call, never on the loop thread. The last call may
        /// come after the response head. Each repeated sending (redirect, retry) begins at 0 again. A response that
        /// arrives before the end of the body ends the reports early. Existing closures of the body are called as well,
        /// before this one.
        public func reportingProgress(_ report: @escaping @Sendable (HTTPDNSClient.Progress) -> Void)
            -> HTTPDNSClient.Request.Body
        {
            var body = self
            body.report = HTTPDNSClient.Progress.reporting(to: self.report, and: report)
            return body
        }

        /// Whether the body can be sent a second time.
        public var isReplayable: Bool { pass == nil }

        /// Whether there is no body.
        var isEmpty: Bool { if case .none = content { true } else { false } }

        /// Whether the body is a stream whose reading has begun.
        var isSpent: Bool { pass?.isTaken ?? false }

        /// Uses up a stream. Returns whether it was unread.
        func takePass() -> Bool { pass?.take() ?? true }

        /// Uses up a stream, as sending it would: a second sending fails. Other bodies stay as they are.
        package func useUp() { _ = takePass() }

        /// Whether the bytes that are sent can be read before: those of a file are not compressed in advance.
        var isReadableBefore: Bool {
            if case .pieces = content { coding == nil } else { isReplayable }
        }

        /// Returns the body in the transport's form. It opens files and compresses bytes in memory.
        /// - Parameters:
        ///   - deadline: The deadline of the call.
        ///   - kept: The bytes that the call has compressed before.
        /// - Throws: ``HTTPDNSClientError`` with code `requestBodyFailed`, or `timedOut` at the deadline; `CancellationError`.
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

        /// Returns the closure that receives the transport's progress.
        func progress(sending source: RequestBodySource) -> (@Sendable (Int64, Bool) -> Void)? {
            guard let report, case .stream(let length, _) = source else { return nil }
            return { bytes, isComplete in
                report(HTTPDNSClient.Progress(bytes: bytes, total: isComplete ? bytes : length, isComplete: isComplete))
            }
        }
    }
}

/// A flag that tells the first caller from later ones.
final class SinglePass: Sendable {
    private let taken = Atomic(false)

    var isTaken: Bool { taken.load(ordering: .acquiring) }

    /// Whether this is the first call.
    func take() -> Bool { !taken.exchange(true, ordering: .acquiringAndReleasing) }
}

/// A stream whose second reader gets an error instead of the rest that the first one left.
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
            // For an array this makes no copy.
            return try await base?.next(isolation: actor).map { Array($0) }
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(base: pass.take() ? base.makeAsyncIterator() : nil)
    }
}

/// A part of a body that can be read as often as it is sent.
enum BodyPart: Sendable {
    case bytes([UInt8])
    /// The contents of a file, which is opened each time the body is sent.
    case file(String)
}

/// The parts of a body for one sending, in order: their files are open, and their length is known.
struct OpenPieces: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error

    /// The number of bytes in memory that one chunk holds: a progress report may lag by as much.
    private static let portion = 64 * 1024

    private enum Piece: Sendable {
        case bytes([UInt8])
        case file(ReadableFile)

        var length: Int64 {
            switch self {
            case .bytes(let bytes): Int64(bytes.count)
            case .file(let file): file.length
            }
        }
    }

    private let pieces: [Piece]
    private var length: Int64 { pieces.reduce(0) { $0 + $1.length } }

    /// - Throws: ``HTTPDNSClientError`` with code `requestBodyFailed`, or `timedOut` at the deadline; `CancellationError`.
    static func source(of pieces: [BodyPart], until deadline: MonotonicTime?) async throws -> RequestBodySource {
        var open: [Piece] = []
        open.reserveCapacity(pieces.count)
        for piece in pieces {
            switch piece {
            case .bytes(let bytes): open.append(.bytes(bytes))
            case .file(let path): open.append(.file(try await ReadableFile.open(path, until: deadline)))
            }
        }
        let chunks = OpenPieces(pieces: open)
        return .stream(length: chunks.length, chunks)
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        private var pieces: ArraySlice<Piece>
        /// The number of bytes of the first piece that have been read.
        private var offset: Int64 = 0

        fileprivate init(_ sequence: OpenPieces) { pieces = sequence.pieces[...] }

        mutating func next() async throws -> [UInt8]? {
            while let piece = pieces.first {
                guard offset < piece.length else {
                    pieces = pieces.dropFirst()
                    offset = 0
                    continue
                }
                let chunk: [UInt8]
                switch piece {
                case .bytes(let bytes): chunk = Array(bytes[Int(offset)...].prefix(OpenPieces.portion))
                case .file(let file): chunk = try await file.read(at: offset)
                }
                offset += Int64(chunk.count)
                return chunk
            }
            return nil
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}

extension HTTPDNSClient.Request.Body: HTTPDNSRedacted {
    /// Whether there is a body, and its number of bytes if that is known.
    public var description: String {
        switch content {
        case .none: "no body"
        case .bytes(let bytes): "a body of \(bytes.count) bytes"
        case .stream(let length?, _): "a body of \(length) bytes"
        case .stream(nil, _), .pieces: "a body"
        }
    }
}
