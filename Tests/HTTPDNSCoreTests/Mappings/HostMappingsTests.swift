// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import Testing

struct HostMappingsTests {
    private func set(_ rules: KeyValuePairs<String, HTTPDNSMapping>) throws -> HTTPDNSMappings {
        try HTTPDNSMappings(Dictionary(uniqueKeysWithValues: rules.map { (try HTTPDNSMapping.Key($0.key), $0.value) }))
    }

    /// The order is: exact with port, exact, then the longest suffix, with port before without.
    @Test(
        "An exact name wins over suffixes, and a rule with the port over one without",
        arguments: [
            ("img.shop.example", 8443, "img.shop.example:8443"), ("img.shop.example", 443, "img.shop.example"),
            ("a.shop.example", 443, "*.shop.example"), ("a.shop.example", 8443, "*.shop.example:8443"),
            ("a.b.shop.example", 443, "*.b.shop.example"), ("a.b.shop.example", 8443, "*.b.shop.example"),
            ("b.shop.example", 443, "*.shop.example"), ("x.example", 443, "*.example"),
            ("only.shop.test", 8443, "only.shop.test:8443"), ("only.shop.test", 443, nil), ("shop.test", 443, nil),
            ("shop.example", 443, "*.example"), ("workshop.test", 443, nil), ("example", 443, nil),
        ]
    )
    func finds(host: String, port: Int, key: String?) throws {
        let set = try set([
            "img.shop.example:8443": .system, "img.shop.example": .system, "*.shop.example": .system,
            "*.shop.example:8443": .system, "*.b.shop.example": .system, "*.example": .system,
            "only.shop.test:8443": .system,
        ])
        #expect(try set.rule(for: HTTPDNSName(host), port: UInt16(port))?.key.description == key)
    }

    @Test(
        "A bad rule fails the whole set, with key and reason",
        arguments: [
            ("a.test", HTTPDNSMapping.addresses([]), "no address"), ("a.test", .addresses(["one"]), "with via"),
            ("a.test", .addresses(["203.0.113.7", "203.0.113.7"]), "twice"),
            ("a.test", .addresses(["127.1"]), "four decimal parts"),
            ("a.test", .weighted(["203.0.113.7": 0]), "weights are 1"),
            ("a.test", .weighted(["203.0.113.7": -5]), "weights are 1"),
            ("a.test", .weighted(["203.0.113.7": 1_000_001]), "weights are 1"),
            (
                "a.test",
                HTTPDNSMapping(
                    .addresses([
                        .init(HTTPDNSAddress(v4: 203, 0, 113, 7), weight: 5), .init(HTTPDNSAddress(v4: 203, 0, 113, 8)),
                    ])
                ),
                "203.0.113.8 has no weight"
            ),
            ("a.test", .via("b..test"), "empty label"),
            ("a.test", .via("203.0.113.7"), "read it as an address"), ("a.test", .via("a.test"), "in a circle"),
            ("*.a.test", .via("x.a.test"), "in a circle"),
            ("a.test", HTTPDNSMapping(.system, timeToLive: .seconds(-1)), "negative"),
            ("a.test", HTTPDNSMapping(.addresses([.init(HTTPDNSAddress(v4: 1, 1, 1, 1), port: 0)])), "port 0"),
        ]
    )
    func refuses(key: String, mapping: HTTPDNSMapping, reason: String) {
        var located = mapping
        located.location = HTTPDNSSourceLocation(file: "httpdns.yaml", line: 7)
        let error = #expect(throws: HTTPDNSMapping.Error.self) { try set([key: located]) }
        #expect(error?.key == key)
        #expect(error?.reason.contains(reason) == true, "\(error?.description ?? "no error")")
        #expect(error?.description.hasPrefix("httpdns.yaml:7: mapping \"\(key)\": ") == true)
    }

    @Test("A rule's key may be neither \"*\" nor have port 0")
    func refusesKeys() {
        #expect(throws: HTTPDNSMapping.Error.self) { try HTTPDNSMappings([HTTPDNSMapping.Key(.any): .system]) }
        #expect(throws: HTTPDNSMapping.Error.self) {
            try HTTPDNSMappings([HTTPDNSMapping.Key(.exact(HTTPDNSName("a.test")), port: 0): .system])
        }
    }

    /// A rule that leads out on a port makes it no circle on that port.
    @Test("Circles of via rules are found on every port")
    func findsCircles() throws {
        #expect(throws: HTTPDNSMapping.Error.self) { try set(["a.test": .via("b.test"), "b.test": .via("a.test")]) }
        #expect(throws: HTTPDNSMapping.Error.self) {
            try set(["a.test": .via("b.test"), "b.test": .addresses(["203.0.113.7"]), "b.test:8443": .via("a.test")])
        }
        #expect(throws: HTTPDNSMapping.Error.self) {
            try set(["a.test": .via("x.b.test"), "*.b.test": .via("a.test")])
        }
        // On port 8443 the way back ends at an address, on other ports there is none.
        _ = try set([
            "a.test": .via("b.test"), "a.test:8443": .addresses(["203.0.113.7"]), "b.test:8443": .via("a.test"),
        ])
        _ = try set(["a.test": .via("b.test"), "b.test": .via("c.test")])
        _ = try set(["*.a.test": .via("x.a.test"), "x.a.test": .system])
        let error = #expect(throws: HTTPDNSMapping.Error.self) {
            try set(["a.test": .via("b.test"), "b.test": .via("a.test")])
        }
        #expect(error?.reason == "its via rules go in a circle: a.test > b.test > a.test")
    }

    @Test("A chain has at most 8 via rules")
    func boundsChains() throws {
        func chain(_ length: Int) throws -> HTTPDNSMappings {
            var rules: [HTTPDNSMapping.Key: HTTPDNSMapping] = [:]
            for number in 0..<length { rules[try HTTPDNSMapping.Key("n\(number).test")] = .via("n\(number + 1).test") }
            return try HTTPDNSMappings(rules)
        }
        _ = try chain(8)
        let error = #expect(throws: HTTPDNSMapping.Error.self) { try chain(9) }
        #expect(error?.reason.contains("a chain of more than 8") == true)
    }

    @Test(
        "A rule about localhost is refused, because it would never apply",
        arguments: [
            "localhost", "LOCALHOST.:8080", "*.localhost", "app.localhost", "*.app.localhost",
        ]
    )
    func refusesLocalhost(key: String) throws {
        let error = #expect(throws: HTTPDNSMapping.Error.self) { try set([key: .addresses(["127.0.0.2"])]) }
        #expect(error?.reason.contains("always this machine's loopback addresses") == true)
        _ = try set(["localhost.test": .via("localhost"), "notlocalhost": .system])
    }

    @Test("A set accepts ten thousand via rules")
    func scales() throws {
        var rules: [HTTPDNSMapping.Key: HTTPDNSMapping] = [:]
        for number in 0..<10_000 {
            rules[try HTTPDNSMapping.Key("n\(number).test:\(1 + number % 60_000)")] = .via("edge.test")
            rules[try HTTPDNSMapping.Key("m\(number).test")] = .via("n\(number).test")
        }
        #expect(try HTTPDNSMappings(rules).rules.count == 20_000)
    }
}
