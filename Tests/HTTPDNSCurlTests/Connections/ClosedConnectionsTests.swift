// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Testing

@testable import HTTPDNSCurl

struct ClosedConnectionsTests {
    private static func connection(_ number: Int) -> HTTPDNSTransfer.ClosedConnection {
        HTTPDNSTransfer.ClosedConnection(duration: .milliseconds(number), version: .http11)
    }

    @Test("Nothing is kept before the first exporter begins or after the last one ends")
    func exporters() {
        let closed = ClosedConnections()
        func kept(_ number: Int) -> [HTTPDNSTransfer.ClosedConnection] {
            closed.add(Self.connection(number))
            return closed.take().connections
        }
        #expect(kept(1).isEmpty)
        closed.begin()
        #expect(kept(2) == [Self.connection(2)])
        closed.begin()
        closed.end()
        #expect(kept(3) == [Self.connection(3)])
        closed.add(Self.connection(4))
        closed.end()
        #expect(kept(5).isEmpty)
        closed.begin()
        #expect(closed.take().connections.isEmpty)
    }

    @Test("Each connection is taken once, and those beyond the limit are counted")
    func limit() {
        let closed = ClosedConnections()
        closed.begin()
        for number in 0..<ClosedConnections.limit + 3 { closed.add(Self.connection(number)) }
        let taken = closed.take()
        #expect(taken.missed == 3 && taken.connections.count == ClosedConnections.limit)
        let expected = (3..<ClosedConnections.limit + 3).map(Self.connection)
        #expect(Set(taken.connections) == Set(expected))
        closed.add(Self.connection(1))
        #expect(closed.take() == ([Self.connection(1)], 0))
        #expect(closed.take() == ([], 0))
    }
}
