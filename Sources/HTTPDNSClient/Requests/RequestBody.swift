package import CurlTransport
internal import Synchronization

/// The bytes that a request carries.
public struct RequestBody: Sendable {
    package let source: RequestBodySource
    private let pass: SinglePass?

    private init(_ source: RequestBodySource, pass: SinglePass? = nil) {
        self.source = source
        self.pass = pass
    }

    /// No body.
    public static let none = RequestBody(.none)
    /// These bytes. They can be sent again.
    public static func bytes(_ bytes: [UInt8]) -> RequestBody { RequestBody(.bytes(bytes)) }
    /// This text in UTF-8.
    public static func text(_ text: String) -> RequestBody { .bytes(Array(text.utf8)) }
    /// A stream that is read once, by the caller's side and never on the loop thread.
    ///
    /// Copies share the stream: a second transfer of it, by a retry or under another call, fails with
    /// ``HTTPDNSClientError/Code/requestBodyFailed`` before anything is sent.
    /// - Parameters:
    ///   - length: How many bytes the stream has. With nil HTTP/1.1 uses chunked transfer coding; with a number the stream
    ///     must have exactly as many.
    ///   - chunks: The stream, in pieces of any size. An error that it throws fails the request.
    public static func stream(
        length: Int64? = nil,
        _ chunks: some AsyncSequence<[UInt8], any Error> & Sendable
    ) -> RequestBody {
        let pass = SinglePass()
        return RequestBody(.stream(length: length, SinglePassChunks(base: chunks, pass: pass)), pass: pass)
    }

    /// Whether the body can be sent a second time.
    public var isReplayable: Bool { pass == nil }

    /// Whether the body is a stream whose reading has begun.
    var isSpent: Bool { pass?.isTaken ?? false }
}

/// Says who was first.
final class SinglePass: Sendable {
    private let taken = Atomic(false)

    var isTaken: Bool { taken.load(ordering: .acquiring) }

    /// Whether this was the first call.
    func take() -> Bool { !taken.exchange(true, ordering: .acquiringAndReleasing) }
}

/// A stream whose second reader gets an error, not the rest that the first one left.
struct SinglePassChunks<Base: AsyncSequence<[UInt8], any Error> & Sendable>: AsyncSequence, Sendable {
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
            return try await base?.next(isolation: actor)
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
