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
        let host =
            switch key.host {
            case .name(let name): name
            case .address(let address): address.description
            }
        return HTTPDNSTransfer.ConnectionPool(
            host: host,
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

/// The latest connections that closed, for exporters of metrics. Loops add them, any thread reads them.
package final class ClosedConnections: Sendable {
    /// The maximum number of connections that are kept.
    package static let limit = 4096

    private struct State {
        /// The connections; beyond the limit, each replaces the oldest one.
        var latest: [HTTPDNSTransfer.ClosedConnection] = []
        var count = 0
    }

    private let state = Lock(State())

    package init() {}

    /// The number of connections that have closed.
    package var count: Int { state.withLock { $0.count } }

    func add(_ connection: HTTPDNSTransfer.ClosedConnection) {
        state.withLock { state in
            if state.latest.count < ClosedConnections.limit {
                state.latest.append(connection)
            } else {
                state.latest[state.count % ClosedConnections.limit] = connection
            }
            state.count += 1
        }
    }

    /// Returns the connections that have closed after the given number of them. Those that are no longer kept are missing.
    package func connections(after number: Int) -> (connections: [HTTPDNSTransfer.ClosedConnection], count: Int) {
        state.withLock { state in
            let first = max(number, state.count - ClosedConnections.limit)
            guard first < state.count else { return ([], state.count) }
            return ((first..<state.count).map { state.latest[$0 % ClosedConnections.limit] }, state.count)
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
