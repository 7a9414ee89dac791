internal import CHTTPDNSCurl
package import HTTPDNSPrimitives
internal import HTTPTypes
package import Logging

/// Settings of a transport, fixed for its life.
package struct TransportConfiguration: Sendable {
    package enum Driver: Hashable, Sendable, CaseIterable {
        #if os(Linux)
        /// epoll with lazy deregistration.
        case epoll
        #endif
        /// `curl_multi_poll`, everywhere.
        case poll

        package static var platformDefault: Driver {
            #if os(Linux)
            .epoll
            #else
            .poll
            #endif
        }
    }

    package var trust = HTTPDNSTrust()
    /// The files of ``trust`` as somebody has read and tried them; nil: the loop reads them itself.
    var trustMaterial: TrustMaterial?
    package var trustRoots: HTTPDNSTrust.Roots {
        get { trust.roots }
        set { trust.roots = newValue }
    }
    package var driver: Driver = .platformDefault
    /// How many connections are kept open for later requests.
    package var maximumIdleConnections = 1024
    /// After how long the next endpoint of a request is tried as well (RFC 8305 section 5: 250 ms).
    package var attemptDelay = Duration.milliseconds(250)
    /// How long a connection may be without work; in whole seconds, 1 at least. The idle limit of load balancers is often 60
    /// s: whoever keeps connections longer is told only when it sends.
    package var idleLimit = Duration.seconds(60)
    /// How old a connection may become before new requests get another one; in whole seconds, 2 at least.
    package var maximumAge = Duration.seconds(600)
    /// The most requests on an HTTP/2 connection at the same time, if its server allows as many
    /// (CURLMOPT_MAX_CONCURRENT_STREAMS).
    package var maximumStreams = 1000
    /// The time that sent bytes may go without acknowledgment before a connection is given up: a bound of dead paths beside a
    /// transfer's connect limit, and of the kernel (TCP_USER_TIMEOUT, Linux) beside its idle and head limits; nil means about
    /// 15 minutes, the kernel's own limit.
    package var unacknowledgedLimit: Duration? = .seconds(30)
    /// Whether the certificates that servers show are kept with each connection: 2 to 8 KB for each endpoint.
    package var keepsPeerCertificates = false
    /// When an endpoint that answers with errors is tried last for a while; nil: never.
    package var ejection: HTTPDNSTransfer.OutlierEjection?
    /// Whether libcurl takes off the content codings that ``Inflater`` does not know. That needs a libcurl that asks in the
    /// middle of the head; with others only gzip and deflate are asked for, for libcurl takes a body in them for whole that
    /// ends in the middle.
    var decodesByThePiece = CurlLibrary.decodesByThePiece
    /// How endpoints are connected to without a request; nil: not at all.
    package var activeProbing: HTTPDNSTransfer.ActiveProbing?
    package var logger: Logger?
    #if os(Linux)
    /// The epoll driver's system call.
    var epollControl: EpollControl = { epoll_ctl($0, $1, $2, $3) }
    #endif
    /// Whether the machine has a route to an IPv6 address.
    package var hasRoute: @Sendable (HTTPDNSAddress) -> Bool = RouteProbe.systemHasRoute
    /// Numbers in 0..<1, which spread cool-downs.
    package var random: @Sendable () -> Double = { Double.random(in: 0..<1) }
    /// The loop thread's name, at most 15 bytes on Linux.
    package var threadName = "httpdns-loop"

    package init() {}
}

/// One loop thread that owns libcurl's multi handle: pinned transfers in, streamed responses out.
///
/// The thread starts with the first transfer. No code of the caller ever runs on it, but for tasks that prefer a
/// ``LoopExecutor``.
package final class Transport: Sendable {
    let mailbox: LoopMailbox
    private let logger: Logger?

    package init(_ configuration: TransportConfiguration = TransportConfiguration()) {
        mailbox = LoopMailbox(configuration)
        logger = configuration.logger
    }

    deinit {
        if mailbox.abandon() {
            logger?.warning("a transport was dropped without shutdown; its loop ends with its last transfer")
        }
    }

    /// Sends one hop and returns at the head of its response.
    /// - Parameters:
    ///   - group: Whose transfer it is, so that it can be ended with the others of its kind.
    ///   - cohort: Which of the group's.
    /// - Throws: ``TransferFailure``; ``TransferGroup/Superseded`` when the cohort is over; `CancellationError` when the task
    ///   is cancelled.
    package func execute(
        _ request: consuming TransferRequest,
        in group: TransferGroup? = nil,
        cohort: Int = 0
    ) async throws -> TransferResponse {
        guard !request.endpoints.isEmpty else {
            throw TransferFailure(code: .invalidRequest, phase: .queue, message: "the request has no endpoint to go to")
        }
        let transfer = Transfer(consume request, mailbox: mailbox, group: group)
        if let group, try !group.add(transfer, cohort: cohort) {
            throw TransferGroup.Superseded(request: transfer.takeRequest())
        }
        let pump = transfer.startPump()
        let place = CallerPlace.current(#isolation)
        let rawHead: RawHead
        do {
            rawHead = try await withTaskCancellationHandler {
                try await withUnsafeThrowingContinuation { continuation in
                    transfer.response.withLock { $0.awaitHead(continuation, at: place) }
                    mailbox.post(.start(transfer))
                }
            } onCancel: {
                transfer.cancel()
            }
        } catch {
            pump?.cancel()
            throw error
        }
        let body = TransferResponseBody(transfer, pump: pump)
        do throws(TransferFailure) {
            let (head, version) = try ResponseHeadParser.parse(rawHead.bytes)
            if transfer.request.versions == .http2Only, version != .http2 {
                throw TransferFailure(
                    code: .protocolViolation,
                    phase: .firstByte,
                    message: "the server answered with \(version), and HTTP/2 was asked for"
                )
            }
            return TransferResponse(
                head: head,
                version: version,
                endpoint: rawHead.endpoint,
                failedAttempts: rawHead.failedAttempts,
                reusedConnection: rawHead.reusedConnection,
                hedges: rawHead.hedges,
                peerCertificates: rawHead.peerCertificates,
                timings: rawHead.timings,
                body: body
            )
        } catch {
            var failure = error
            failure.endpoint = rawHead.endpoint
            failure.attempts = rawHead.failedAttempts
            failure.requestMayHaveBeenSent = true
            throw failure
        }
    }

    /// What is known of endpoints, sorted: at most 4,096 records of what connecting to them showed, and as many of endpoints
    /// that are ejected.
    package var endpointRecords: [HTTPDNSTransfer.EndpointRecord] {
        // A copy, which shares its memory: the loop takes the same lock, and thousands of records take their time.
        mailbox.health.withLock { $0 }.records(at: SystemTimeSource().now())
    }

    /// The connections that are open, and the endpoints without one that requests were sent to, in no order.
    package var connectionPools: [HTTPDNSTransfer.ConnectionPool] {
        mailbox.pools.withLock { $0.records }
    }

    /// Connections made before this are used for no transfer that begins after it. Idle ones are closed, transfers in flight
    /// end as they began.
    package func retireConnections() {
        mailbox.post(.retire(nil))
    }

    /// The same for one host, in the spelling of ``ParsedURL``.
    package func retireConnections(host: String) {
        mailbox.post(.retire(HTTPDNSAddress(host).map { .address($0) } ?? .name(host)))
    }

    /// Refuses new transfers, lets those in flight end for `duration`, cuts the rest, ends the thread. Idempotent.
    package func shutdown(drainingFor duration: Duration = .zero) async {
        await mailbox.close(drainingUntil: SystemTimeSource().now() + duration)
    }

    /// Refuses new transfers; the loop ends with the last one in flight, which ``drain()`` waits for.
    /// - Returns: Whether there is a loop at all.
    func retire() -> Bool {
        mailbox.abandon()
    }

    /// Refuses new transfers and waits, for as long as it takes, until those in flight have ended.
    func drain() async {
        await mailbox.close(drainingUntil: nil)
    }
}
