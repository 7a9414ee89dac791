// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import HTTPDNSCore

struct MappingStoreTests {
    private struct Refusal: Error {}

    private func store(_ names: [String] = []) throws -> HTTPDNSMappingStore {
        var configuration = HTTPDNSResolver.Configuration()
        for name in names { configuration.mappings[try HTTPDNSMapping.Key(name)] = .system }
        return try HTTPDNSResolver(configuration).mappings
    }

    @Test("A change raises the generation by one and is visible immediately")
    func applies() throws {
        let store = try store()
        #expect(store.generation == 1)
        #expect(try store.apply { $0["IMG.test."] = .addresses(["203.0.113.7"]) } == 2)
        #expect(store.generation == 2)
        #expect(store.current.generation == 2)
        #expect(try store.current.rule(for: HTTPDNSName("img.test"), port: 443)?.key.description == "img.test")
        #expect(try store.apply { _ in } == 3)
        #expect(try store.apply { $0["img.test"] = nil } == 4)
        #expect(store.current.rules.isEmpty)
        #expect(try store.replaceBase(with: HTTPDNSMappings([HTTPDNSMapping.Key("a.test"): .system])) == 5)
        #expect(store.current.generation == 5)
        #expect(store.current.rules.count == 1)
    }

    @Test("A draft reads, sets and hides rules by any spelling of their key")
    func drafts() throws {
        let store = try store(["a.test", "b.test"])
        try store.apply { draft in
            #expect(draft["A.TEST"] == .system)
            #expect(draft["c.test"] == nil)
            #expect(draft["no name"] == nil)
            draft["c.test"] = .system
        }
        #expect(store.current.rules.keys.map(\.description).sorted() == ["a.test", "b.test", "c.test"])
        try store.apply { draft in
            draft.hide("A.test.")
            #expect(draft["a.test"] == nil)
        }
        #expect(store.current.rules.keys.map(\.description).sorted() == ["b.test", "c.test"])
        try store.apply { $0.removeAll() }
        #expect(store.current.rules.keys.map(\.description).sorted() == ["a.test", "b.test"])
    }

    @Test("A change is made whole or not at all")
    func isAtomic() throws {
        let store = try store(["a.test"])
        #expect(throws: HTTPDNSMapping.Error.self) {
            try store.apply { draft in
                draft["b.test"] = .addresses(["203.0.113.7"])
                draft["c.test"] = .addresses(["not an address"])
            }
        }
        #expect(throws: HTTPDNSMapping.Error.self) { try store.apply { $0["no name"] = .system } }
        #expect(throws: HTTPDNSMapping.Error.self) { try store.apply { $0["a.test"] = .via("a.test") } }
        #expect(throws: Refusal.self) {
            try store.apply { draft in
                draft.removeAll()
                throw Refusal()
            }
        }
        #expect(store.generation == 1)
        #expect(store.current.rules.keys.map(\.description) == ["a.test"])
    }

    @Test("Concurrent changes are all made, each on the result of the others")
    func meets() async throws {
        let store = try store()
        try await withThrowingTaskGroup(of: UInt64.self) { group in
            for number in 0..<64 {
                group.addTask { try store.apply { $0["n\(number).test"] = .system } }
            }
            var generations: Set<UInt64> = []
            for try await generation in group { generations.insert(generation) }
            #expect(generations == Set(2...65))
        }
        #expect(store.current.rules.count == 64)
        #expect(store.generation == 65)
    }

    @Test("A change made inside another change is not lost")
    func nests() throws {
        let store = try store()
        var runs = 0
        let generation = try store.apply { draft in
            runs += 1
            if runs == 1 { try store.apply { $0["inner.test"] = .system } }
            draft["outer.test"] = .system
        }
        #expect(runs == 2)
        #expect(generation == 3)
        #expect(store.current.rules.count == 2)
    }
}
