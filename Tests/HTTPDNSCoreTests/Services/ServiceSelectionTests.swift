// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import HTTPDNSCore

struct ServiceSelectionTests {
    private static let host = HTTPDNSName(canonical: "shop.test")
    private static let edge = HTTPDNSName(canonical: "edge.test")
    private static let pool = HTTPDNSName(canonical: "pool.test")
    private static let error = HTTPDNSProviderError(code: .timedOut, message: "late")

    private typealias Record = HTTPDNSProviderAnswer.HTTPSRecord

    private var generator = SeededGenerator()

    private static func v4(_ last: UInt8) -> HTTPDNSAddress { HTTPDNSAddress(v4: 203, 0, 113, last) }
    private static func v6(_ last: UInt64) -> HTTPDNSAddress {
        HTTPDNSAddress(family: .v6, high: 0x2001_0db8 << 32, low: last)
    }

    private static func found(_ last: UInt8, _ seconds: Int = 60, canonicalName: HTTPDNSName? = nil)
        -> HTTPDNSProviderAnswer.Family
    {
        .addresses([v4(last)], timeToLive: .seconds(seconds), canonicalName: canonicalName)
    }

    private static func answer(
        _ v4: HTTPDNSProviderAnswer.Family? = nil,
        _ v6: HTTPDNSProviderAnswer.Family? = nil,
        httpsRecords: HTTPDNSProviderAnswer.HTTPSRecords? = nil
    ) -> HTTPDNSProviderAnswer {
        var answer = HTTPDNSProviderAnswer(v4: v4, v6: v6)
        answer.httpsRecords = httpsRecords
        return answer
    }

    private static func bindings(_ bindings: HTTPDNSProviderAnswer.HTTPSRecord..., life: Int = 60)
        -> HTTPDNSProviderAnswer.HTTPSRecords
    {
        .bindings(bindings, timeToLive: .seconds(life))
    }

    private static func end(_ actions: [HTTPSRecordSelection.Action]) -> HTTPSRecordChoice? {
        guard actions.count == 1, case .done(let choice) = actions[0] else { return nil }
        return choice
    }

    private static func endpoint(_ number: UInt8, _ port: UInt16 = 443) -> HTTPDNSEndpoint {
        HTTPDNSEndpoint(address: v4(number), port: port)
    }

    private static func endpoints(_ actions: [HTTPSRecordSelection.Action]) -> [HTTPDNSEndpoint]? {
        guard case .route(let route, _, _) = end(actions) else { return nil }
        return route.endpoints
    }

    @Test(
        "Without a usable record the name's own addresses are used",
        arguments: [
            (nil, .noRecord),
            (.some(.none(timeToLive: nil)), .noRecord),
            (.failed(error), .failed(error)),
            (bindings(Record(priority: 1, applicationProtocols: ["h3"])), .noRecord),
            (.bindings([], timeToLive: .seconds(1)), .noRecord),
        ] as [(HTTPDNSProviderAnswer.HTTPSRecords?, HTTPSRecordChoice.Reason)]
    )
    mutating func plain(httpsRecords: HTTPDNSProviderAnswer.HTTPSRecords?, reason: HTTPSRecordChoice.Reason) {
        var selection = HTTPSRecordSelection(host: Self.host, families: .v4)
        let answer = Self.answer(Self.found(1), httpsRecords: httpsRecords)
        #expect(selection.received(answer, about: Self.host, using: &generator) == [.done(.plain(reason))])
    }

    @Test("A record without a target leads to the name itself, at the record's port first")
    mutating func ownTarget() {
        var selection = HTTPSRecordSelection(host: Self.host, families: .both)
        let httpsRecords = Self.bindings(Record(priority: 1, port: 8443), life: 20)
        let answer = Self.answer(Self.found(1), .noData(timeToLive: .seconds(5)), httpsRecords: httpsRecords)
        let expected = ServiceRoute(
            endpoints: [Self.endpoint(1, 8443), Self.endpoint(1)],
            applicationProtocols: ["http/1.1"]
        )
        let actions = selection.received(answer, about: Self.host, using: &generator)
        #expect(Self.end(actions) == .route(expected, timeToLive: .seconds(20)))
    }

    @Test("A record's target is resolved, and its addresses precede the name's own")
    mutating func target() {
        var selection = HTTPSRecordSelection(host: Self.host, families: .both)
        let httpsRecords = Self.bindings(Record(priority: 1, target: Self.edge), life: 50)
        let first = Self.answer(Self.found(1), httpsRecords: httpsRecords)
        #expect(
            selection.received(first, about: Self.host, using: &generator)
                == [.ask(Self.edge, families: .both, httpsRecords: false)]
        )
        let second = Self.answer(
            Self.found(2, 7),
            .addresses([Self.v6(2)], timeToLive: .seconds(9), canonicalName: nil)
        )
        let expected = ServiceRoute(
            endpoints: [Self.v4(2), Self.v6(2), Self.v4(1)].map { HTTPDNSEndpoint(address: $0, port: 443) },
            applicationProtocols: ["http/1.1"]
        )
        let actions = selection.received(second, about: Self.edge, using: &generator)
        #expect(Self.end(actions) == .route(expected, timeToLive: .seconds(7)))
    }

    @Test("A target that the name's CNAME leads to is not resolved again, per family")
    mutating func canonicalName() {
        var selection = HTTPSRecordSelection(host: Self.host, families: .both)
        let httpsRecords = Self.bindings(Record(priority: 1, target: Self.edge))
        let v4 = Self.found(1, canonicalName: Self.edge)
        let actions = selection.received(
            Self.answer(v4, .noData(timeToLive: nil), httpsRecords: httpsRecords),
            about: Self.host,
            using: &generator
        )
        #expect(actions == [.ask(Self.edge, families: .v6, httpsRecords: false)])
        let last = selection.received(Self.answer(nil, .noData(timeToLive: nil)), about: Self.edge, using: &generator)
        #expect(Self.endpoints(last) == [Self.endpoint(1)])
    }

    @Test(
        "Hints serve only a family whose own answer failed or is missing",
        arguments: [
            (found(2), .addresses([v6(2)], timeToLive: .seconds(60), canonicalName: nil), [v4(2), v6(2)]),
            (.failed(error), .addresses([v6(2)], timeToLive: .seconds(60), canonicalName: nil), [v4(8), v6(2)]),
            (found(2), .failed(error), [v4(2), v6(9)]),
            (nil, nil, [v4(8), v6(9)]),
            (.noData(timeToLive: nil), .failed(error), [v6(9)]),
            (.nameError(timeToLive: nil), .nameError(timeToLive: nil), []),
        ] as [(HTTPDNSProviderAnswer.Family?, HTTPDNSProviderAnswer.Family?, [HTTPDNSAddress])]
    )
    mutating func hints(
        v4: HTTPDNSProviderAnswer.Family?,
        v6: HTTPDNSProviderAnswer.Family?,
        expected: [HTTPDNSAddress]
    ) {
        var selection = HTTPSRecordSelection(host: Self.host, families: .both)
        let binding = Record(priority: 1, target: Self.edge, port: 444, v4Hints: [Self.v4(8)], v6Hints: [Self.v6(9)])
        let own = Self.answer(.noData(timeToLive: nil), .noData(timeToLive: nil), httpsRecords: Self.bindings(binding))
        _ = selection.received(own, about: Self.host, using: &generator)
        let last = selection.received(Self.answer(v4, v6), about: Self.edge, using: &generator)
        guard !expected.isEmpty else {
            #expect(last == [.done(.plain(.noAddress))])
            return
        }
        #expect(Self.endpoints(last) == expected.map { HTTPDNSEndpoint(address: $0, port: 444) })
    }

    /// Nor are hints in the wrong place.
    @Test("Hints of a family that was not asked for are not used")
    mutating func foreignHints() {
        var selection = HTTPSRecordSelection(host: Self.host, families: .v4)
        let binding = Record(priority: 1, target: Self.edge, v4Hints: [Self.v6(1), Self.v4(8)], v6Hints: [Self.v6(9)])
        let own = Self.answer(.noData(timeToLive: nil), httpsRecords: Self.bindings(binding))
        _ = selection.received(own, about: Self.host, using: &generator)
        let last = selection.failed(Self.error, about: Self.edge)
        #expect(Self.endpoints(last) == [Self.endpoint(8)])
        guard case .route(_, let timeToLive, let missing) = Self.end(last) else { return }
        #expect(missing == Self.error)
        #expect(timeToLive == .seconds(60))
    }

    @Test("Records are used by priority, without those of unusable protocols")
    mutating func priorities() {
        var selection = HTTPSRecordSelection(host: Self.host, families: .v4)
        let httpsRecords = Self.bindings(
            Record(priority: 9, target: Self.edge, applicationProtocols: ["h2"]),
            Record(priority: 1, target: Self.pool, applicationProtocols: ["h3"]),
            Record(priority: 2, applicationProtocols: ["h3", "http/1.1"], port: 444)
        )
        let actions = selection.received(
            Self.answer(Self.found(1), httpsRecords: httpsRecords),
            about: Self.host,
            using: &generator
        )
        #expect(actions == [.ask(Self.edge, families: .v4, httpsRecords: false)])
        let last = selection.received(Self.answer(Self.found(2)), about: Self.edge, using: &generator)
        let expected = [
            Self.endpoint(1, 444), Self.endpoint(2), Self.endpoint(1),
        ]
        #expect(Self.endpoints(last) == expected)
    }

    @Test("Records of one priority are shuffled, and precede those of the next")
    mutating func shuffle() {
        var orders: Set<[UInt16?]> = []
        for _ in 0..<64 {
            var selection = HTTPSRecordSelection(host: Self.host, families: .v4)
            let httpsRecords = Self.bindings(
                Record(priority: 2, port: 4),
                Record(priority: 1, port: 1),
                Record(priority: 1, port: 2),
                Record(priority: 1, port: 3)
            )
            let answer = Self.answer(Self.found(1), httpsRecords: httpsRecords)
            let ports = Self.endpoints(selection.received(answer, about: Self.host, using: &generator))?.map(\.port)
            #expect(ports?.suffix(2) == [4, 443])
            orders.insert(ports ?? [])
        }
        #expect(orders.count == 6)
    }

    /// Records that lead to more targets are left out.
    @Test("At most four targets are queried, each once")
    mutating func targets() throws {
        var selection = HTTPSRecordSelection(host: Self.host, families: .v4)
        let names = try (0..<6).map { try HTTPDNSName("n\($0 % 5).test") }
        let records = names.enumerated().map {
            Record(priority: UInt16($0.offset + 1), target: $0.element)
        }
        let actions = selection.received(
            Self.answer(Self.found(1), httpsRecords: .bindings(records, timeToLive: .seconds(60))),
            about: Self.host,
            using: &generator
        )
        #expect(actions == names.prefix(4).map { .ask($0, families: .v4, httpsRecords: false) })
        // The answers come in any order; the endpoints stand in that of the records.
        for (index, name) in names.prefix(4).enumerated().reversed() {
            let actions = selection.received(Self.answer(Self.found(UInt8(10 + index))), about: name, using: &generator)
            guard index == 0 else {
                #expect(actions.isEmpty)
                continue
            }
            #expect(Self.endpoints(actions) == [10, 11, 12, 13, 1].map { Self.endpoint($0) })
        }
    }

    @Test("An alias is followed, and its target's addresses precede the name's own")
    mutating func alias() {
        var selection = HTTPSRecordSelection(host: Self.host, families: .v4)
        let first = Self.answer(Self.found(1), httpsRecords: .alias(Self.edge, timeToLive: .seconds(4)))
        #expect(
            selection.received(first, about: Self.host, using: &generator)
                == [.ask(Self.edge, families: .v4, httpsRecords: true)]
        )
        let second = Self.answer(Self.found(2), httpsRecords: .some(.none(timeToLive: nil)))
        let expected = ServiceRoute(endpoints: [Self.endpoint(2), Self.endpoint(1)])
        let actions = selection.received(second, about: Self.edge, using: &generator)
        #expect(Self.end(actions) == .route(expected, timeToLive: .seconds(4)))
    }

    @Test("An alias' records come first, then its own addresses, then the name's")
    mutating func aliasToRecords() {
        var selection = HTTPSRecordSelection(host: Self.host, families: .v4)
        let first = Self.answer(Self.found(1), httpsRecords: .alias(Self.edge, timeToLive: .seconds(60)))
        _ = selection.received(first, about: Self.host, using: &generator)
        let httpsRecords = Self.bindings(
            Record(priority: 1, target: Self.pool, port: 444),
            Record(priority: 2, port: 445),
            Record(priority: 3, target: Self.host, port: 446)
        )
        let actions = selection.received(
            Self.answer(Self.found(2), httpsRecords: httpsRecords),
            about: Self.edge,
            using: &generator
        )
        #expect(actions == [.ask(Self.pool, families: .v4, httpsRecords: false)])
        let last = selection.received(Self.answer(Self.found(3)), about: Self.pool, using: &generator)
        let expected = [
            Self.endpoint(3, 444), Self.endpoint(2, 445), Self.endpoint(1, 446), Self.endpoint(2), Self.endpoint(1),
        ]
        #expect(Self.endpoints(last) == expected)
    }

    @Test("An alias whose target has no addresses leaves the name's own")
    mutating func emptyAlias() {
        for (httpsRecords, v4, reason) in [
            (.some(.none(timeToLive: nil)), .nameError(timeToLive: nil), .noAddress),
            (.failed(Self.error), .failed(Self.error), .failed(Self.error)),
        ] as [(HTTPDNSProviderAnswer.HTTPSRecords?, HTTPDNSProviderAnswer.Family, HTTPSRecordChoice.Reason)] {
            var selection = HTTPSRecordSelection(host: Self.host, families: .v4)
            let first = Self.answer(Self.found(1), httpsRecords: .alias(Self.edge, timeToLive: .seconds(60)))
            _ = selection.received(first, about: Self.host, using: &generator)
            let last = selection.received(
                Self.answer(v4, httpsRecords: httpsRecords),
                about: Self.edge,
                using: &generator
            )
            #expect(last == [.done(.plain(reason))])
        }
    }

    @Test("Eight aliases are followed, and a ninth is ignored", arguments: [8, 9])
    mutating func aliasChain(length: Int) throws {
        var selection = HTTPSRecordSelection(host: Self.host, families: .v4)
        var name = Self.host
        var actions: [HTTPSRecordSelection.Action] = []
        for index in 1...length {
            let next = try HTTPDNSName("n\(index).test")
            let answer = Self.answer(Self.found(1), httpsRecords: .alias(next, timeToLive: .seconds(60)))
            actions = selection.received(answer, about: name, using: &generator)
            guard index < 9 else { break }
            #expect(actions == [.ask(next, families: .v4, httpsRecords: true)])
            name = next
        }
        guard length == 8 else {
            #expect(actions == [.done(.plain(.tooManyAliases))])
            return
        }
        let last = selection.received(Self.answer(Self.found(2)), about: name, using: &generator)
        #expect(Self.endpoints(last)?.first == Self.endpoint(2))
    }

    @Test("A loop of aliases is ignored", arguments: [1, 2, 3])
    mutating func aliasLoop(length: Int) throws {
        var selection = HTTPSRecordSelection(host: Self.host, families: .v4)
        let names = [Self.host, Self.edge, Self.pool].prefix(length)
        var last: [HTTPSRecordSelection.Action] = []
        for (index, name) in names.enumerated() {
            let next = names[(index + 1) % length]
            let answer = Self.answer(Self.found(1), httpsRecords: .alias(next, timeToLive: .seconds(60)))
            last = selection.received(answer, about: name, using: &generator)
        }
        #expect(last == [.done(.plain(.aliasLoop(Self.host)))])
    }

    @Test("An unavailable service fails, with the shortest life of the aliases to it")
    mutating func unavailable() {
        var selection = HTTPSRecordSelection(host: Self.host, families: .v4)
        let first = Self.answer(Self.found(1), httpsRecords: .alias(Self.edge, timeToLive: .seconds(4)))
        _ = selection.received(first, about: Self.host, using: &generator)
        let second = Self.answer(Self.found(2), httpsRecords: .unavailable(timeToLive: .seconds(60)))
        let expected = ServiceRoute.unavailable(Self.edge)
        let last = selection.received(second, about: Self.edge, using: &generator)
        #expect(last == [.done(.route(expected, timeToLive: .seconds(4)))])
        let start = "edge.test has an HTTPS record in alias mode with the target \".\""
        #expect(expected.unavailable?.hasPrefix(start) == true)
    }

    @Test("Unexpected, repeated and late answers change nothing")
    mutating func strays() {
        var selection = HTTPSRecordSelection(host: Self.host, families: .v4)
        #expect(selection.received(Self.answer(Self.found(9)), about: Self.edge, using: &generator).isEmpty)
        #expect(selection.expired().isEmpty)
        let httpsRecords = Self.bindings(Record(priority: 1, target: Self.edge))
        _ = selection.received(
            Self.answer(Self.found(1), httpsRecords: httpsRecords),
            about: Self.host,
            using: &generator
        )
        #expect(selection.received(Self.answer(Self.found(9)), about: Self.host, using: &generator).isEmpty)
        #expect(selection.received(Self.answer(Self.found(2)), about: Self.edge, using: &generator).count == 1)
        #expect(selection.received(Self.answer(Self.found(3)), about: Self.edge, using: &generator).isEmpty)
        #expect(selection.failed(Self.error, about: Self.edge).isEmpty)
        #expect(selection.expired().isEmpty)
    }

    @Test("At the time limit answers come first, then hints, then the name's addresses")
    mutating func expired() {
        var selection = HTTPSRecordSelection(host: Self.host, families: .v4)
        let httpsRecords = Self.bindings(
            Record(priority: 1, target: Self.edge, v4Hints: [Self.v4(8)]),
            Record(priority: 2, target: Self.pool)
        )
        _ = selection.received(
            Self.answer(Self.found(1), httpsRecords: httpsRecords),
            about: Self.host,
            using: &generator
        )
        _ = selection.received(Self.answer(Self.found(3)), about: Self.pool, using: &generator)
        let last = selection.expired()
        #expect(Self.endpoints(last) == [8, 3, 1].map { Self.endpoint($0) })
        guard case .route(_, _, let missing) = Self.end(last) else { return }
        #expect(missing?.code == .timedOut)
    }

    /// The name's own addresses are what is left, as a failure.
    @Test("An alias whose target is not answered in time is a time-out")
    mutating func expiredAlias() {
        var selection = HTTPSRecordSelection(host: Self.host, families: .v4)
        let first = Self.answer(Self.found(1), httpsRecords: .alias(Self.edge, timeToLive: .seconds(60)))
        _ = selection.received(first, about: Self.host, using: &generator)
        guard case .plain(.failed(let error)) = Self.end(selection.expired()) else {
            Issue.record("the name's own addresses are what is left")
            return
        }
        #expect(error.code == .timedOut)
    }

    @Test("Of many addresses 16 of a family are kept")
    mutating func bounds() {
        var selection = HTTPSRecordSelection(host: Self.host, families: .v4)
        let many = (0..<12).map { Self.v4($0) }
        let httpsRecords = Self.bindings(Record(priority: 1, port: 444), Record(priority: 2, port: 445))
        let own = Self.answer(
            .addresses(many, timeToLive: .seconds(60), canonicalName: nil),
            httpsRecords: httpsRecords
        )
        let endpoints = Self.endpoints(selection.received(own, about: Self.host, using: &generator))
        #expect(endpoints?.count == 16)
        #expect(endpoints?.prefix(12).allSatisfy { $0.port == 444 } == true)
        #expect(endpoints?.suffix(4).allSatisfy { $0.port == 445 } == true)
    }
}
