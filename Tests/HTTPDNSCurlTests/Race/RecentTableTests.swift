// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import HTTPDNSCurl

struct RecentTableTests {
    @Test("The entry not set for the longest time leaves, and its space is used again")
    func eviction() {
        var table = RecentTable<Int, String>(limit: 2)
        #expect(table.set("a", for: 1) == nil)
        table.set("b", for: 2)
        table.set("A", for: 1)
        #expect(table.set("c", for: 3) == "b")
        #expect(table[1] == "A" && table[2] == nil && table[3] == "c" && table.count == 2)
        #expect([table.remove(1), table.remove(1)] == ["A", nil])
        table.set("d", for: 4)
        #expect(Set(table.all.map(\.value)) == ["c", "d"])
    }
}
