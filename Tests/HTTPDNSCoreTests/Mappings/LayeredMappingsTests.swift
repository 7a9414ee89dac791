// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import HTTPDNSCore

struct LayeredMappingsTests {
    private func base(_ rules: [String: String]) throws -> HTTPDNSMappings {
        var read: [HTTPDNSMapping.Key: HTTPDNSMapping] = [:]
        for (key, address) in rules { read[try HTTPDNSMapping.Key(key)] = .addresses([address]) }
        return try HTTPDNSMappings(read)
    }

    private func store(_ rules: [String: String]) throws -> HTTPDNSMappingStore {
        var configuration = HTTPDNSResolver.Configuration()
        configuration.mappings = try base(rules).rules
        return try HTTPDNSResolver(configuration).mappings
    }

    private func rule(_ store: HTTPDNSMappingStore, _ host: String, port: UInt16 = 443) throws -> String? {
        guard let match = store.current.index.rule(for: try HTTPDNSName(host), port: port) else { return nil }
        guard case .addresses(let targets) = match.mapping.action else { return "\(match.origin)" }
        return "\(match.key) \(targets[0].address) \(match.origin)"
    }

    @Test("The closest key wins, and for the same key the overlay wins")
    func precedence() throws {
        let store = try store(["a.test": "203.0.113.1", "a.test:8443": "203.0.113.2", "*.b.test": "203.0.113.3"])
        try store.apply { draft in
            draft["a.test"] = .addresses(["203.0.113.11"])
            draft["*.test"] = .addresses(["203.0.113.12"])
            draft["c.b.test:8443"] = .addresses(["203.0.113.13"])
        }
        #expect(try rule(store, "a.test") == "a.test 203.0.113.11 overlay")
        #expect(try rule(store, "a.test", port: 8443) == "a.test:8443 203.0.113.2 base")
        #expect(try rule(store, "c.b.test") == "*.b.test 203.0.113.3 base")
        #expect(try rule(store, "c.b.test", port: 8443) == "c.b.test:8443 203.0.113.13 overlay")
        #expect(try rule(store, "d.test") == "*.test 203.0.113.12 overlay")
        #expect(store.current.rules.count == 5)
    }

    /// A rule that the base gets later is hidden too.
    @Test("Setting nil restores the base's rule; hiding removes it until the key is set")
    func hiding() throws {
        let store = try store(["a.test": "203.0.113.1", "*.test": "203.0.113.2"])
        try store.apply { $0["a.test"] = .addresses(["203.0.113.11"]) }
        try store.apply { $0["a.test"] = nil }
        #expect(try rule(store, "a.test") == "a.test 203.0.113.1 base")
        try store.apply { $0.hide("a.test") }
        #expect(try rule(store, "a.test") == "*.test 203.0.113.2 base")
        #expect(store.current.rules.keys.map(\.description) == ["*.test"])
        try store.replaceBase(with: base(["a.test": "203.0.113.3"]))
        #expect(try rule(store, "a.test") == nil, "a base that comes later is hidden too")
        try store.apply { $0["a.test"] = nil }
        #expect(try rule(store, "a.test") == "a.test 203.0.113.3 base")
        #expect(throws: HTTPDNSMapping.Error.self) { try store.apply { $0.hide("no name") } }
    }

    @Test("A new base leaves the overlay alone, and each layer has its own generation")
    func generations() throws {
        let store = try store(["a.test": "203.0.113.1"])
        func numbers() -> [UInt64] {
            let current = store.current
            return [current.generation, current.baseGeneration, current.overlayGeneration]
        }
        #expect(numbers() == [1, 1, 0])
        try store.apply { $0["a.test"] = .addresses(["203.0.113.11"]) }
        #expect(numbers() == [2, 1, 1])
        #expect(try store.replaceBase(with: base(["a.test": "203.0.113.2", "b.test": "203.0.113.3"])) == 3)
        #expect(numbers() == [3, 2, 1])
        #expect(try rule(store, "a.test") == "a.test 203.0.113.11 overlay")
        try store.apply { $0.removeAll() }
        #expect(numbers() == [4, 2, 2])
        #expect(try rule(store, "a.test") == "a.test 203.0.113.2 base")
        #expect(try rule(store, "b.test") == "b.test 203.0.113.3 base")
    }

    @Test("A circle across both layers is refused, from either side")
    func circles() throws {
        let store = try store([:])
        try store.apply { $0["a.test"] = .via("b.test") }
        let back = try HTTPDNSMappings([HTTPDNSMapping.Key("b.test"): .via("a.test")])
        let error = #expect(throws: HTTPDNSMapping.Error.self) { try store.replaceBase(with: back) }
        #expect(error?.reason.contains("circle") == true)
        #expect(store.generation == 2 && store.current.rules.count == 1)

        try store.apply { $0.removeAll() }
        try store.replaceBase(with: back)
        #expect(throws: HTTPDNSMapping.Error.self) { try store.apply { $0["a.test"] = .via("b.test") } }
        try store.apply { draft in
            draft["a.test"] = .via("b.test")
            draft.hide("b.test")
        }
        #expect(store.current.rules.count == 1)
    }

    @Test("Of several bad rules the first by key is reported")
    func firstFault() throws {
        var rules: [HTTPDNSMapping.Key: HTTPDNSMapping] = [:]
        for name in ["d.test", "b.test", "c.test"] { rules[try HTTPDNSMapping.Key(name)] = .addresses([]) }
        let read = rules
        #expect(#expect(throws: HTTPDNSMapping.Error.self) { try HTTPDNSMappings(read) }?.key == "b.test")
    }
}
