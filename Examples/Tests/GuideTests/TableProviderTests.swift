// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSTesting
import Testing

@testable import Guide

struct TableProviderTests {
    @Test("The table provider keeps the contract of providers")
    func contract() async throws {
        let dual = try HTTPDNSName("dual.test")
        let single = try HTTPDNSName("single.test")
        let v4 = HTTPDNSAddress(v4: 203, 0, 113, 7)
        let v6 = try #require(HTTPDNSAddress("2001:db8::7"))

        let fixture = HTTPDNSProviderCompatibility.Fixture(
            dualStackName: dual,
            dualStackAddresses: [v4, v6],
            v4OnlyName: single,
            unknownName: try HTTPDNSName("unknown.test"),
            // A table answers immediately. A provider with a server gives a name that the server never answers.
            silentName: nil
        ) {
            TableProvider(name: "table", table: [dual: [v4, v6], single: [v4]])
        }
        let violations = await HTTPDNSProviderCompatibility(fixture).violations()
        #expect(violations.isEmpty)
    }
}
