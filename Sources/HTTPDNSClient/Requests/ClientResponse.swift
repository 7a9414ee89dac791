public import CurlTransport
public import HTTPDNS
public import HTTPDNSPrimitives
public import HTTPTypes

/// The answer to a request: its head, and its body as a stream.
public struct ClientResponse: Sendable {
    /// Status and header fields.
    public var head: HTTPResponse
    /// The HTTP version.
    public var version: HTTPVersion
    /// The body.
    public var body: ResponseBody
    /// The hops that led here; the last one gave this answer.
    public var exchanges: [Exchange]

    /// Creates a response, as an interceptor that answers by itself does.
    public init(head: HTTPResponse, version: HTTPVersion = .http11, body: ResponseBody, exchanges: [Exchange] = []) {
        self.head = head
        self.version = version
        self.body = body
        self.exchanges = exchanges
    }

    /// The status.
    public var status: HTTPResponse.Status { head.status }
    /// The header fields.
    public var headerFields: HTTPFields { head.headerFields }

    /// Where the answer came from, on one line:
    /// `203.0.113.7 · doh "backup" · fresh, 41 s left · reused connection`.
    public var route: String { fatalError("seam") }
}

/// One request and its response on one hop.
public struct Exchange: Sendable {
    /// What was sent, and where to.
    public var request: RewrittenRequest
    /// The address and port that answered, as the connection reported them.
    public var remote: Endpoint
    /// Whether the connection had been used before.
    public var reusedConnection: Bool
    /// The HTTP version.
    public var version: HTTPVersion
    /// The status.
    public var status: HTTPResponse.Status
    /// How long resolving took; nil when the request brought its addresses.
    public var resolve: Duration?
    /// The phases known at the head. ``ResponseBody/summary`` has the total.
    public var timings: TransferTimings
}

/// The body of an answer: chunks of at most 64 KiB, read once.
///
/// Dropping the body, or its iterator, cancels the transfer.
public struct ResponseBody: AsyncSequence, Sendable {
    /// A chunk.
    public typealias Element = [UInt8]

    /// Reads a body.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The next chunk; nil at the end.
        /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
        public mutating func next() async throws -> [UInt8]? { fatalError("seam") }
    }

    /// Starts reading. A second iterator throws ``HTTPDNSClientError/Code/bodyConsumedTwice``.
    public func makeAsyncIterator() -> AsyncIterator { fatalError("seam") }

    /// A body of these bytes.
    public static func bytes(_ bytes: [UInt8]) -> ResponseBody { fatalError("seam") }
    /// A body from a stream.
    public static func stream(_ chunks: some AsyncSequence<[UInt8], any Error> & Sendable) -> ResponseBody {
        fatalError("seam")
    }

    /// The whole body.
    /// - Throws: ``HTTPDNSClientError/Code/responseTooLarge`` as soon as it is longer than `limit`.
    public func collect(upTo limit: ByteCount) async throws -> [UInt8] { fatalError("seam") }

    /// Byte counts and timings; nil until the body has ended on the wire, and for bodies that did not come over it.
    public var summary: BodySummary? { fatalError("seam") }
}

/// What is known once a body ended.
public struct BodySummary: Hashable, Sendable {
    /// Bytes of the body after decoding.
    public var bodyBytes: Int
    /// Bytes of the body as received, before decoding.
    public var wireBytes: Int
    /// All phases.
    public var timings: TransferTimings
}
