// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
public import HTTPDNSPrimitives
public import HTTPTypes

/// The sender of a client's hops, in place of libcurl: a server in the same process, another HTTP engine, a network of one's own.
///
/// The client does everything else: interceptors, cache, cookies, redirects, retries, names, the address policy and time limits. A
/// transport gets one hop at a time, with the addresses that it may connect to, and returns one response.
///
/// `HTTPDNSClient(configuration: configuration, on: transport)` creates a client on it; <doc:Connections> shows a transport of 12
/// lines.
///
/// - Important: Not yet stable. A minor version may add requirements, with default implementations, and change this page's types.
public protocol HTTPDNSTransport: Sendable {
    /// Sends one hop, and returns when its response head has arrived.
    ///
    /// It is called in a task of the client without the task-local values of the caller, for several hops at once. The client cancels
    /// the task at the time limits of the call and at the end of its shutdown, and waits no longer for it. The time for the head
    /// begins when the transport has read the body of the hop; only the total time limits how long it takes to read it.
    /// - Throws: ``HTTPDNSTransportError``. After any other error the request counts as one that the server may have received.
    func send(_ hop: HTTPDNSHop) async throws -> HTTPDNSHop.Response

    /// Ends all hops. Called once, when the client is shut down: after its last hop has ended, or at the end of its draining time.
    /// Sendings that the client has given up may still run. The client's shutdown awaits it: it never ends if it awaits that
    /// shutdown itself.
    func shutdown() async
}

extension HTTPDNSTransport {
    /// Does nothing.
    public func shutdown() async {}
}

/// One request on its way to a server whose name is resolved.
public struct HTTPDNSHop: Sendable {
    /// The method.
    public var method: HTTPRequest.Method
    /// The canonical URL without user information and fragment (RFC 3986 section 6.2).
    public var url: String
    /// The name or address that TLS sends (SNI, RFC 6066 section 3) and that the server's certificate must have.
    public var serverName: String
    /// The value of the Host field, or of `:authority` in HTTP/2.
    public var authority: String
    /// The fields, without `Host` and `Content-Length`.
    public var headerFields: HTTPFields
    /// The body.
    public var body: Body
    /// The addresses that may be connected to, in the order to try. Others are not allowed by the client's policy.
    public var endpoints: [HTTPDNSEndpoint]
    /// The versions that the request allows.
    public var versions: HTTPDNSClient.AllowedVersions

    /// The body of a hop, which can be read once.
    public struct Body: AsyncSequence, Sendable {
        /// The number of bytes; 0 without a body, nil for a stream of unknown length.
        public let length: Int64?
        let chunks: (any AsyncSequence<[UInt8], any Error> & Sendable)?
        let progress: (@Sendable (_ bytes: Int64, _ isComplete: Bool) -> Void)?

        /// The reader of a body.
        public struct AsyncIterator: AsyncIteratorProtocol {
            fileprivate var chunks: (any AsyncIteratorProtocol<[UInt8], any Error>)?
            fileprivate let progress: (@Sendable (_ bytes: Int64, _ isComplete: Bool) -> Void)?
            private var count: Int64 = 0

            fileprivate init(_ body: Body) {
                chunks = body.chunks?.makeAsyncIterator()
                progress = body.progress
            }

            /// The next bytes; nil at the end.
            /// - Throws: The error of the program's stream.
            public mutating func next() async throws -> [UInt8]? {
                let chunk = try await chunks?.next(isolation: nil)
                count += Int64(chunk?.count ?? 0)
                progress?(count, chunk == nil)
                return chunk
            }
        }

        /// Returns the reader of the body, which can be read once.
        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
    }

    /// The response to a hop.
    public struct Response: Sendable {
        var head: HTTPResponse
        var version: HTTPDNSClient.HTTPVersion
        var endpoint: HTTPDNSEndpoint
        var body: any AsyncSequence<[UInt8], any Error> & Sendable

        /// Creates a response whose body is read as it arrives.
        /// - Parameters:
        ///   - head: The status and the fields of the final response.
        ///   - version: The version that it was received in.
        ///   - endpoint: The endpoint that has answered.
        ///   - body: The bytes as received. The client decodes the content codings that it has asked for.
        public init(
            _ head: HTTPResponse,
            version: HTTPDNSClient.HTTPVersion = .http11,
            from endpoint: HTTPDNSEndpoint,
            body: some AsyncSequence<[UInt8], any Error> & Sendable
        ) {
            self.head = head
            self.version = version
            self.endpoint = endpoint
            self.body = body
        }

        /// Creates a response with its whole body.
        public init(
            _ head: HTTPResponse,
            version: HTTPDNSClient.HTTPVersion = .http11,
            from endpoint: HTTPDNSEndpoint,
            body: [UInt8] = []
        ) {
            self.init(head, version: version, from: endpoint, body: AsyncThrowingStream(body))
        }
    }
}

/// The error of a transport, from which the client decides whether it may send the request again.
public struct HTTPDNSTransportError: Error, Sendable {
    /// The failure, in one line. It becomes part of the call's error and of logs, so it may contain no secret.
    public var message: String
    /// Whether it is certain that no byte of the request has reached a server.
    public var isUnsent: Bool

    /// Creates an error.
    public init(_ message: String, isUnsent: Bool = false) {
        self.message = message
        self.isUnsent = isUnsent
    }
}

extension AsyncThrowingStream where Element == [UInt8], Failure == any Error {
    /// Creates a stream of one chunk; of none for no bytes.
    init(_ bytes: [UInt8]) {
        self.init { continuation in
            if !bytes.isEmpty { continuation.yield(bytes) }
            continuation.finish()
        }
    }
}
