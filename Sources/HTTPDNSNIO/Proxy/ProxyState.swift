// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if NIO
internal import Glibc
internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSPrimitives
internal import Logging
internal import NIOCore
internal import Synchronization

/// The state that the connections of a proxy share.
final class ProxyState: Sendable {
    private struct Open: Sendable {
        var target: ProxyHandshake.Target
        var endpoint: HTTPDNSEndpoint
        var startedAt: MonotonicTime
        let activity: TunnelActivity
        let client: any Channel
        let server: any Channel
        var drain: TunnelDrain?
        /// Why its channels are being closed.
        var ending: TunnelDrain.Ending?

        /// The last byte; one that waits for a slow peer is not quiet.
        func lastByte(at now: MonotonicTime) -> (at: MonotonicTime, isFromServer: Bool) {
            activity.waitingEnds.load(ordering: .relaxed) > 0 ? (now, false) : activity.lastByte
        }
    }

    /// The addresses of a host with tunnels, since before the first one was made.
    private struct Followed: Sendable {
        let task: Task<Void, Never>
        /// The number of tunnels, those in the making included.
        var users = 0
        var newest: [HTTPDNSEndpoint]
        /// Those that the host had, and perhaps has. A tunnel may rightly lead elsewhere, such as to an address of the system or a
        /// proxy's.
        var known: Set<HTTPDNSEndpoint>

        init(_ task: Task<Void, Never>, since first: [HTTPDNSEndpoint]) {
            (self.task, newest, known) = (task, first, Set(first))
        }

        /// Whether the host had an address, and has it no more.
        func hasLeft(_ endpoint: HTTPDNSEndpoint) -> Bool { known.contains(endpoint) && !newest.contains(endpoint) }
    }

    /// The maximum number of connections without a tunnel: peers without the password must not take the descriptors of the process.
    private static let maximumHandshakes = 256

    private struct State {
        var counters = HTTPDNSProxy.Counters()
        var tunnels: [UInt64: Open] = [:]
        var lastTunnel: UInt64 = 0
        /// The tunnels in the making.
        var pending = 0
        /// The connections without a tunnel.
        var handshakes: [ObjectIdentifier: any Channel] = [:]
        var followed: [ProxyHandshake.Target: Followed] = [:]
        /// Whether the tunnels to left addresses are looked at.
        var isDraining = false
        var isClosed = false

        /// Notes that a tunnel is not made, or is closed. The last one's host is followed no more.
        /// - Returns: What followed it.
        mutating func leave(_ target: ProxyHandshake.Target) -> Task<Void, Never>? {
            guard let users = followed[target]?.users else { return nil }
            followed[target]?.users = users - 1
            return users == 1 ? followed.removeValue(forKey: target)?.task : nil
        }
    }

    let client: HTTPDNSClient
    let login: ProxyLogin
    let configuration: HTTPDNSProxy.Configuration
    private let ownPort: UInt16
    private let state = Lock(State())
    private let clock = SystemTimeSource()

    init(
        _ client: HTTPDNSClient,
        _ login: ProxyLogin,
        ownPort: UInt16,
        _ configuration: HTTPDNSProxy.Configuration
    ) {
        self.client = client
        self.login = login
        self.ownPort = ownPort
        self.configuration = configuration
    }

    var counters: HTTPDNSProxy.Counters { state.withLock { $0.counters } }

    var tunnels: [HTTPDNSProxy.Tunnel] {
        let now = clock.now()
        return state.withLock { Array($0.tunnels.values) }.map { open in
            HTTPDNSProxy.Tunnel(
                host: open.target.host,
                port: open.target.port,
                endpoint: open.endpoint,
                bytesSent: open.activity.sent.load(ordering: .relaxed),
                bytesReceived: open.activity.received.load(ordering: .relaxed),
                age: now - open.startedAt
            )
        }
    }

    func count(_ event: any WritableKeyPath<HTTPDNSProxy.Counters, Int> & Sendable) {
        state.withLock { $0.counters[keyPath: event] += 1 }
    }

    func noteRefusal(_ refusal: ProxyHandshake.Refusal) {
        count(refusal == .login ? \.loginsRefused : \.handshakesRefused)
        configuration.logger?.info("the proxy refused a connection", metadata: ["reason": "\(refusal)"])
    }

    // MARK: connecting

    /// Notes a new connection.
    /// - Returns: Whether it is served.
    func beginsHandshake(_ channel: any Channel) -> Bool {
        state.withLock { state in
            guard !state.isClosed, state.handshakes.count < ProxyState.maximumHandshakes else { return false }
            state.handshakes[ObjectIdentifier(channel)] = channel
            return true
        }
    }

    func endedHandshake(_ channel: any Channel) { state.withLock { $0.handshakes[ObjectIdentifier(channel)] = nil } }

    /// Notes that a tunnel is not made.
    func gaveUp(_ target: ProxyHandshake.Target) {
        let task = state.withLock { state in
            state.pending -= 1
            return state.leave(target)
        }
        task?.cancel()
    }

    /// Connects to a destination. A socket is to be followed by ``opened(_:_:_:client:server:)`` or ``gaveUp(_:)``.
    /// - Returns: The socket; nil with the outcome of a failure.
    func connect(
        to target: ProxyHandshake.Target
    ) async -> (HTTPDNSClient.ConnectedSocket?, ProxyHandshake.Outcome) {
        let query = configuration.drainDeadline == nil ? nil : try? target.query
        // What the host has now: the first update may come after a move.
        let first = query.flatMap { try? client.resolver.cached($0) }?.endpoints ?? []
        let hasRoom = state.withLock { state in
            guard state.tunnels.count + state.pending < configuration.maximumTunnels, !state.isClosed else {
                return false
            }
            state.pending += 1
            if let query { follow(target, query, since: first, &state) }
            return true
        }
        guard hasRoom else {
            count(\.failed)
            return (nil, .full("the proxy has its maximum of \(configuration.maximumTunnels) tunnels"))
        }
        do {
            guard let addresses = try await guardedAddresses(of: target) else {
                gaveUp(target)
                count(\.failed)
                return (
                    nil,
                    .forbidden("the destination is no public address, and in none of the networks that are allowed")
                )
            }
            let socket = try await client.connectedSocket(to: target.host, port: target.port, at: addresses)
            // It would wait for itself.
            let scope = HTTPDNSAddressPolicy.Scope(of: socket.endpoint.address)
            guard socket.endpoint.port != ownPort || scope != .loopback else {
                Glibc.close(socket.descriptor)
                gaveUp(target)
                return (nil, .forbidden("the proxy makes no tunnels to itself"))
            }
            return (socket, .connected)
        } catch is CancellationError {
            gaveUp(target)
            return (nil, .late("the client has left"))
        } catch {
            gaveUp(target)
            count(\.failed)
            let outcome = ProxyHandshake.Outcome(error)
            configuration.logger?.info(
                "the proxy could not make a tunnel",
                metadata: ["host": "\(target.host.escaped(limit: 253)):\(target.port)", "error": "\(error)"]
            )
            return (nil, outcome)
        }
    }

    /// Returns the source of a destination's addresses; nil when a proxy with a guard may reach none of them.
    private func guardedAddresses(
        of target: ProxyHandshake.Target
    ) async throws -> HTTPDNSClient.Request.Options.Addresses? {
        guard let allowed = configuration.guardedBesides else { return .automatic }
        let query = try target.query
        if client.resolver.decidesAlone(query) { return .automatic }
        let reachable = try await client.resolver.resolve(query).endpoints.filter { endpoint in
            HTTPDNSAddressPolicy.Scope(of: endpoint.address) == .public
                || allowed.contains { $0.contains(endpoint.address) }
        }
        return reachable.isEmpty ? nil : .only(reachable.map { .init($0.address, port: $0.port) })
    }

    // MARK: tunnels

    /// Notes a tunnel that was made.
    /// - Returns: Its number; nil after the shutdown.
    func opened(
        _ target: ProxyHandshake.Target,
        _ endpoint: HTTPDNSEndpoint,
        _ activity: TunnelActivity,
        client: any Channel,
        server: any Channel
    ) -> UInt64? {
        let now = clock.now()
        let (number, begins) = state.withLock { state -> (UInt64?, Bool) in
            state.pending -= 1
            guard !state.isClosed else { return (nil, false) }
            state.counters.opened += 1
            state.lastTunnel += 1
            var open = Open(
                target: target,
                endpoint: endpoint,
                startedAt: now,
                activity: activity,
                client: client,
                server: server
            )
            // The host may have moved meanwhile.
            if let deadline = configuration.drainDeadline, state.followed[target]?.hasLeft(endpoint) == true {
                open.drain = TunnelDrain(leftAt: now, deadline: deadline)
            }
            state.tunnels[state.lastTunnel] = open
            let begins = open.drain != nil && !state.isDraining
            if begins { state.isDraining = true }
            return (state.lastTunnel, begins)
        }
        if begins { startDraining() }
        return number
    }

    func closed(_ number: UInt64) {
        let task = state.withLock { state -> Task<Void, Never>? in
            guard let open = state.tunnels.removeValue(forKey: number) else { return nil }
            switch open.ending {
            case .quiet: state.counters.endedQuiet += 1
            case .afterServer: state.counters.endedAfterServer += 1
            case .deadline: state.counters.endedAtDeadline += 1
            case nil: break
            }
            return state.leave(open.target)
        }
        task?.cancel()
    }

    func close() async {
        let (channels, tasks) = state.withLock { state in
            state.isClosed = true
            defer { state.followed = [:] }
            let channels = state.tunnels.values.flatMap { [$0.client, $0.server] } + state.handshakes.values
            return (channels, state.followed.values.map(\.task))
        }
        for task in tasks { task.cancel() }
        for channel in channels { try? await channel.close().get() }
    }

    // MARK: draining

    /// Follows the addresses of a host for one tunnel more.
    private func follow(
        _ target: ProxyHandshake.Target,
        _ query: HTTPDNSResolver.Query,
        since first: [HTTPDNSEndpoint],
        _ state: inout State
    ) {
        defer { state.followed[target]?.users += 1 }
        guard state.followed[target] == nil else { return }
        let updates = client.resolver.addresses(of: query)
        let task = Task.detached { [weak self] in
            while !Task.isCancelled {
                do {
                    for try await resolution in updates { self?.moved(target, to: resolution) }
                } catch let error as HTTPDNSResolver.Error where error.code == .shutDown {
                    return
                } catch {
                    try? await Task.sleep(for: .seconds(1))
                }
            }
        }
        state.followed[target] = Followed(task, since: first)
    }

    private func moved(_ target: ProxyHandshake.Target, to resolution: HTTPDNSResolver.Resolution) {
        guard let deadline = configuration.drainDeadline else { return }
        let now = clock.now()
        let begins = state.withLock { state in
            guard var followed = state.followed[target] else { return false }
            followed.newest = resolution.endpoints
            var hasLeft = false
            for (number, open) in state.tunnels where open.target == target && open.ending == nil {
                let isLeft = followed.hasLeft(open.endpoint)
                state.tunnels[number]?.drain = isLeft ? open.drain ?? TunnelDrain(leftAt: now, deadline: deadline) : nil
                hasLeft = hasLeft || isLeft
            }
            followed.known.formUnion(resolution.endpoints)
            state.followed[target] = followed
            guard hasLeft, !state.isDraining else { return false }
            state.isDraining = true
            return true
        }
        if begins { startDraining() }
    }

    /// Looks at the tunnels to left addresses until there are none.
    private func startDraining() { _ = clock.alarm(at: clock.now()) { [weak self] in self?.drain() } }

    private func drain() -> MonotonicTime? {
        let now = clock.now()
        let (ending, isOver) = state.withLock { state -> ([(UInt64, Open)], Bool) in
            var ending: [(UInt64, Open)] = []
            for (number, open) in state.tunnels where open.ending == nil {
                guard let reason = open.drain?.ending(lastByte: open.lastByte(at: now), at: now) else { continue }
                state.tunnels[number]?.ending = reason
                ending.append((number, open))
            }
            let isOver = state.isClosed || !state.tunnels.values.contains { $0.drain != nil }
            if isOver { state.isDraining = false }
            return (ending, isOver)
        }
        for (number, open) in ending { end(number, open) }
        return isOver ? nil : now + TunnelDrain.shortQuietTime
    }

    /// Closes a tunnel, unless its loop finds bytes that had arrived before: a busy loop has not read them yet.
    private func end(_ number: UInt64, _ open: Open) {
        // With a delay: the loop looks at its sockets in between.
        open.client.eventLoop.scheduleTask(in: .milliseconds(1)) { [self] in
            let now = clock.now()
            let isMeant = open.drain?.ending(lastByte: open.lastByte(at: now), at: now) != nil
            if isMeant { return open.client.close(promise: nil) }
            state.withLock { $0.tunnels[number]?.ending = nil }
        }
    }
}

extension ProxyHandshake.Target {
    /// The query for its addresses.
    fileprivate var query: HTTPDNSResolver.Query {
        get throws { HTTPDNSResolver.Query(try HTTPDNSHost(host), port: port) }
    }
}

extension ProxyHandshake.Outcome {
    init(_ error: any Error) {
        let text = "\(error)".onOneLine(limit: 400)
        guard let error = error as? HTTPDNSClientError else {
            self = .unresolved(text)
            return
        }
        self =
            switch error.code {
            case .policyRefused: .forbidden(text)
            case .timedOut: .late(text)
            case .limitReached, .shutDown: .full(text)
            default: error.phase == .connect ? .unreachable(text) : .unresolved(text)
            }
    }
}
#endif
