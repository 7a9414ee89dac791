// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSCore
internal import HTTPDNSCurl
public import HTTPDNSPrimitives
public import HTTPTypes

extension HTTPDNSClient {
    /// The response to a request: its head, and its body as a stream.
    public struct Response: Sendable {
        /// The status and the header fields.
        public var head: HTTPResponse {
            get { content.whole }
            set { content = ResponseHead(newValue) }
        }
        var content: ResponseHead
        /// The HTTP version.
        public var version: HTTPDNSClient.HTTPVersion
        /// The body. Read it to its end, or drop it: an unread body that is kept holds its connection until the call's
        /// deadline.
        public var body: HTTPDNSClient.Response.Body
        /// The exchanges of the call, with redirects and with responses that led to a retry. The last exchange has this
        /// response, unless its hop was answered without sending: by an interceptor, a stub or the response cache. Empty when
        /// all hops were.
        public var exchanges: [HTTPDNSClient.Exchange]
        /// The part that the response cache took; nil without a cache, and for a method that it does not store.
        public package(set) var cacheSource: HTTPDNSClient.CacheSource?
        /// Whether the response cache made the response: another try would get the same one.
        var isFromCache: Bool { cacheSource.map { $0 != .miss } ?? false }
        /// The network scope of the server that a stored response came from; nil for others.
        package var serverScope: HTTPDNSAddressPolicy.Scope?
        /// Whether the `Set-Cookie` fields are those of a stored response, which the cookie jar got when they arrived.
        package var hasStoredCookies = false
        /// The header fields of the request as it was sent, below all interceptors; nil unless a response cache or the
        /// request asks for them.
        package var sentFields: HTTPFields? {
            get { rareFacts?.sentFields }
            set { rareFacts = RareFacts(sentFields: newValue, finalURL: finalURL) }
        }
        /// The URL of the last hop, after redirects, as it was written. Empty for a response that no call has returned yet.
        public var url: String { finalURL ?? exchanges.last?.request.originalURL ?? "" }
        /// The URL of the last hop, when that hop was answered without sending; nil otherwise. The last exchange is then that of
        /// an earlier hop.
        var finalURL: String? {
            get { rareFacts?.finalURL }
            set { rareFacts = RareFacts(sentFields: sentFields, finalURL: newValue) }
        }
        private var rareFacts: RareFacts?

        /// Creates a response, for an interceptor that answers without sending.
        public init(
            head: HTTPResponse,
            version: HTTPDNSClient.HTTPVersion = .http11,
            body: HTTPDNSClient.Response.Body,
            exchanges: [HTTPDNSClient.Exchange] = []
        ) {
            self.init(ResponseHead(head), version, body, exchanges)
        }

        init(
            _ head: ResponseHead,
            _ version: HTTPDNSClient.HTTPVersion,
            _ body: HTTPDNSClient.Response.Body,
            _ exchanges: [HTTPDNSClient.Exchange]
        ) {
            content = head
            self.version = version
            self.body = body
            self.exchanges = exchanges
        }

        /// The status.
        public var status: HTTPResponse.Status { content.status }
        /// The code of the status, without its text.
        var statusCode: Int { content.statusCode }
        /// The header fields.
        public var headerFields: HTTPFields { content.headerFields }

        /// Returns the response of a hop with the URL of the hop. An exchange has its own.
        consuming func at(_ url: @autoclosure () -> String) -> HTTPDNSClient.Response {
            if exchanges.isEmpty { finalURL = url() }
            return self
        }

        /// The exchange of the last hop; nil when that hop was answered without sending after redirects. Where an earlier try of
        /// the hop was sent, it is that one's.
        var lastExchange: HTTPDNSClient.Exchange? { finalURL == nil ? exchanges.last : nil }
    }
}

/// The facts that few responses have, behind one reference: most responses are copied without them.
private final class RareFacts: Sendable {
    let sentFields: HTTPFields?
    let finalURL: String?

    init(sentFields: HTTPFields?, finalURL: String?) {
        self.sentFields = sentFields
        self.finalURL = finalURL
    }
}

extension HTTPDNSClient.Response {
    /// A response with its whole body, for callers that do not read a stream.
    public struct Collected: Sendable {
        /// The status and the header fields.
        public var head: HTTPResponse {
            get { content.whole }
            set { content = ResponseHead(newValue) }
        }
        private var content: ResponseHead
        /// The HTTP version.
        public var version: HTTPDNSClient.HTTPVersion
        /// The body.
        public var body: [UInt8]
        /// The exchanges of the call; the last one has this response.
        public var exchanges: [HTTPDNSClient.Exchange]
        /// The part that the response cache took, see ``HTTPDNSClient/Response/cacheSource``.
        public let cacheSource: HTTPDNSClient.CacheSource?

        /// The trailers: fields that the server sent after the body. See ``HTTPDNSClient/Response/Body/trailers``.
        public var trailers: HTTPFields { receivedTrailers?.fields ?? [:] }
        private let receivedTrailers: TransferTrailers?
        private let finalURL: String?

        /// The URL of the last hop, after redirects, as it was written.
        public var url: String { finalURL ?? exchanges.last?.request.originalURL ?? "" }
        /// The exchange of the last hop; nil when that hop was answered without sending.
        var lastExchange: HTTPDNSClient.Exchange? { finalURL == nil ? exchanges.last : nil }

        /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
        init(_ response: HTTPDNSClient.Response, upTo limit: HTTPDNSByteCount) async throws {
            if let whole = response.body.takeWhole(upTo: limit) {
                (body, receivedTrailers) = whole
            } else {
                body = try await response.body.collect(upTo: limit)
                receivedTrailers = response.body.receivedTrailers
            }
            content = response.content
            version = response.version
            exchanges = response.exchanges
            cacheSource = response.cacheSource
            finalURL = response.finalURL
        }

        /// The status.
        public var status: HTTPResponse.Status { content.status }
        /// The header fields.
        public var headerFields: HTTPFields { content.headerFields }
    }
}

extension HTTPDNSClient.Response: HTTPDNSRedacted {
    /// The status, the version and the names of the header fields.
    public var description: String { "\(status), \(version), \(headerFields.namesText)" }
}

extension HTTPDNSClient.Response.Collected: HTTPDNSRedacted {
    /// The status, the version, the names of the header fields, and the length of the body.
    public var description: String { "\(status), \(version), \(headerFields.namesText), \(body.count) bytes" }
}

extension HTTPDNSClient {
    /// The part that a response cache took in a response.
    public struct CacheSource: Hashable, Sendable, CustomStringConvertible {
        private enum Content: String {
            case hit, validated, miss, stale, offline, unavailable
        }

        private let content: Content
        /// A short text from a bounded set, suitable for a metric label.
        public var description: String { content.rawValue }

        /// A fresh stored response. Nothing was sent.
        public static let hit = CacheSource(content: .hit)
        /// A stored response that the server has validated with 304.
        public static let validated = CacheSource(content: .validated)
        /// The response of the server.
        public static let miss = CacheSource(content: .miss)
        /// A stored response that is not fresh: the request accepts it, the server failed, or it is validated in the background.
        public static let stale = CacheSource(content: .stale)
        /// A stored response, because no server could be reached or the cache is switched to offline.
        public static let offline = CacheSource(content: .offline)
        /// No response of a server: there is no stored response, and the request was not to be sent. The status is 504.
        public static let unavailable = CacheSource(content: .unavailable)

        /// Whether the body was stored before the request.
        public var isStored: Bool { self != .miss && self != .unavailable }
    }
}

extension HTTPDNSClient.Response {
    /// A summary of a body that has ended.
    public struct BodySummary: Hashable, Sendable {
        /// The bytes of the body after decoding.
        public var bodyBytes: Int
        /// The bytes of the body as received, before decoding.
        public var wireBytes: Int
        /// The durations of all phases.
        public var timings: HTTPDNSClient.Exchange.Timings

        /// The average rate at which the body was received, in bytes per second and before decoding; nil when no time was
        /// measured. The time counts from the first byte of the response to the last one of the body.
        public var bytesPerSecond: Double? {
            guard let total = timings.total else { return nil }
            let before = [timings.race, timings.connect, timings.tls, timings.firstByte].compactMap(\.self)
            let time = before.reduce(total, -)
            return time > .zero ? Double(wireBytes) / (time / .seconds(1)) : nil
        }

        /// Creates a summary.
        public init(bodyBytes: Int, wireBytes: Int, timings: HTTPDNSClient.Exchange.Timings) {
            self.bodyBytes = bodyBytes
            self.wireBytes = wireBytes
            self.timings = timings
        }
    }
}
