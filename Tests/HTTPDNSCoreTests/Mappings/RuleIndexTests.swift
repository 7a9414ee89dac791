// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import HTTPDNSCore

/// The index against a search of all keys, from the most specific to the widest.
struct RuleIndexTests {
    private static let labels = ["a", "b", "c", "xn--d", "long-label-of-more-than-eight-bytes"]
    private static let ports: [UInt16?] = [nil, 80, 443, 8443]

    private struct Layers {
        var base: [HTTPDNSMapping.Key: HTTPDNSMapping] = [:]
        var overlay: [HTTPDNSMapping.Key: HTTPDNSMapping] = [:]
        var hidden: Set<HTTPDNSMapping.Key> = []

        /// Draws rules of their own addresses, so that two rules are never equal.
        init(_ count: Int) {
            func rules(_ count: Int, _ last: UInt8) -> [HTTPDNSMapping.Key: HTTPDNSMapping] {
                var rules: [HTTPDNSMapping.Key: HTTPDNSMapping] = [:]
                for number in 0..<count {
                    let address = HTTPDNSAddress(v4: 203, UInt8(number / 256), UInt8(number % 256), last)
                    rules[Layers.key()] = HTTPDNSMapping(.addresses([HTTPDNSMapping.Target(address)]))
                }
                return rules
            }
            base = rules(count, 1)
            overlay = rules(count / 4, 2)
            for _ in 0..<count / 4 {
                let key = Bool.random() ? base.keys.randomElement() ?? Layers.key() : Layers.key()
                if overlay[key] == nil { hidden.insert(key) }
            }
        }

        private static func key() -> HTTPDNSMapping.Key {
            let name = RuleIndexTests.name()
            return HTTPDNSMapping.Key(Bool.random() ? .exact(name) : .suffix(name), port: ports.randomElement() ?? nil)
        }

        /// The rule that decides, found by looking at each key.
        func rule(for host: String, port: UInt16) -> HTTPDNSMapping? {
            var patterns = [HTTPDNSRoute.Pattern.exact(HTTPDNSName(canonical: host))]
            let labels = host.split(separator: ".")
            for first in labels.indices.dropFirst() {
                patterns.append(.suffix(HTTPDNSName(canonical: labels[first...].joined(separator: "."))))
            }
            for pattern in patterns {
                for key in [HTTPDNSMapping.Key(pattern, port: port), HTTPDNSMapping.Key(pattern)] {
                    if let rule = overlay[key] { return rule }
                    if !hidden.contains(key), let rule = base[key] { return rule }
                }
            }
            return nil
        }
    }

    private static func name() -> HTTPDNSName {
        let chosen = (0...Int.random(in: 0...3)).map { _ in labels.randomElement() ?? "a" }
        return HTTPDNSName(canonical: chosen.joined(separator: "."))
    }

    @Test("The index finds the rule that a search of all keys finds", arguments: [0, 1, 5, 40, 400])
    func sameAsSearch(count: Int) {
        for _ in 0..<40 {
            let layers = Layers(count)
            let index = RuleIndex(
                base: RuleLayer(layers.base, .base),
                overlay: RuleLayer(layers.overlay, .overlay, hiding: layers.hidden)
            )
            for _ in 0..<200 {
                let host = Self.name()
                var isDecided = false
                for port in [UInt16(80), 443, 8443, 9] {
                    let expected = layers.rule(for: host.description, port: port)
                    let found = index.rule(for: host, port: port)?.mapping
                    #expect(found == expected, "\(host):\(port)")
                    if expected != nil { isDecided = true }
                }
                #expect(index.hasRule(for: host) == isDecided, "\(host)")
            }
        }
    }

    @Test("Each of 20,000 names is found, and no other")
    func manyNames() {
        var table = NameTable<Int>()
        let names = (0..<20_000).map { HTTPDNSName(canonical: "n\($0).rules.test") }
        for (number, name) in names.enumerated() { #expect(table.place(of: name, adding: number) == number) }
        for (number, name) in names.enumerated() {
            #expect(table.place(of: name).map { table.values[$0] } == number)
            #expect(table.place(of: name, adding: -1) == number)
        }
        #expect(table.names == names)
        for number in 20_000..<40_000 {
            #expect(table.place(of: HTTPDNSName(canonical: "n\(number).rules.test")) == nil)
        }
        #expect(NameTable<Int>(minimumCapacity: 100).place(of: names[0]) == nil)
    }
}
