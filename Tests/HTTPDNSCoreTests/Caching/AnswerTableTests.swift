// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import HTTPDNSCore

struct AnswerTableTests {
    private let now = MonotonicTime(nanoseconds: 1)

    private func key(_ number: Int) throws -> CacheKey { CacheKey(try HTTPDNSName("n\(number).test")) }

    @discardableResult
    private func put(_ number: Int, into table: inout AnswerTable, life: Duration = .seconds(60)) throws -> Int {
        let address = HTTPDNSAddress(family: .v4, high: 0, low: UInt64(number))
        let answer = KnownAnswer.sample([address], sentAt: now, life: life)
        return table.update(try key(number), at: now) { $0.install(answer, at: now) }
    }

    private func number(_ number: Int, in table: inout AnswerTable) throws -> UInt64? {
        guard case .fresh(let answer)? = table.find(try key(number))?.find(at: now) else { return nil }
        return answer.address(at: 0).low
    }

    /// Each answer is found under its own key.
    @Test("The answer table stays within its bounds for any number of names")
    func isBounded() throws {
        var table = AnswerTable(capacity: 100, byteLimit: .max)
        var evictions = 0
        for place in 0..<20_000 {
            evictions += try put(place, into: &table)
            #expect(try number(place, in: &table) == UInt64(place))
            #expect(table.count <= 100)
        }
        #expect(table.count == 100)
        #expect(evictions == 19_900)
    }

    @Test("The byte limit holds, and counts what the table holds")
    func boundsBytes() throws {
        var table = AnswerTable(capacity: 10_000, byteLimit: 20_000)
        for place in 0..<3_000 {
            try put(place, into: &table)
            #expect(table.byteCount <= 20_000)
        }
        let each = AnswerTable.bytesPerSlot
        #expect(table.byteCount == table.answers.reduce(0) { $0 + $1.byteCount + each })
        #expect(table.count > 100)
        table.removeAll()
        #expect(table.byteCount == 0 && table.count == 0)
    }

    @Test("Names in use survive a flood of names that are used once")
    func keepsUsed() throws {
        var table = AnswerTable(capacity: 100, byteLimit: .max)
        for place in 0..<50 { try put(place, into: &table) }
        for place in 1_000..<6_000 {
            if place % 20 == 0 { for used in 0..<50 { #expect(try number(used, in: &table) != nil) } }
            try put(place, into: &table)
        }
        #expect(table.count == 100)
        for used in 0..<50 { #expect(try number(used, in: &table) != nil) }
    }

    @Test("A name that returns soon after its eviction stays")
    func remembersDeparted() throws {
        var table = AnswerTable(capacity: 100, byteLimit: .max)
        for place in 0..<100 { try put(place, into: &table) }
        for place in 200..<240 { try put(place, into: &table) }
        let gone = try (0..<40).filter { try number($0, in: &table) == nil }
        let back = try #require(gone.last)
        try put(back, into: &table)
        for place in 300..<360 { try put(place, into: &table) }
        #expect(try number(back, in: &table) == UInt64(back))
    }

    @Test("An expired answer is evicted before a fresh one, used or not")
    func evictsSpent() throws {
        var table = AnswerTable(capacity: 3, byteLimit: .max)
        try put(0, into: &table)
        table.update(try key(1), at: now) {
            let error = HTTPDNSResolver.Error(code: .providersFailed, host: "n1.test", message: "failed")
            $0.recordFailure(LookupFailure(error: error, sentAt: now), at: now - .seconds(100))
        }
        try put(2, into: &table)
        for place in 0..<3 { _ = table.find(try key(place)) }
        try put(3, into: &table)
        for place in [0, 2, 3] { #expect(try number(place, in: &table) != nil) }
    }

    @Test("A removed answer frees its slot, and the others keep theirs")
    func removes() throws {
        var table = AnswerTable(capacity: 1_000, byteLimit: .max)
        for place in 0..<1_000 { try put(place, into: &table) }
        for place in stride(from: 0, to: 1_000, by: 3) { try put(place, into: &table, life: .zero) }
        for place in 0..<1_000 {
            #expect(try number(place, in: &table) == (place % 3 == 0 ? nil : UInt64(place)))
        }
        for place in stride(from: 0, to: 1_000, by: 3) { try put(place, into: &table) }
        #expect(table.count == 1_000)
        for place in 0..<1_000 { #expect(try number(place, in: &table) == UInt64(place)) }
    }

    @Test("Keys that differ in families, system resolver or network have separate answers")
    func keysDiffer() throws {
        let host = try HTTPDNSName("a.test")
        let subnet = try #require(HTTPDNSAddressBlock("203.0.113.0/24"))
        let other = try #require(HTTPDNSAddressBlock("203.0.112.0/24"))
        let keys = [
            CacheKey(host), CacheKey(host, families: .v4), CacheKey(host, families: .both),
            CacheKey(host, isSystemOnly: true), CacheKey(host, clientSubnet: subnet),
            CacheKey(host, clientSubnet: other),
        ]
        var table = AnswerTable(capacity: 100, byteLimit: .max)
        for (place, key) in keys.enumerated() {
            #expect(table.find(key) == nil)
            let address = HTTPDNSAddress(family: .v4, high: 0, low: UInt64(place))
            table.update(key, at: now) { entry in
                entry.install(.sample([address], sentAt: now, life: .seconds(9)), at: now)
            }
        }
        for (place, key) in keys.enumerated() {
            #expect(table.find(key)?.address(at: 0).low == UInt64(place))
            #expect(table.find(key)?.key == key)
        }
    }

    @Test("A packed answer unpacks to what was packed", arguments: [0, 1, 2, 15, 16])
    func packs(count: Int) throws {
        let v4 = (0..<count).map { HTTPDNSAddress(v4: 203, 0, 113, UInt8($0)) }
        let v6 = try (0..<count).map { try #require(HTTPDNSAddress("2001:db8::\($0)")) }
        var answer = KnownAnswer.sample(v4 + v6, sentAt: now, life: .seconds(7), staleLimit: .seconds(3))
        answer.details.canonicalName = try HTTPDNSName("edge.test")
        let name = String(repeating: "a", count: 63) + "." + String(repeating: "b.", count: 90) + "test"
        let key = CacheKey(try HTTPDNSName(name), families: .both)
        let packed = CachedAnswer(key, answer)
        #expect(packed.matches(key) && packed.key == key && packed.host.description == name)
        let entry = KnownAnswer(packed)
        guard case .addresses(let addresses) = entry.content else {
            Issue.record("no addresses")
            return
        }
        #expect(addresses == v4 + v6)
        #expect(entry.details.canonicalName == answer.details.canonicalName)
        #expect(entry.sentAt == now && entry.life == .seconds(7))
        #expect(packed.endpoints(port: 8443) == (v4 + v6).map { HTTPDNSEndpoint(address: $0, port: 8443) })
    }
}
