// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl
package import HTTPDNSPrimitives
internal import HTTPTypes
package import Logging

/// Settings of a transport, fixed for its life.
package struct TransportConfiguration: Sendable {
    package var trust = HTTPDNSTrust()
    /// The files of ``trust``, already read; `nil`: the loop reads them.
    var trustMaterial: Result<TrustMaterial, TransferFailure>?
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
    /// The settings of TCP keepalive.
    package var tcpKeepalive = HTTPDNSTransfer.TCPKeepalive()
    /// Whether the servers' certificates are kept with each connection: 2 to 8 KB for each endpoint.
    package var keepsPeerCertificates = false
    /// The ejection of endpoints that respond with errors, which are then tried last for a while; `nil` for none.
    package var ejection: HTTPDNSTransfer.OutlierEjection?
    /// The maximum time for reading the rest of an unwanted body, see ``TransportLoop/endUnread(_:)``: as in OkHttp
    /// (`DISCARD_STREAM_TIMEOUT_MILLIS`).
    var discardTime = Duration.milliseconds(100)
    /// The libraries that decode content codings; codings without their library are not requested.
    var codingLibraries = CodingLibraries.system
    /// The time after which libcurl may drop an entry of its host table (CURLOPT_DNS_CACHE_TIMEOUT), in seconds.
    var entrySeconds = CurlLibrary.endlessEntries
    /// The settings of connections without a request; `nil` for none.
    package var activeProbing: HTTPDNSTransfer.ActiveProbing?
    package var logger: Logger?
    /// The record of closed connections; `nil` for none.
    package var closedConnections: ClosedConnections?
    var system = SystemCalls()
    /// Whether the machine has a route to an IPv6 address.
    package var hasRoute: @Sendable (HTTPDNSAddress) -> Bool = RouteProbe.systemHasRoute
    /// Random numbers in 0..<1, which spread cool-downs.
    package var random: @Sendable () -> Double = { Double.random(in: 0..<1) }
    /// The loop thread's name, at most 15 bytes on Linux.
    package var threadName = "httpdns-loop"
    /// The maximum number of loops, at least 1, see ``LoopSelection``.
    package var loops = 1
    /// Whether each request goes to the next loop, whatever the loops do: for tests of what must hold on any loop.
    package var takesLoopsInTurn = false

    package init() {}
}

/// The system calls of loops, which tests replace.
struct SystemCalls: Sendable {
    /// Makes the descriptors of a loop.
    var makeWaker: @Sendable () throws(TransferFailure) -> Waker = { () throws(TransferFailure) in try Waker() }
    /// Makes the socket of a connection from its family, type and protocol.
    var makeSocket: @Sendable (Int32, Int32, Int32) -> (descriptor: Int32, error: Int32) = openSocket(_:_:_:)
    /// The epoll driver's system call.
    var epollControl: EpollControl = { epoll_ctl($0, $1, $2, $3) }
    /// The system call with which the loop waits; there is one in each turn.
    var epollWait: EpollWait = { epoll_wait($0, $1, $2, $3) }
    /// The system calls for the local port of a socket and its number of unread bytes.
    var localPort: @Sendable (Int32) -> Int32 = localPort(of:)
    var receivedBytes: @Sendable (Int32) -> Int32 = receivedBytes(of:)
    /// The system call for the kernel's report about a connection.
    var sendingState: @Sendable (Int32) -> SendingState? = sendingState(of:)
}

/// Loop threads that each own a multi handle of libcurl: pinned transfers in, streamed responses out.
///
/// A thread starts with its first transfer. No code of the caller ever runs on it.
package final class Transport: Sendable {
    /// The first loop.
    let mailbox: LoopMailbox
    /// All loops; `nil` with a single one.
    let loopGroup: LoopGroup?
    private let logger: Logger?

    package convenience init(_ configuration: TransportConfiguration = TransportConfiguration()) {
        self.init(configuration, after: nil)
    }

    /// - Parameter predecessor: The transport whose knowledge of endpoints this one continues with.
    init(_ configuration: TransportConfiguration, after predecessor: Transport?) {
        mailbox = LoopMailbox(
            configuration,
            shared: SharedLoopState(configuration, after: predecessor?.mailbox.shared)
        )
        loopGroup = configuration.loops > 1 ? LoopGroup(configuration, first: mailbox) : nil
        logger = configuration.logger
    }

    deinit {
        if retire() {
            logger?.warning("a transport was dropped without shutdown; its loop ends with its last transfer")
        }
    }

    /// Sends one hop and returns at the head of its response.
    /// - Parameters:
    ///   - group: The group with which the transfer can be ended.
    ///   - transportSet: The transport set within the group.
    /// - Throws: ``TransferFailure``; ``TransferGroup/StaleTransportSet`` when the transport set is over; `CancellationError` when
    ///   the task is canceled.
    package func execute(
        _ request: consuming TransferRequest,
        in group: TransferGroup? = nil,
        transportSet: Int = 0
    ) async throws -> TransferResponse {
        try await begin(consume request, in: group, transportSet: transportSet).response()
    }

    /// Hands one hop to the loop, without waiting. Its caller must call ``TransferInProgress/response()`` once.
    /// - Throws: The errors of ``execute(_:in:transportSet:)`` for a hop that cannot begin.
    package func begin(
        _ request: consuming TransferRequest,
        in group: TransferGroup? = nil,
        transportSet: Int = 0
    ) throws -> TransferInProgress {
        guard !request.endpoints.isEmpty else {
            throw TransferFailure(code: .invalidRequest, phase: .queue, message: "the request has no endpoint to go to")
        }
        let mailbox = mailbox(for: request.url, request.permit)
        let transfer = Transfer(consume request, mailbox: mailbox, group: group)
        if let group, try !group.add(transfer, transportSet: transportSet) {
            throw TransferGroup.StaleTransportSet(request: transfer.takeRequest())
        }
        let pump = transfer.startPump()
        // The loop sends nothing of a request whose task was canceled before.
        if Task.isCancelled { transfer.cancel() }
        mailbox.post(.start(transfer))
        transfer.addLateEndpoints()
        return TransferInProgress(transfer: transfer, pump: pump)
    }

    /// Returns the loop for a request.
    private func mailbox(for url: borrowing ParsedURL, _ permit: borrowing (any AnyObject & Sendable)?) -> LoopMailbox {
        guard let loops = loopGroup else { return mailbox }
        return loops.mailbox(for: RaceOrigin(host: url.host, port: url.port), copy permit)
    }

    /// The records of endpoints, sorted: at most 16,384 from connecting to them, and as many of ejected endpoints.
    package var endpointRecords: [HTTPDNSTransfer.EndpointRecord] {
        // A copy with shared storage: the loop takes the same lock, and thousands of records take time.
        mailbox.endpoints.withLock { $0 }.endpointRecords(at: SystemTimeSource().now())
    }

    /// The open connections, and the endpoints without one that requests were sent to, in no particular order.
    package var connectionPools: [HTTPDNSTransfer.ConnectionPool] {
        guard let loopGroup else { return mailbox.pools.withLock { $0.records } }
        return loopGroup.mailboxes.flatMap { mailbox in mailbox.pools.withLock { $0.records } }.merged()
    }

    /// The number of loops that get requests. Each is a thread once it has been used.
    var startedLoops: Int { loopGroup?.startedLoops ?? 1 }

    private var mailboxes: [LoopMailbox] { loopGroup?.mailboxes ?? [mailbox] }

    /// Excludes existing connections from later transfers. Idle ones are closed; transfers in progress continue.
    package func retireConnections() {
        for mailbox in mailboxes { mailbox.post(.retire(nil)) }
    }

    /// Excludes the existing connections of one host, in the spelling of ``ParsedURL``.
    package func retireConnections(host: String) {
        let host = HTTPDNSAddress(host).map { ParsedURL.Host.address($0) } ?? .name(host)
        for mailbox in mailboxes { mailbox.post(.retire(host)) }
    }

    /// Refuses new transfers, lets those in progress end for `duration`, cancels the rest, and stops the threads. Idempotent.
    package func shutdown(drainingFor duration: Duration = .zero) async {
        await close(drainingUntil: SystemTimeSource().now() + duration)
    }

    /// Refuses new transfers; the loops end with the last one in progress, which ``drain()`` waits for.
    /// - Returns: Whether a loop was running and had not been asked to end.
    @discardableResult
    func retire() -> Bool {
        mailboxes.reduce(false) { $1.abandon() || $0 }
    }

    /// Refuses new transfers and waits, without a limit, until those in progress have ended.
    func drain() async {
        await close(drainingUntil: nil)
    }

    private func close(drainingUntil deadline: MonotonicTime?) async {
        guard let loopGroup else { return await mailbox.close(drainingUntil: deadline) }
        await withTaskGroup(of: Void.self) { tasks in
            for mailbox in loopGroup.mailboxes { tasks.addTask { await mailbox.close(drainingUntil: deadline) } }
        }
    }
}
