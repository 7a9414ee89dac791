// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

extension HTTPDNSClient {
    /// The most bytes of bodies per second, in each direction.
    ///
    /// A response body is delivered at this rate, and the server is slowed down by back-pressure: up to 256 KiB are buffered
    /// before that over HTTP/1.1, and up to libcurl's window over HTTP/2. Decoded bytes count. A request body is read and sent
    /// at this rate; bytes in memory are then sent like a stream. Heads, handshakes and queries to providers do not count, and
    /// responses from a cache do not.
    public struct Bandwidth: Hashable, Sendable {
        /// The most bytes per second of response bodies, at least 1.
        public var receiving: HTTPDNSClient.ByteLimit
        /// The most bytes per second of request bodies, at least 1.
        public var sending: HTTPDNSClient.ByteLimit

        /// Creates a bandwidth, unlimited by default. ``HTTPDNSClient/ByteLimit/inherited`` means the same.
        public init(
            receiving: HTTPDNSClient.ByteLimit = .unlimited,
            sending: HTTPDNSClient.ByteLimit = .unlimited
        ) {
            self.receiving = receiving
            self.sending = sending
        }

        /// No limit.
        public static let unlimited = HTTPDNSClient.Bandwidth()

        /// - Throws: ``HTTPDNSClientError`` with code `configuration`.
        func validate() throws(HTTPDNSClientError) {
            for (name, limit) in [("receiving", receiving), ("sending", sending)] where limit.bytes == 0 {
                throw .configuration(
                    "bandwidth.\(name) is 0, and no body would end",
                    hint: "1 byte a second is the least"
                )
            }
        }
    }
}

/// A rate of bytes that several bodies share.
final class RateLimit: Sendable {
    private let bytesPerSecond: Int
    /// The time until which the rate is used up. Deadlines of calls have the same clock.
    private let usedUntil = Lock(SystemTimeSource().now())

    /// Returns nil for no limit.
    init?(_ limit: HTTPDNSClient.ByteLimit) {
        guard let bytes = limit.bytes, bytes > 0 else { return nil }
        bytesPerSecond = bytes
    }

    /// The most bytes that are taken together: an eighth of a second of the rate.
    var portion: Int { max(1, bytesPerSecond / 8) }

    /// Takes the time of some bytes, behind those of earlier calls, and returns when it ends.
    func reserve(_ bytes: Int) -> MonotonicTime {
        let now = SystemTimeSource().now()
        return usedUntil.withLock { usedUntil in
            usedUntil = max(usedUntil, now) + .seconds(Double(bytes) / Double(bytesPerSecond))
            return usedUntil
        }
    }
}

/// A stream whose bytes are passed on at a limited rate.
struct RateLimitedBytes<Base: AsyncSequence<[UInt8], any Error> & Sendable>: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error

    let base: Base
    /// The limits of the client and of the request, as far as there are any.
    let limits: [RateLimit]
    /// The hop of a response, whose call has a deadline also for bytes that wait here.
    var hop: HopRecord?

    struct AsyncIterator: AsyncIteratorProtocol {
        var base: Base.AsyncIterator
        let limits: [RateLimit]
        let portion: Int
        let hop: HopRecord?
        private var rest: ArraySlice<UInt8> = []

        init(_ sequence: RateLimitedBytes) {
            base = sequence.base.makeAsyncIterator()
            limits = sequence.limits
            hop = sequence.hop
            portion = sequence.limits.map(\.portion).min() ?? .max
        }

        mutating func next() async throws -> [UInt8]? { try await next(isolation: #isolation) }

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
            if rest.isEmpty {
                guard let chunk = try await base.next(isolation: actor) else { return nil }
                rest = chunk[...]
            }
            let bytes = rest.count <= portion ? Array(rest) : Array(rest.prefix(portion))
            rest = rest.dropFirst(bytes.count)
            let end = limits.map { $0.reserve(bytes.count) }.max() ?? SystemTimeSource().now()
            if let hop, let deadline = hop.time.deadline, end > deadline {
                try await SystemTimeSource().sleep(until: deadline)
                throw HTTPDNSClientError.overdueAtRate(of: hop)
            }
            try await SystemTimeSource().sleep(until: end)
            return bytes
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}

extension HTTPDNSClient.Response.Body {
    /// Returns the same body at a limited rate.
    func limited(by limits: [RateLimit], _ hop: HopRecord) -> HTTPDNSClient.Response.Body {
        changed(to: RateLimitedBytes(base: self, limits: limits, hop: hop), length: declaredLength)
    }
}

extension HTTPDNSClientError {
    /// Returns the error for a call whose deadline passes while its body waits for its rate.
    fileprivate static func overdueAtRate(of hop: HopRecord) -> HTTPDNSClientError {
        var error = HTTPDNSClientError(
            code: .timedOut,
            phase: .body,
            message: "the body of the response from \(hop.origin) was not read in time: its bandwidth is limited",
            host: hop.host,
            hint: "give the call more time (options.timeout), or a higher bandwidth"
        )
        error.requestMayHaveBeenSent = true
        error.elapsed = hop.time.elapsed
        error.limit = hop.time.limit
        error.isCallDeadline = true
        return error
    }
}

extension RequestBodySource {
    /// Returns the same body at a limited rate.
    func limited(by limits: [RateLimit]) async throws -> RequestBodySource {
        func limited(_ chunks: some AsyncSequence<[UInt8], any Error> & Sendable)
            -> any AsyncSequence<[UInt8], any Error> & Sendable
        {
            RateLimitedBytes(base: chunks, limits: limits)
        }
        switch self {
        case .none: return self
        case .bytes(let bytes):
            return try await OpenPieces.source(of: [.bytes(bytes)], until: nil).limited(by: limits)
        case .stream(let length, let chunks): return .stream(length: length, limited(chunks))
        }
    }
}

/// The rates of a client's bodies.
struct RateLimits: Sendable {
    private let receiving: RateLimit?
    private let sending: RateLimit?

    init(_ configuration: HTTPDNSClient.Configuration) {
        receiving = RateLimit(configuration.bandwidth.receiving)
        sending = RateLimit(configuration.bandwidth.sending)
    }

    /// Returns the limits of the response body; none for most requests.
    func receiving(of request: HTTPDNSClient.Request) -> [RateLimit]? {
        guard receiving != nil || request.own != nil else { return nil }
        return limits(receiving, request.own?.options.bandwidth.receiving)
    }

    /// Returns the limits of the request body; none for most requests.
    func sending(of request: HTTPDNSClient.Request) -> [RateLimit]? {
        guard sending != nil || request.own != nil else { return nil }
        return limits(sending, request.own?.options.bandwidth.sending)
    }

    private func limits(_ client: RateLimit?, _ own: HTTPDNSClient.ByteLimit?) -> [RateLimit]? {
        guard client != nil || own?.bytes != nil else { return nil }
        let limits = [client, own.flatMap { RateLimit($0) }].compactMap(\.self)
        return limits.isEmpty ? nil : limits
    }
}
