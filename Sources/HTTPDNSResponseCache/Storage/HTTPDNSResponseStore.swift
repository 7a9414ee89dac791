// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNS
internal import HTTPDNSPrimitives
public import HTTPTypes

/// A store of responses for a cache, in place of its memory or folder: a database, or a server that several processes share.
///
/// The cache does everything else: what is stored and for whom, freshness, `Vary`, validation, ranges, and the invalidation of
/// responses (RFC 9111). A store keeps bytes: a head, which it need not understand, and a body.
///
/// `ResponseCache.using(_:_:)` creates a cache on a store; <doc:CachingResponses> shows one of 40 lines.
///
/// An error of a store fails no call. Without an answer after 1 s, or after half of the time that the call has left, a request goes
/// on as if nothing were stored. After 1 s of such waits without an answer between them the store is left alone for 30 s.
/// `counters.storeFailures` counts errors and waits, and the client's logger gets a warning with the type of an error. A response
/// that could not be removed is not used any more by this cache.
///
/// A head has the values of the request fields that `Vary` names, apart from credentials, and bodies are stored as received: all
/// readers of the store see them. In `private` mode a store belongs to one user, as the cache does.
///
/// - Important: Not yet stable. A minor version may add requirements, with default implementations, and change this page's types.
public protocol HTTPDNSResponseStore: Sendable {
    /// Returns stored responses, in any order. The cache chooses among the variants of a URL.
    /// - Parameter selection: The responses to return. Others are ignored.
    func responses(_ selection: HTTPDNSClient.ResponseCache.Selection) async throws
        -> [HTTPDNSClient.ResponseCache.StoredResponse]

    /// Begins to store a response. It takes the place of one with the same `id` when its body has been written.
    /// - Parameter response: The response, whose `bodyLength` is not known yet.
    /// - Returns: The writer of the body; nil to leave it, such as in a store that is full.
    func writer(for response: HTTPDNSClient.ResponseCache.StoredResponse) async throws -> (any HTTPDNSResponseWriter)?

    /// Replaces the head of a stored response after its validation. The default implementation reads the body and writes it again,
    /// within the 1 s of a wait: a store with large bodies needs its own.
    /// - Parameters:
    ///   - response: The stored response.
    ///   - newer: The response with its new head. Its `id` may be another one.
    func update(
        _ response: HTTPDNSClient.ResponseCache.StoredResponse,
        to newer: HTTPDNSClient.ResponseCache.StoredResponse
    ) async throws

    /// Removes stored responses. It returns when later calls of ``responses(_:)`` do not return them any more.
    func remove(_ selection: HTTPDNSClient.ResponseCache.Selection) async throws

    /// The number of stored responses and of their bytes, as far as they are known without a wait; the default is zero.
    var size: (entries: Int, bytes: Int) { get }
}

extension HTTPDNSResponseStore {
    /// Zero.
    public var size: (entries: Int, bytes: Int) { (0, 0) }

    /// Reads the body of the stored response and writes it again.
    public func update(
        _ response: HTTPDNSClient.ResponseCache.StoredResponse,
        to newer: HTTPDNSClient.ResponseCache.StoredResponse
    ) async throws {
        guard let body = try await response.entry.read(0..<response.bodyLength),
            let writer = try await writer(for: newer)
        else { return }
        for try await chunk in body { guard try await writer.append(chunk) else { return } }
        if try await writer.finish(), newer.id != response.id { try await remove(.one(response.entry)) }
    }
}

/// The writer of the body of one response. One that is released without ``finish()`` stores nothing.
///
/// All calls of ``append(_:)`` together may take 30 s, or half of the time that the call had left for its body; then the response is
/// not stored. No call begins before the one before has returned, also when the cache does not wait for it any more.
public protocol HTTPDNSResponseWriter: Sendable {
    /// Appends bytes. It is not called again before it has returned.
    /// - Returns: Whether there is room for them. Otherwise the response is not stored.
    func append(_ bytes: [UInt8]) async throws -> Bool

    /// Stores the response with the bytes so far.
    /// - Returns: Whether it is stored.
    func finish() async throws -> Bool

    /// Drops the bytes so far: the body did not arrive whole. It may be called after ``finish()``, and has no effect then.
    func discard()
}

extension HTTPDNSResponseWriter {
    /// Does nothing.
    public func discard() {}
}

extension HTTPDNSClient.ResponseCache {
    /// A stored response, without its body.
    public struct StoredResponse: Sendable {
        let entry: ResponseIndex.Entry

        /// The URL under which it is stored.
        public var url: String { entry.head.url }
        /// The status and the stored header fields.
        public var head: HTTPResponse { entry.head.response }
        /// The time at which it arrived or was validated, in milliseconds since 1970-01-01 00:00 UTC.
        public var responseTime: Int64 { entry.head.responseTime }
        /// The length of the body as received.
        public var bodyLength: Int64 { entry.bodyLength }
        /// Hexadecimal digits that are the same for responses that replace each other, and differ for variants of a URL.
        public var id: String {
            let values = entry.head.vary.fields.map { "\($0.name)\($0.value.map { "=\($0)" } ?? "")" }
            return SHA256Hash.hexadecimal(of: ([url, entry.head.partition] + values).joined(separator: "\n"))
        }
        /// The head as bytes for a store, with everything that the cache has to know. The form of another version of the library
        /// may be unreadable.
        public var encoded: [UInt8] { [Self.form] + entry.head.encoded }

        private static let form: UInt8 = 1

        init(_ entry: ResponseIndex.Entry) { self.entry = entry }

        /// Creates the response of a store from the bytes of its head; nil when they are unreadable.
        /// - Parameters:
        ///   - encoded: The value that ``encoded`` had when the response was stored.
        ///   - bodyLength: The number of bytes of the body.
        ///   - read: Returns a range of the bytes of the body of this response, also when another one has taken its place meanwhile;
        ///     it throws when they are gone. It is called for a response that a request gets, for at most 256 KiB
        ///     at a time.
        public init?(
            encoded: [UInt8],
            bodyLength: Int64,
            read: @escaping @Sendable (Range<Int64>) async throws -> [UInt8]
        ) {
            guard encoded.first == Self.form, let head = StoredHead(encoded: Array(encoded.dropFirst())) else {
                return nil
            }
            entry = ResponseIndex.Entry(head, .elsewhere, bodyLength: bodyLength, cost: 0) { _, range, _ in
                .bytes(try await read(range))
            }
        }
    }

    /// The responses that a store has to return or to remove.
    public struct Selection: Sendable {
        /// The URL of the responses; nil for all URLs.
        public let url: String?
        /// The identities of the responses; nil for any.
        public let ids: Set<String>?
        /// The partition of the responses; nil for any.
        let partition: String?
        /// The responses, for a store that knows them by their entries.
        let entries: [ResponseIndex.Entry]?
        /// The time that the call has.
        var time = ReadTime()

        private init(url: String?, partition: String? = nil, _ entries: [ResponseIndex.Entry]? = nil) {
            self.url = url
            self.partition = partition
            self.entries = entries
            ids = entries.map { Set($0.map { StoredResponse($0).id }) }
        }

        static let all = Selection(url: nil)
        static func url(_ url: String) -> Selection { Selection(url: url) }
        static func variants(_ url: String, _ partition: String) -> Selection {
            Selection(url: url, partition: partition)
        }
        static func one(_ entry: ResponseIndex.Entry) -> Selection { Selection(url: entry.head.url, [entry]) }
        static func several(_ entries: [ResponseIndex.Entry]) -> Selection { Selection(url: nil, entries) }

        /// Returns the same selection for a call that has little time.
        func until(_ time: ReadTime) -> Selection {
            var selection = self
            selection.time = time
            return selection
        }

        /// Whether a response is one of them.
        public func contains(_ response: StoredResponse) -> Bool {
            guard url == nil || url == response.url, partition == nil || partition == response.entry.head.partition
            else { return false }
            return ids?.contains(response.id) ?? true
        }
    }
}
