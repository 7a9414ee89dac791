// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Testing

@testable import HTTPDNSCurl

struct EndpointOrderTests {
    private func endpoints(_ text: String) throws -> [HTTPDNSEndpoint] {
        try text.split(separator: " ").map {
            HTTPDNSEndpoint(address: try #require(HTTPDNSAddress(String($0))), port: 443)
        }
    }

    @Test(
        "Families take turns, each in its own order",
        arguments: [
            ("10.0.0.1 10.0.0.2 10.0.0.3 ::1 ::2", HTTPDNSAddress.Family.v6, "::1 10.0.0.1 ::2 10.0.0.2 10.0.0.3"),
            ("10.0.0.1 10.0.0.2 ::1", .v4, "10.0.0.1 ::1 10.0.0.2"),
            ("10.0.0.1 10.0.0.2", .v6, "10.0.0.1 10.0.0.2"),
        ]
    )
    func interleaving(given: String, first: HTTPDNSAddress.Family, result: String) throws {
        #expect(EndpointOrder.interleaved(try endpoints(given), first: first) == (try endpoints(result)))
    }

    @Test(
        "Addresses without a route leave the list, unless nothing else is left",
        arguments: [
            ("2001:db8::1 10.0.0.1 2001:db8::2", "10.0.0.1"), ("10.0.0.1 10.0.0.2", "10.0.0.1 10.0.0.2"),
            ("2001:db8::1 2001:db8::2", "2001:db8::1 2001:db8::2"), ("2001:db8::1 ::1", "::1"),
        ]
    )
    func withRoute(given: String, result: String) throws {
        let neighbours = Set(try endpoints("10.0.0.1 10.0.0.2 ::1").map(\.address))
        let reachable = EndpointOrder.withRoute(try endpoints(given)) { neighbours.contains($0) }
        #expect(reachable == (try endpoints(result)))
    }

    @Test("Each endpoint is tried once, and the last winner goes first while in the list")
    func uniqueAndLeading() throws {
        let given = try endpoints("10.0.0.1 10.0.0.2 10.0.0.1 10.0.0.3 10.0.0.2")
        let unique = try endpoints("10.0.0.1 10.0.0.2 10.0.0.3")
        #expect(EndpointOrder.unique(given) == unique)
        #expect(EndpointOrder.leading(with: unique[2], unique) == (try endpoints("10.0.0.3 10.0.0.1 10.0.0.2")))
        #expect(EndpointOrder.leading(with: try endpoints("10.0.0.9")[0], unique) == unique)
    }

    @Test("After an endpoint that failed, the next one goes first and it goes last")
    func following() throws {
        let given = try endpoints("10.0.0.1 10.0.0.2 10.0.0.3")
        #expect(EndpointOrder.following(given[0], given) == [given[1], given[2], given[0]])
        #expect(EndpointOrder.following(given[1], given) == [given[2], given[0], given[1]])
        #expect(EndpointOrder.following(given[2], given) == given)
        #expect(EndpointOrder.following(try endpoints("10.0.0.9")[0], given) == given)
    }
}
