// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSPrimitives
public import HTTPTypes

extension HTTPDNSTrafficMonitor {
    /// The redacted record of a call.
    ///
    /// Durations are encoded as milliseconds.
    public struct Record: Hashable, Sendable, Codable, CustomStringConvertible {
        /// The number of the call, unique in its process: `HTTPDNSClient.InterceptionContext.callID`.
        public var callID: UInt64
        /// The start of the call, in milliseconds since 1970-01-01 00:00 UTC.
        public var startTime: Int64
        /// The method of the caller's request.
        public var method: String
        /// The URL of the caller's request, without user information and fragment.
        public var url: String
        /// The outcome: `finished`, `failed` or `canceled`.
        public var outcome: String
        /// The status that the caller got; nil when there was none.
        public var status: Int?
        /// The error; nil unless the call failed.
        public var failure: Failure?
        /// The time from the start to the end of the call, which is the end of its response body.
        public var duration: Duration
        /// The time from the start to the response head that the caller got; nil when there was none.
        public var timeToHead: Duration?
        /// The number of redirects that were followed.
        public var redirects: Int
        /// The number of retries.
        public var retries: Int
        /// The bytes of the response body that the caller read, after decoding.
        public var bodyBytes: Int64
        /// Whether the caller read the response body to its end.
        public var isBodyComplete: Bool
        /// The caller's request body; nil unless it is stored. That of a hop may be another one: ``Hop/requestBody``.
        public var requestBody: Body?
        /// The response body as the caller read it; nil unless it is stored.
        public var responseBody: Body?
        /// The requests of the call in their order, with those of retries and redirects. Of more than 128, the first 64 and the
        /// last 64 are kept.
        public var hops: [Hop]

        /// The method, the URL, the outcome, and the duration: `GET https://one.test/a: finished 200 in 12 ms, 1 hop`.
        public var description: String {
            let result = status.map { " \($0)" } ?? failure.map { " \($0.code)/\($0.phase)" } ?? ""
            return "\(method) \(url): \(outcome)\(result) in \(duration.shortText), "
                + "\(hops.count) \(hops.count == 1 ? "hop" : "hops")"
        }
    }

    /// The error of a call or a hop.
    public struct Failure: Hashable, Sendable, Codable {
        /// The code, see `HTTPDNSClientError.Code`.
        public var code: String
        /// The phase, see `HTTPDNSClientError.Phase`.
        public var phase: String
        /// The message.
        public var message: String
    }

    /// One request of a recorded call.
    public struct Hop: Hashable, Sendable, Codable {
        /// The number of the hop in its call, from 0.
        public var number: Int
        /// The time from the start of the call to the start of the hop.
        public var offset: Duration
        /// The time from the start of the hop to its response head, or to its failure; nil when it was canceled.
        public var duration: Duration?
        /// The method.
        public var method: String
        /// The URL, without user information and fragment.
        public var url: String
        /// The pattern of the host's route; `none` without one.
        public var route: String
        /// The header fields of the request as it was sent, without those that the transport adds, such as `Host`. For a hop that
        /// was not sent they are those of the hop before cookies and the client's header fields.
        public var requestFields: HTTPFields
        /// The request body of the hop, where an interceptor has changed that of the caller; nil for the caller's body, and when
        /// request bodies are not stored.
        public var requestBody: Body?
        /// Whether the response was made in this process, by an interceptor, the response cache, a stub or a handler.
        public var isAnsweredInProcess: Bool
        /// The part that the response cache took, such as `hit`; nil without one, see `HTTPDNSClient.CallRecord.Hop.cacheSource`.
        public var cacheSource: String?
        /// Whether the response is that to an identical request of another call, see `HTTPDNSClient.CallRecord.Hop.isMerged`.
        public var isMerged: Bool
        /// The status; nil without a response. That of a stored response which the server has validated is its own, not 304.
        public var status: Int?
        /// The reason phrase; empty without a response.
        public var reason: String
        /// The header fields of the response, after network interceptors and the response cache.
        public var responseFields: HTTPFields
        /// The HTTP version; nil without a response of a server.
        public var version: String?
        /// The version and the cipher suite of TLS; nil in clear text, and without a response of a server.
        public var tls: TLSParameters?
        /// The addresses, and their source.
        public var addresses: AddressChoice
        /// Whether the connection had been used before.
        public var reusedConnection: Bool
        /// Whether the request was sent twice, see `HTTPDNSClient.Exchange.isHedged`.
        public var isHedged: Bool
        /// The durations of the phases.
        public var phases: Phases
        /// The bytes of heads and bodies.
        public var bytes: Bytes
        /// The error of the hop; nil for a response, and for a canceled hop.
        public var failure: Failure?
    }

    /// The result of the TLS handshake of a hop's connection, in the names of OpenSSL.
    public struct TLSParameters: Hashable, Sendable, Codable {
        /// The version, such as `TLSv1.3`.
        public var version: String
        /// The cipher suite, such as `TLS_AES_256_GCM_SHA384`.
        public var cipherSuite: String
    }

    /// The addresses of a hop: the source that named them, the tried ones and the one that answered.
    public struct AddressChoice: Hashable, Sendable, Codable {
        /// The source, such as `provider` or `mapping`; nil for a hop that was not resolved.
        public var source: String?
        /// The provider that had the address; nil for other sources, and without a response.
        public var provider: String?
        /// The key of the mapping that applied; nil without one, and without a response.
        public var mapping: String?
        /// The time since the provider or the system resolver was queried; nil for other sources.
        public var age: Duration?
        /// The lifetime that the address had left; nil means no expiry.
        public var timeLeft: Duration?
        /// Whether the address was past its time to live.
        public var isStale: Bool
        /// The addresses and ports in the order of the attempts.
        public var candidates: [String]
        /// The addresses that were tried and failed, in order.
        public var attempts: [Attempt]
        /// The address and port that answered; nil without a response of a server.
        public var endpoint: String?
        /// The proxy that the request went through; nil without one.
        public var proxy: String?
    }

    /// An address that was tried and failed.
    public struct Attempt: Hashable, Sendable, Codable {
        /// The address and port.
        public var endpoint: String
        /// The phase that it reached, see `HTTPDNSClientError.Phase`.
        public var phase: String
        /// The reason for its end, in short.
        public var failure: String
        /// The time that it took.
        public var elapsed: Duration
    }

    /// The durations of the phases of a hop. A phase that did not happen, or whose end is not known, is nil: a reused connection has
    /// neither ``connect`` nor ``tls``.
    public struct Phases: Hashable, Sendable, Codable {
        /// The time that resolving took.
        public var resolve: Duration?
        /// From the start of the transfer until the start of the attempt that carried it; nil for the first attempt.
        public var race: Duration?
        /// From the start of the attempt until the TCP connection was established.
        public var connect: Duration?
        /// From the TCP connection until the end of the TLS handshake.
        public var tls: Duration?
        /// From the sending of the request until the first byte of the response.
        public var firstByte: Duration?
        /// From the start of the transfer until its last byte.
        public var total: Duration?
    }

    /// The bytes of a hop. A number that is not known is nil.
    public struct Bytes: Hashable, Sendable, Codable {
        /// The bytes of the request head, see `HTTPDNSClient.CallRecord.Hop.requestHeadBytes`.
        public var requestHead: Int64?
        /// The bytes of the request body, as sent.
        public var requestBody: Int64?
        /// The bytes of the response head, see `HTTPDNSClient.CallRecord.Hop.responseHeadBytes`.
        public var responseHead: Int64?
        /// The bytes of the response body as received, before decoding.
        public var responseBody: Int64?
        /// The bytes of the response body after decoding.
        public var decodedBody: Int64?
    }
}

// The conformances above use these.

extension KeyedEncodingContainer {
    mutating func encode(_ value: Duration, forKey key: Key) throws { try encode(value.inMilliseconds, forKey: key) }

    mutating func encodeIfPresent(_ value: Duration?, forKey key: Key) throws {
        try encodeIfPresent(value?.inMilliseconds, forKey: key)
    }
}

extension KeyedDecodingContainer {
    /// Reads a Boolean. A missing one is false: files of earlier versions lack some of a hop.
    fileprivate func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
        try decodeIfPresent(type, forKey: key) ?? false
    }

    func decode(_ type: Duration.Type, forKey key: Key) throws -> Duration {
        .init(milliseconds: try decode(Double.self, forKey: key))
    }

    func decodeIfPresent(_ type: Duration.Type, forKey key: Key) throws -> Duration? {
        try decodeIfPresent(Double.self, forKey: key).map { .init(milliseconds: $0) }
    }
}

extension Duration {
    /// The duration in milliseconds, exact to the nanosecond up to 100 days.
    var inMilliseconds: Double { Double(wholeNanoseconds) / 1e6 }

    fileprivate init(milliseconds: Double) {
        self = .nanoseconds(Int64(exactly: (milliseconds * 1e6).rounded()) ?? 0)
    }
}
