// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The data of an SRV record: a server of a service (RFC 2782).
package struct ServerRecord: Hashable, Sendable {
    /// Lower ones are tried first.
    package let priority: UInt16
    /// The share among those of one priority.
    package let weight: UInt16
    package let port: UInt16
    /// The root where the service is not available.
    package let target: DNSName

    init(parsing data: inout DNSMessageReader) throws(DNSMessageError) {
        priority = try data.readUInt16()
        weight = try data.readUInt16()
        port = try data.readUInt16()
        target = try data.readName()
    }

    /// Returns servers in an order to try them: by priority, and within one in a random order by weight.
    package static func order(
        _ servers: [ServerRecord],
        using generator: inout some RandomNumberGenerator
    ) -> [ServerRecord] {
        var ordered: [ServerRecord] = []
        for (_, equals) in Dictionary(grouping: servers, by: \.priority).sorted(by: { $0.key < $1.key }) {
            // Those without a weight come first, so that they have a small chance (RFC 2782, "Weight").
            var left = equals.filter { $0.weight == 0 } + equals.filter { $0.weight > 0 }
            while !left.isEmpty {
                var place = UInt32.random(in: 0...left.reduce(0) { $0 + UInt32($1.weight) }, using: &generator)
                let index = left.firstIndex { server in
                    if place <= server.weight { return true }
                    place -= UInt32(server.weight)
                    return false
                }
                ordered.append(left.remove(at: index ?? 0))
            }
        }
        return ordered
    }
}
