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

/// What the connections of a proxy share.
final class ProxyState: Sendable {
    private struct Open: Sendable {
        var target: ProxyHandshake.Target
        var endpoint: HTTPDNSEndpoint
        var startedAt: MonotonicTime
        let activity: TunnelActivity
        let client: any Channel
        var drain: TunnelDrain?
    }

    private struct State {
        var counters = HTTPDNSProxy.Counters()
        var tunnels: [UInt64: Open] = [:]
        var lastTunnel: UInt64 = 0
        /// The tunnels in the making.
        var pending = 0
        /// The tasks that follow the addresses of hosts with tunnels.
        var followed: [ProxyHandshake.Target: Task<Void, Never>] = [:]
        var drainAlarm: Alarm?
        var isClosed = false
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

    /// Connects to a destination.
    /// - Returns: The socket; nil with the outcome of a failure.
    func connect(
        to target: ProxyHandshake.Target
    ) async -> (HTTPDNSClient.ConnectedSocket?, ProxyHandshake.Outcome) {
        let hasRoom = state.withLock { state in
            guard state.tunnels.count + state.pending < configuration.maximumTunnels, !state.isClosed else {
                return false
            }
            state.pending += 1
            return true
        }
        guard hasRoom else {
            count(\.failed)
            return (nil, .full("the proxy has its maximum of \(configuration.maximumTunnels) tunnels"))
        }
        defer { state.withLock { $0.pending -= 1 } }
        do {
            let socket = try await client.connectedSocket(to: target.host, port: target.port)
            // It would wait for itself.
            let scope = HTTPDNSAddressPolicy.Scope(of: socket.endpoint.address)
            guard socket.endpoint.port != ownPort || scope != .loopback else {
                Glibc.close(socket.descriptor)
                return (nil, .forbidden("the proxy makes no tunnels to itself"))
            }
            return (socket, .connected)
        } catch is CancellationError {
            return (nil, .late("the client has left"))
        } catch {
            count(\.failed)
            let outcome = ProxyHandshake.Outcome(error)
            configuration.logger?.info(
                "the proxy could not make a tunnel",
                metadata: ["host": "\(target.host.escaped(limit: 253)):\(target.port)", "error": "\(error)"]
            )
            return (nil, outcome)
        }
    }

    // MARK: tunnels

    /// Notes a tunnel that was made.
    /// - Returns: Its number; nil after the shutdown.
    func opened(
        _ target: ProxyHandshake.Target,
        _ endpoint: HTTPDNSEndpoint,
        _ activity: TunnelActivity,
        client channel: any Channel
    ) -> UInt64? {
        let now = clock.now()
        let (number, isNew) = state.withLock { state -> (UInt64?, Bool) in
            guard !state.isClosed else { return (nil, false) }
            state.counters.opened += 1
            state.lastTunnel += 1
            state.tunnels[state.lastTunnel] = Open(
                target: target,
                endpoint: endpoint,
                startedAt: now,
                activity: activity,
                client: channel
            )
            let isFollowed = configuration.drainDeadline == nil || state.followed[target] != nil
            return (state.lastTunnel, !isFollowed)
        }
        if isNew { follow(target) }
        return number
    }

    func closed(_ number: UInt64) {
        let task = state.withLock { state -> Task<Void, Never>? in
            guard let target = state.tunnels.removeValue(forKey: number)?.target else { return nil }
            return state.tunnels.values.contains { $0.target == target }
                ? nil : state.followed.removeValue(forKey: target)
        }
        task?.cancel()
    }

    func close() async {
        let (tunnels, tasks, alarm) = state.withLock { state in
            state.isClosed = true
            defer { state.followed = [:] }
            return (state.tunnels.values.map(\.client), Array(state.followed.values), state.drainAlarm)
        }
        alarm?.cancel()
        for task in tasks { task.cancel() }
        for channel in tunnels { try? await channel.close().get() }
    }

    // MARK: draining

    /// Follows the addresses of a host for as long as it has tunnels.
    private func follow(_ target: ProxyHandshake.Target) {
        guard let host = try? HTTPDNSHost(target.host) else { return }
        let updates = client.resolver.addresses(of: HTTPDNSResolver.Query(host, port: target.port))
        let task = Task.detached { [weak self] in
            while !Task.isCancelled {
                do {
                    for try await resolution in updates { self?.moved(target, to: resolution.endpoints) }
                } catch let error as HTTPDNSResolver.Error where error.code == .shutDown {
                    return
                } catch {
                    try? await Task.sleep(for: .seconds(1))
                }
            }
        }
        let isOver = state.withLock { state in
            guard !state.isClosed, state.followed[target] == nil else { return true }
            state.followed[target] = task
            return false
        }
        if isOver { task.cancel() }
    }

    private func moved(_ target: ProxyHandshake.Target, to endpoints: [HTTPDNSEndpoint]) {
        guard let deadline = configuration.drainDeadline else { return }
        let now = clock.now()
        let hasLeft = state.withLock { state in
            for (number, open) in state.tunnels where open.target == target {
                let isLeft = !endpoints.contains(open.endpoint)
                state.tunnels[number]?.drain = isLeft ? open.drain ?? TunnelDrain(leftAt: now, deadline: deadline) : nil
            }
            return state.tunnels.values.contains { $0.drain != nil } && state.drainAlarm == nil
        }
        if hasLeft { startDraining() }
    }

    /// Looks at the tunnels to left addresses until there are none.
    private func startDraining() {
        let alarm = clock.alarm(at: clock.now()) { [weak self] in self?.drain() }
        state.withLock { $0.drainAlarm = alarm }
    }

    private func drain() -> MonotonicTime? {
        let now = clock.now()
        let (ending, isOver) = state.withLock { state -> ([any Channel], Bool) in
            var ending: [any Channel] = []
            for (number, open) in state.tunnels {
                guard let reason = open.drain?.ending(lastByte: open.activity.lastByte, at: now) else { continue }
                switch reason {
                case .quiet: state.counters.endedQuiet += 1
                case .afterServer: state.counters.endedAfterServer += 1
                case .deadline: state.counters.endedAtDeadline += 1
                }
                ending.append(open.client)
                state.tunnels[number]?.drain = nil
            }
            let isOver = !state.tunnels.values.contains { $0.drain != nil }
            if isOver { state.drainAlarm = nil }
            return (ending, isOver)
        }
        for channel in ending { channel.close(promise: nil) }
        return isOver ? nil : now + TunnelDrain.shortQuietTime
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
