// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl
package import HTTPDNSPrimitives
internal import HTTPTypes
package import Logging

/// Settings of a transport, fixed for its life.
package struct TransportConfiguration: Sendable {
    package var trust = HTTPDNSTrust()
    /// The files of ``trust``, already read and tested; `nil`: the loop reads them.
    var trustMaterial: TrustMaterial?
    package var trustRoots: HTTPDNSTrust.Roots {
        get { trust.roots }
        set { trust.roots = newValue }
    }
    /// The maximum number of connections that are kept open for later requests.
    package var maximumIdleConnections = 1024
    /// The delay after which the next endpoint of a request is tried in parallel (RFC 8305 section 5: 250 ms).
    package var attemptDelay = Duration.milliseconds(250)
    /// The time that an idle connection is kept; in whole seconds, at least 1. The idle limit of load balancers is often 60
    /// s: a client that keeps connections longer notices their end only when it sends.
    package var idleLimit = Duration.seconds(60)
    /// The age of a connection at which new requests get another one; in whole seconds, at least 2.
    package var maximumAge = Duration.seconds(600)
    /// The maximum number of concurrent requests on an HTTP/2 connection, if its server allows as many
    /// (CURLMOPT_MAX_CONCURRENT_STREAMS).
    package var maximumStreams = 1000
    /// The time that sent bytes may stay unacknowledged before a connection is abandoned; `nil` means about 15 minutes, the
    /// kernel's own limit. It bounds dead paths together with a transfer's connect limit. It also bounds the kernel
    /// (TCP_USER_TIMEOUT, Linux) together with the transfer's idle and head limits.
    package var unacknowledgedLimit: Duration? = .seconds(30)
    /// Whether the servers' certificates are kept with each connection: 2 to 8 KB for each endpoint.
    package var keepsPeerCertificates = false
    /// The ejection of endpoints that respond with errors, which are then tried last for a while; `nil` for none.
    package var ejection: HTTPDNSTransfer.OutlierEjection?
    /// Whether libcurl decodes the content codings that ``Inflater`` does not know; otherwise only gzip and deflate are
    /// requested. LibcurlQuirks.md: decoding is decided per piece.
    var decodesByThePiece = CurlLibrary.decodesByThePiece
    /// The settings of connections without a request; `nil` for none.
    package var activeProbing: HTTPDNSTransfer.ActiveProbing?
    package var logger: Logger?
    /// The epoll driver's system call.
    var epollControl: EpollControl = { epoll_ctl($0, $1, $2, $3) }
    /// Whether the machine has a route to an IPv6 address.
    package var hasRoute: @Sendable (HTTPDNSAddress) -> Bool = RouteProbe.systemHasRoute
    /// Random numbers in 0..<1, which spread cool-downs.
    package var random: @Sendable () -> Double = { Double.random(in: 0..<1) }
    /// The loop thread's name, at most 15 bytes on Linux.
    package var threadName = "httpdns-loop"

    package init() {}
}

/// A loop thread that owns libcurl's multi handle: pinned transfers in, streamed responses out.
///
/// The thread starts with the first transfer. No code of the caller ever runs on it, except tasks that prefer a
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
    ///   - group: The group with which the transfer can be ended.
    ///   - cohort: The cohort within the group.
    /// - Throws: ``TransferFailure``; ``TransferGroup/StaleTransportSet`` when the cohort is over; `CancellationError` when
    ///   the task is cancelled.
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
            throw TransferGroup.StaleTransportSet(request: transfer.takeRequest())
        }
        let pump = transfer.startPump()
        let place = ResumptionTarget.current(#isolation)
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
            let (head, version) = try ResponseHead.received(rawHead.bytes)
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

    /// The records of endpoints, sorted: at most 4,096 from connecting to them, and as many of ejected endpoints.
    package var endpointRecords: [HTTPDNSTransfer.EndpointRecord] {
        // A copy with shared storage: the loop takes the same lock, and thousands of records take time.
        mailbox.health.withLock { $0 }.records(at: SystemTimeSource().now())
    }

    /// The open connections, and the endpoints without one that requests were sent to, in no particular order.
    package var connectionPools: [HTTPDNSTransfer.ConnectionPool] {
        mailbox.pools.withLock { $0.records }
    }

    /// Excludes existing connections from later transfers. Idle ones are closed; transfers in progress continue.
    package func retireConnections() {
        mailbox.post(.retire(nil))
    }

    /// Excludes the existing connections of one host, in the spelling of ``ParsedURL``.
    package func retireConnections(host: String) {
        mailbox.post(.retire(HTTPDNSAddress(host).map { .address($0) } ?? .name(host)))
    }

    /// Refuses new transfers, lets those in progress end for `duration`, cancels the rest, and stops the thread. Idempotent.
    package func shutdown(drainingFor duration: Duration = .zero) async {
        await mailbox.close(drainingUntil: SystemTimeSource().now() + duration)
    }

    /// Refuses new transfers; the loop ends with the last one in progress, which ``drain()`` waits for.
    /// - Returns: Whether there is a loop.
    func retire() -> Bool {
        mailbox.abandon()
    }

    /// Refuses new transfers and waits, without a limit, until those in progress have ended.
    func drain() async {
        await mailbox.close(drainingUntil: nil)
    }
}
