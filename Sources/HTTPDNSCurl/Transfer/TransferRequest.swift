// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSPrimitives
package import HTTPTypes

/// A request of one hop whose name is already resolved.
package struct TransferRequest: Sendable {
    package var method: HTTPRequest.Method
    /// The canonical URL; Host, SNI and the certificate's name are taken from it.
    package var url: ParsedURL
    package var headerFields: HTTPFields
    package var body: RequestBodySource
    /// The endpoints that may be connected to; ``order`` sets the order of attempts. The request is sent once, on the first
    /// established connection.
    package var endpoints: [HTTPDNSEndpoint]
    package var order = EndpointOrder.given
    /// The endpoints of a family whose lookup is in flight. They join the race as soon as they are known, unless it is
    /// decided (RFC 8305 section 3); `nil` for none. The owner of the request cancels the task after the transfer.
    package var lateEndpoints: Task<[HTTPDNSEndpoint], Never>?
    /// The egress path to the endpoints: proxy, Unix socket or local address; `nil` for direct connections.
    package var egressPath: EgressPath?
    package var limits: TransferLimits
    package var versions: HTTPDNSTransfer.AllowedVersions
    /// The versions that HTTPS records offer at some of the endpoints; nil when no record limits them. Each endpoint offers one
    /// that ``versions`` allows.
    package var offers: [HTTPDNSEndpoint: OfferedVersions]?
    /// The Host field that replaces the URL's own host; `nil` for the URL's. SNI and the certificate's name stay those of the
    /// URL.
    package var hostHeader: String?
    /// The connection permit, kept until the transfer has ended on the wire, and then released.
    package var permit: (any AnyObject & Sendable)?
    /// The time without a response after which the request is sent once more in parallel, to the next endpoint. The first
    /// response counts, and the other sending is canceled. Only for safe methods (RFC 9110 section 9.2.1) without a stream
    /// as body; `nil` means never.
    package var hedgeAfter: Duration?
    /// Whether the transfer ends with ``TransferFailure/Code/connectOnly`` once the connection is established and TLS
    /// has verified the name: no byte of the request is sent.
    package var stopsBeforeSending = false
    /// The taker of the connection's socket, with ``stopsBeforeSending`` and a URL in clear text. A proxy is then asked for a
    /// tunnel (CONNECT).
    package var handedSocket: HandedSocket?
    /// Whether the client's own certificate is withheld from the server. Such a transfer shares no connection with others.
    package var withholdsCertificate = false
    /// Whether content codings are requested, with an `Accept-Encoding` field unless the request has its own, and decoded by a
    /// ``DecodedBody``.
    package var decodes = true
    /// A callback with the bytes of a streamed body that libcurl has taken: 0 when a connection is established for it, then
    /// increasing numbers, and once more at the end. It runs in the task that reads the stream.
    package var uploadProgress: (@Sendable (_ bytes: Int64, _ isComplete: Bool) -> Void)?
    /// The receiver of interim responses; `nil`: they are dropped.
    package var interim: InterimResponseQueue?
    /// The longest time for which the body waits for a 100 (Continue), with a field `Expect: 100-continue`; `nil`: a second.
    package var continueTimeout: Duration?
    /// The notes of the transfer for the observers of its call; `nil` for a call without any.
    package var notes: TransferNotes?
    /// Whether, with ``stopsBeforeSending``, the connection is kept for later requests. Otherwise it is closed, and was a new
    /// one.
    package var keepsConnection = false
    /// Whether the body of the response keeps its chunked coding.
    package var keepsChunks = false
    /// The endpoint that is tried last: a retry does not prefer the one that just failed.
    package var avoided: HTTPDNSEndpoint?
    /// Whether libcurl's `Accept: */*` is left out of a request that has no `Accept` field.
    package var omitsAccept = false

    /// The value of the `Accept-Encoding` field that ``decodes`` adds.
    package static var acceptedCodings: String { CodingLibraries.system.acceptEncoding }

    package init(
        method: HTTPRequest.Method = .get,
        url: ParsedURL,
        headerFields: HTTPFields = [:],
        body: RequestBodySource = .none,
        endpoints: [HTTPDNSEndpoint],
        limits: TransferLimits = TransferLimits(),
        versions: HTTPDNSTransfer.AllowedVersions = .automatic,
        hostHeader: String? = nil
    ) {
        self.method = method
        self.url = url
        self.headerFields = headerFields
        self.body = body
        self.endpoints = endpoints
        self.limits = limits
        self.versions = versions
        self.hostHeader = hostHeader
    }
}

/// The bounds of one transfer. Durations count from the start of the phase that they name; `nil` means no bound.
package struct TransferLimits: Hashable, Sendable {
    /// The time until TCP is connected.
    package var connect: Duration? = .seconds(10)
    /// The time from the TCP connection until the end of the TLS handshake.
    package var tls: Duration? = .seconds(10)
    /// The time from the sending of the request until the first byte of the response. Interim responses (1xx) do not count.
    package var firstByte: Duration? = .seconds(60)
    /// The time between two reads of the response.
    package var idle: Duration? = .seconds(60)
    /// The time, on ``SystemTimeSource``, at which the whole transfer ends.
    package var deadline: MonotonicTime?
    /// The time, on the same clock, at which the transfer ends unless the response head has arrived.
    ///
    /// While the body of a request is sent, and after it, ``idle`` and ``headAfterBody`` bound the transfer in its place.
    package var headDeadline: MonotonicTime?
    /// The time from the end of the request's body until the response head, for a request with a body.
    package var headAfterBody: Duration?
    /// The maximum length of a delivered body, after decoding.
    ///
    /// With `nil`, a decoded body of more than 1 MiB ends the transfer when it is over ``maximumDecodingRatio`` times as long
    /// as the received data.
    package var maximumResponseBytes: Int?

    /// The maximum ratio of decoding. Text and JSON reach ratios of 5 to 30, logs up to 100; gzip ends at 1,032, and bombs
    /// are made near it.
    static let maximumDecodingRatio = 200
    /// The length below which the ratio is not checked: a page of one repeated character is harmless.
    static let uncheckedDecodedBytes = 1 << 20

    package init() {}

    /// Returns the failure of a transfer whose time limit passed before anything was sent.
    func failure(at now: Int64) -> TransferFailure? {
        if let deadline, deadline.nanoseconds <= now { return .deadlinePassedBeforeStart(.total) }
        if let headDeadline, headDeadline.nanoseconds <= now { return .deadlinePassedBeforeStart(.head) }
        return nil
    }
}

/// The body of a request.
package enum RequestBodySource: Sendable {
    case none
    case bytes([UInt8])
    /// A single-pass stream; with a nil length HTTP/1.1 uses chunked transfer coding.
    case stream(length: Int64?, any AsyncSequence<[UInt8], any Error> & Sendable)
}

extension TransferRequest {
    /// Returns the allowed versions for connections to an endpoint.
    func versions(at endpoint: HTTPDNSEndpoint) -> HTTPDNSTransfer.AllowedVersions {
        guard let offers else { return versions }
        return offers[endpoint]?.versions(for: versions) ?? versions
    }

    /// Whether TLS negotiates the version.
    var allowsBothVersions: Bool {
        switch versions.kind {
        case .automatic: url.scheme == .https
        case .http1Only, .http10Only, .http2Only: false
        }
    }

    var hasBody: Bool {
        if case .none = body { false } else { true }
    }

    /// Whether its connection uses TLS, with the server or with a proxy.
    var isOverTLS: Bool { url.scheme == .https || egressPath?.proxy?.kind == .https }

    /// Whether libcurl will ask for body bytes: it does not for a body known to be empty.
    var hasBytesToSend: Bool {
        switch body {
        case .none: false
        case .bytes(let bytes): !bytes.isEmpty
        case .stream(let length, _): length != 0
        }
    }

    /// Whether a second sending is harmless, whatever became of the first: the method is safe, and there is no body.
    var mayBeRepeated: Bool { !hasBody && method.isSafe }

    /// Whether two sendings may be in progress together: the method is safe, and the body is in memory. Idempotent methods
    /// such as PUT are not sufficient: of two concurrent sendings the older one may be executed last, after a later request.
    var mayBeHedged: Bool {
        if case .stream = body { return false }
        return method.isSafe
    }

    /// Whether its server expects a body, and must be informed when there is none (RFC 9110 section 8.6). Some respond with 411
    /// otherwise.
    var saysEmpty: Bool { !hasBody && (method == .post || method == .put || method == .patch) }
}

extension TransferLimits {
    /// Whether connecting, including the TLS handshake, may take longer than libcurl's own limit of 300 s.
    var mayConnectLongerThanLibcurl: Bool {
        guard let connect, let tls else { return true }
        return connect >= .seconds(150) || tls >= .seconds(150)
    }
}

extension HTTPRequest.Method {
    /// Whether a request with it asks for no change (RFC 9110 section 9.2.1).
    package var isSafe: Bool { [.get, .head, .options, .trace].contains(self) }
}
