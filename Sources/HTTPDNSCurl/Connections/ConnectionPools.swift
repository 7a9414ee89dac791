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
        let requests: RequestCount
    }

    /// The maximum number of endpoints without an open connection whose request count is kept.
    private static let maximumClosed = 1024

    private var open: [Key: Entry] = [:]
    /// The request counts of endpoints without a connection: servers may close the connection after each response, but the
    /// count continues.
    private var closed = RecentTable<Key, RequestCount>(limit: ConnectionPools.maximumClosed)

    /// - Returns: The request counter of the pin's endpoint.
    mutating func opened(_ pin: PinKey) -> RequestCount {
        let key = Key(host: pin.host, port: pin.port, endpoint: pin.endpoint)
        let requests = open[key]?.requests ?? closed.remove(key) ?? RequestCount()
        open[key, default: Entry(connections: 0, requests: requests)].connections += 1
        return requests
    }

    mutating func closed(_ pin: PinKey) {
        let key = Key(host: pin.host, port: pin.port, endpoint: pin.endpoint)
        guard let entry = open[key] else { return }
        guard entry.connections == 1 else { return open[key, default: entry].connections -= 1 }
        open[key] = nil
        if entry.requests.value > 0 { closed.set(entry.requests, for: key) }
    }

    /// The records of the endpoints with an open connection, then those of endpoints that had requests but have no connection.
    var records: [HTTPDNSTransfer.ConnectionPool] {
        open.map { ConnectionPools.record($0, connections: $1.connections, $1.requests) }
            + closed.all.map { ConnectionPools.record($0, connections: 0, $1) }
    }

    private static func record(_ key: Key, connections: Int, _ requests: RequestCount) -> HTTPDNSTransfer.ConnectionPool
    {
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
            requests: requests.value
        )
    }
}

/// The number of requests sent to one endpoint.
final class RequestCount: Sendable {
    private let count = Atomic<Int>(0)

    var value: Int { count.load(ordering: .relaxed) }

    /// Counts one request. Only the loop's thread calls it, so a plain load and store are enough.
    func add() { count.store(count.load(ordering: .relaxed) &+ 1, ordering: .relaxed) }
}

extension [HTTPDNSTransfer.ConnectionPool] {
    /// Returns the records of several loops as one list, the largest first, then by host, port and endpoint.
    package func merged() -> [HTTPDNSTransfer.ConnectionPool] {
        var merged: [HTTPDNSTransfer.ConnectionPool: HTTPDNSTransfer.ConnectionPool] = [:]
        for record in self {
            var key = record
            key.connections = 0
            key.requests = 0
            merged[key, default: key].connections += record.connections
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
