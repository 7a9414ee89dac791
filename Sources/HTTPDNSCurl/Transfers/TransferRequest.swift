package import HTTPDNSPrimitives
package import HTTPTypes

/// One hop to send: a request whose name is already resolved.
package struct TransferRequest: Sendable {
    package var method: HTTPRequest.Method
    /// The canonical URL; Host, SNI and the certificate's name are taken from it.
    package var url: ParsedURL
    package var headerFields: HTTPFields
    package var body: RequestBodySource
    /// The endpoints that may be dialled; ``order`` says in which order they are tried. The request is sent once, on the
    /// connection that stands first.
    package var endpoints: [HTTPDNSEndpoint]
    package var order = EndpointOrder.given
    /// The proxy, Unix socket or local address on the way to them; nil where they are simply connected to.
    package var passage: Passage?
    package var limits: TransferLimits
    package var versions: HTTPDNSTransfer.AllowedVersions
    /// Sent instead of the URL's own host when not nil. SNI and the certificate's name stay those of the URL.
    package var hostHeader: String?
    /// Kept until the transfer has ended on the wire, and let go of then: the right to be on the way.
    package var place: (any AnyObject & Sendable)?
    /// After how long without an answer the request is sent once more, besides, to the next endpoint: the first answer
    /// counts, the other sending is given up. Only for safe methods (RFC 9110 section 9.2.1) without a stream as body; nil
    /// means never.
    package var hedgeAfter: Duration?
    /// Ends with ``TransferFailure/Code/heldBack`` once the connection stands and TLS has proved the name: no byte of the
    /// request goes out.
    package var stopsBeforeSending = false
    /// Whether the server learns nothing of the client's own certificate. Such a transfer shares no connection with others.
    package var withholdsCertificate = false
    /// Whether content codings that libcurl knows are asked for and taken off the body (CURLOPT_ACCEPT_ENCODING).
    package var decodes = true
    /// Told how much of a streamed body libcurl has taken, at 0 when a connection stands for it, then with growing numbers,
    /// and once more when that was all of it. It runs in the task that reads the stream.
    package var uploadProgress: (@Sendable (_ bytes: Int64, _ isComplete: Bool) -> Void)?
    /// With ``stopsBeforeSending``: whether the connection is kept for requests to come. Else it is closed, and was made
    /// anew.
    package var keepsConnection = false

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

/// Bounds of one transfer. Durations are counted from the start of the phase that they name; nil means no bound.
package struct TransferLimits: Hashable, Sendable {
    /// Until the TCP connection stands.
    package var connect: Duration? = .seconds(10)
    /// From the TCP connection until TLS is done.
    package var tls: Duration? = .seconds(10)
    /// From the request's sending until the first byte of the answer. Interim answers (1xx) are none.
    package var firstByte: Duration? = .seconds(60)
    /// Between two reads of the answer.
    package var idle: Duration? = .seconds(60)
    /// The moment, on ``SystemTimeSource``, at which the whole transfer ends.
    package var deadline: MonotonicTime?
    /// The moment, on the same clock, at which the transfer ends unless the response head is there.
    ///
    /// While the body of a request is sent, and after it, ``idle`` and ``headAfterBody`` bound the transfer in its place.
    package var headDeadline: MonotonicTime?
    /// From the end of the request's body until the response head, for a request with a body.
    package var headAfterBody: Duration?
    /// The longest body, after decoding, that is delivered.
    ///
    /// With nil a decoded body of more than 1 MiB ends the transfer when it is over ``maximumDecodingRatio`` times as long as
    /// what was received.
    package var maximumResponseBytes: Int?

    /// Text and JSON reach ratios of 5 to 30, logs up to 100; gzip ends at 1,032, and bombs are made near it.
    static let maximumDecodingRatio = 200
    /// Below this a ratio says nothing: a page of one repeated character does no harm.
    static let uncheckedDecodedBytes = 1 << 20

    package init() {}

    /// The failure of a transfer whose time was over before there was anything sent.
    func failure(at now: Int64) -> TransferFailure? {
        let times: [(MonotonicTime?, TransferFailure.Phase)] = [(deadline, .total), (headDeadline, .head)]
        guard let (_, phase) = times.first(where: { $0.0.map { $0.nanoseconds <= now } ?? false }) else { return nil }
        return .deadlinePassedInQueue(phase)
    }
}

/// The bytes that a request carries.
package enum RequestBodySource: Sendable {
    case none
    case bytes([UInt8])
    /// A single-pass stream; with a nil length HTTP/1.1 uses chunked transfer coding.
    case stream(length: Int64?, any AsyncSequence<[UInt8], any Error> & Sendable)
}
