internal import HTTPDNSPrimitives

/// How many connections a loop has open, by what they are for. The loop writes it, anybody reads it.
struct ConnectionPools {
    private struct Key: Hashable {
        var host: ParsedURL.Host
        var port: UInt16
        var endpoint: Endpoint
    }

    private var counts: [Key: Int] = [:]

    mutating func opened(_ pin: PinKey) {
        counts[Key(host: pin.host, port: pin.port, endpoint: pin.endpoint), default: 0] += 1
    }

    mutating func closed(_ pin: PinKey) {
        let key = Key(host: pin.host, port: pin.port, endpoint: pin.endpoint)
        guard let count = counts[key] else { return }
        counts[key] = count > 1 ? count - 1 : nil
    }

    var records: [ConnectionPoolRecord] {
        counts.map { key, count in
            let host =
                switch key.host {
                case .name(let name): name
                case .address(let address): address.description
                }
            return ConnectionPoolRecord(host: host, port: key.port, endpoint: key.endpoint, connections: count)
        }
    }
}

extension [ConnectionPoolRecord] {
    /// Those of several loops as one list, the largest first, then by host, port and endpoint.
    package func merged() -> [ConnectionPoolRecord] {
        var merged: [ConnectionPoolRecord: Int] = [:]
        for record in self {
            var key = record
            key.connections = 0
            merged[key, default: 0] += record.connections
        }
        return merged.map { key, count in
            var record = key
            record.connections = count
            return record
        }.sorted { left, right in
            if left.connections != right.connections { return left.connections > right.connections }
            if left.host != right.host { return left.host < right.host }
            if left.port != right.port { return left.port < right.port }
            return left.endpoint.description < right.endpoint.description
        }
    }
}
