// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSPrimitives
internal import Synchronization

/// The open connections of a loop and the number of requests sent on them, by host, port and endpoint. The loop writes it, any
/// thread reads it.
struct ConnectionPools {
    private struct Key: Hashable {
        var host: ParsedURL.Host
        var port: UInt16
        var endpoint: HTTPDNSEndpoint
    }

    private struct Entry {
        var connections: Int
        let usage: EndpointUsage
    }

    /// The maximum number of endpoints without an open connection whose request count is kept.
    private static let maximumClosed = 1024

    private var open: [Key: Entry] = [:]
    /// The request counts of endpoints without a connection: servers may close the connection after each response, but the
    /// count continues.
    private var closed = RecentTable<Key, EndpointUsage>(limit: ConnectionPools.maximumClosed)

    /// - Returns: The usage of the pin's endpoint.
    mutating func opened(_ pin: PinKey) -> EndpointUsage {
        let key = Key(host: pin.host, port: pin.port, endpoint: pin.endpoint)
        let usage = open[key]?.usage ?? closed.remove(key) ?? EndpointUsage()
        open[key, default: Entry(connections: 0, usage: usage)].connections += 1
        return usage
    }

    mutating func closed(_ pin: PinKey) {
        let key = Key(host: pin.host, port: pin.port, endpoint: pin.endpoint)
        guard let entry = open[key] else { return }
        guard entry.connections == 1 else { return open[key, default: entry].connections -= 1 }
        open[key] = nil
        if entry.usage.requests > 0 { closed.set(entry.usage, for: key) }
    }

    /// The records of the endpoints with an open connection, then those of endpoints that had requests but have no connection.
    var records: [HTTPDNSTransfer.ConnectionPool] {
        open.map { ConnectionPools.record($0, connections: $1.connections, $1.usage) }
            + closed.all.map { ConnectionPools.record($0, connections: 0, $1) }
    }

    private static func record(_ key: Key, connections: Int, _ usage: EndpointUsage) -> HTTPDNSTransfer.ConnectionPool {
        HTTPDNSTransfer.ConnectionPool(
            host: key.host.plainText,
            port: key.port,
            endpoint: key.endpoint,
            connections: connections,
            connectionsInUse: min(usage.connectionsInUse, connections),
            requests: usage.requests
        )
    }
}

/// The number of requests sent to one endpoint, and of the connections to it that carry one.
final class EndpointUsage: Sendable {
    private let sent = Atomic<Int>(0)
    private let inUse = Atomic<Int>(0)

    var requests: Int { sent.load(ordering: .relaxed) }
    var connectionsInUse: Int { inUse.load(ordering: .relaxed) }

    // Only the loop's thread changes them, so a plain load and store are enough.

    /// Counts one request.
    func add() { sent.store(requests &+ 1, ordering: .relaxed) }

    /// Counts a connection that begins or ends to be in use.
    func countInUse(_ more: Int) { inUse.store(connectionsInUse &+ more, ordering: .relaxed) }
}

/// The connections that have closed since the last export, for exporters of metrics. Loops add them, any thread takes them.
///
/// Without an exporter nothing is kept. Exporters of one transport share it, so that each connection is taken once.
package final class ClosedConnections: Sendable {
    /// The maximum number of connections that are kept.
    package static let limit = 4096

    private struct State {
        var exporters = 0
        /// The connections; beyond the limit, each replaces an older one.
        var latest: [HTTPDNSTransfer.ClosedConnection] = []
        /// The number of connections that were replaced.
        var missed = 0
    }

    private let state = Lock(State())
    /// Whether there is an exporter: connections close without taking the lock otherwise.
    private let isExported = Atomic(false)

    package init() {}

    /// Keeps the connections that close from now on, for one more exporter.
    package func begin() {
        state.withLock { state in
            state.exporters += 1
            isExported.store(true, ordering: .relaxed)
        }
    }

    /// Ends what ``begin()`` began. After the last exporter, all connections are forgotten.
    package func end() {
        state.withLock { state in
            state.exporters -= 1
            guard state.exporters == 0 else { return }
            isExported.store(false, ordering: .relaxed)
            state = State()
        }
    }

    func add(_ connection: HTTPDNSTransfer.ClosedConnection) {
        guard isExported.load(ordering: .relaxed) else { return }
        state.withLock { state in
            guard state.exporters > 0 else { return }
            if state.latest.count < ClosedConnections.limit {
                state.latest.append(connection)
            } else {
                state.latest[state.missed % ClosedConnections.limit] = connection
                state.missed += 1
            }
        }
    }

    /// Returns the connections that have closed since the last call, and the number of those that are no longer kept.
    package func take() -> (connections: [HTTPDNSTransfer.ClosedConnection], missed: Int) {
        state.withLock { state in
            defer { (state.latest, state.missed) = ([], 0) }
            return (state.latest, state.missed)
        }
    }
}

extension [HTTPDNSTransfer.ConnectionPool] {
    /// Returns the records of several loops as one list, the largest first, then by host, port and endpoint.
    package func merged() -> [HTTPDNSTransfer.ConnectionPool] {
        var merged: [HTTPDNSTransfer.ConnectionPool: HTTPDNSTransfer.ConnectionPool] = [:]
        for record in self {
            var key = record
            key.connections = 0
            key.connectionsInUse = 0
            key.requests = 0
            merged[key, default: key].connections += record.connections
            merged[key, default: key].connectionsInUse += record.connectionsInUse
            merged[key, default: key].requests += record.requests
        }
        return merged.values.sorted { left, right in
            if left.connections != right.connections { return left.connections > right.connections }
            if left.host != right.host { return left.host < right.host }
            if left.port != right.port { return left.port < right.port }
            return left.endpoint.description < right.endpoint.description
        }
    }
}
