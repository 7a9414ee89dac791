// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Testing

@testable import HTTPDNSCurl

struct ConnectionPoolsTests {
    private func key(_ number: Int) -> PinKey {
        let address = HTTPDNSAddress(v4: 10, 0, UInt8(number >> 8 & 255), UInt8(number & 255))
        return PinKey(
            host: .name("one.test"),
            port: 443,
            endpoint: HTTPDNSEndpoint(address: address, port: 443),
            versions: .automatic
        )
    }

    @Test("Counts of endpoints without connections stay, 1,024 of them at most")
    func bounded() {
        var pools = ConnectionPools()
        for number in 0..<5_000 {
            pools.opened(key(number)).add()
            pools.closed(key(number))
        }
        #expect(pools.records.count == 1_024)
        #expect(pools.records.allSatisfy { $0.connections == 0 && $0.requests == 1 })
        pools.opened(key(4_999)).add()
        let again = pools.records.filter { $0.endpoint == key(4_999).endpoint }
        #expect(again.map(\.connections) == [1] && again.map(\.requests) == [2])
        // The oldest are forgotten.
        #expect(pools.opened(key(0)).requests == 0)
    }

    @Test("An endpoint that no request was sent to goes with its last connection")
    func unused() {
        var pools = ConnectionPools()
        for _ in 0..<2 { _ = pools.opened(key(1)) }
        pools.closed(key(1))
        #expect(pools.records.map(\.connections) == [1])
        pools.closed(key(1))
        #expect(pools.records.isEmpty)
    }
}
