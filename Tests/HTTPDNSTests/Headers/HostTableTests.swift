// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import Testing

@testable import HTTPDNS

struct HostTableTests {
    /// A suffix is not its own name, and addresses have none.
    @Test("The exact name wins, then the longest suffix")
    func lookUp() throws {
        let table = HostTable([
            try HTTPDNSRoute.Pattern("a.test"): 1, try HTTPDNSRoute.Pattern("*.a.test"): 2,
            try HTTPDNSRoute.Pattern("*.b.a.test"): 3, .any: 4,
        ])
        for (name, value) in [
            ("a.test", 1), ("x.a.test", 2), ("x.y.a.test", 2), ("b.a.test", 2), ("x.b.a.test", 3), ("test", nil),
            ("xa.test", nil),
        ] as [(String, Int?)] {
            #expect(table[.name(name)] == value, "\(name)")
        }
        #expect(table[.address(HTTPDNSAddress(v4: 127, 0, 0, 1))] == nil)
        #expect(HostTable<Int>()[.name("a.test")] == nil)
    }
}
