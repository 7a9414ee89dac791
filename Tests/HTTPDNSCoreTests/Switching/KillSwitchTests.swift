// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSTesting
import Testing

@testable import HTTPDNSCore

struct KillSwitchTests {
    private typealias Origin = HTTPDNSResolver.KillSwitch.Origin

    private func pattern(_ text: String) throws -> HTTPDNSResolver.KillSwitch.Scope {
        .route(try HTTPDNSRoute.Pattern(text))
    }

    /// Whose word `turnOn` takes back.
    @Test(
        "Operators undo each other's turns; file and environment undo only their own",
        arguments: Origin.allCases,
        Origin.allCases
    )
    func origins(off: HTTPDNSResolver.KillSwitch.Origin, on: HTTPDNSResolver.KillSwitch.Origin) {
        let operators: Set<HTTPDNSResolver.KillSwitch.Origin> = [.api, .socket]
        let killSwitch = HTTPDNSResolver.KillSwitch(timeSource: HTTPDNSManualClock())
        killSwitch.turnOff(by: off)
        #expect(!killSwitch.isOn && !killSwitch.isFullyOn)
        killSwitch.turnOn(by: on)
        let isTakenBack = off == on || operators.contains(off) && operators.contains(on)
        #expect(killSwitch.isOn == isTakenBack)
        #expect(killSwitch.entries.map(\.origin) == (isTakenBack ? [] : [off]))
    }

    /// A turn that changes nothing does not count.
    @Test("The kill switch is on by default, and each turn that changes it counts")
    func generations() throws {
        let time = HTTPDNSManualClock()
        let killSwitch = HTTPDNSResolver.KillSwitch(timeSource: time)
        #expect(killSwitch.isOn && killSwitch.entries.isEmpty && killSwitch.generation == 0)
        let first = ContinuousClock.Instant(time.now())
        killSwitch.turnOff(by: .file)
        time.advance(by: .seconds(5))
        killSwitch.turnOff(by: .api)
        killSwitch.turnOff(by: .file)
        killSwitch.turnOff(try pattern("b.test"))
        killSwitch.turnOff(try pattern("*.a.test"))
        #expect(killSwitch.generation == 4)
        #expect(killSwitch.entries.map(\.scope.description) == ["everything", "everything", "*.a.test", "b.test"])
        #expect(killSwitch.entries.map(\.origin) == [.file, .api, .api, .api])
        #expect(killSwitch.entries.first?.since == first && killSwitch.entries.last?.since == first + .seconds(5))
        killSwitch.turnOn(by: .api)
        #expect(!killSwitch.isOn)
        killSwitch.turnOn(by: .file)
        #expect(killSwitch.isOn && !killSwitch.isFullyOn, "single routes stay off")
        killSwitch.turnOn(by: .file)
        #expect(killSwitch.generation == 6)
        killSwitch.turnOn(try pattern("b.test"))
        killSwitch.turnOn(try pattern("*.a.test"), by: .socket)
        #expect(killSwitch.isFullyOn && killSwitch.entries.isEmpty)
    }

    struct Case: Sendable, CustomTestStringConvertible {
        var off: [String]
        var host: String
        var route: String?
        var isOff: Bool
        var testDescription: String { "\(host) by \(route ?? "no route"), off: \(off)" }
    }

    @Test(
        "A pattern that is off decides like a route, and a closer route stays on",
        arguments: [
            Case(off: ["*.shop.test"], host: "img.shop.test", route: "*.shop.test", isOff: true),
            Case(off: ["*.shop.test"], host: "a.img.shop.test", route: "*.shop.test", isOff: true),
            Case(off: ["*.shop.test"], host: "shop.test", route: nil, isOff: false),
            Case(off: ["*.shop.test"], host: "pay.shop.test", route: "pay.shop.test", isOff: false),
            Case(off: ["*.shop.test"], host: "a.img.shop.test", route: "*.img.shop.test", isOff: false),
            Case(off: ["pay.shop.test"], host: "pay.shop.test", route: "*.shop.test", isOff: true),
            Case(off: ["pay.shop.test"], host: "img.shop.test", route: "*.shop.test", isOff: false),
            Case(off: ["*"], host: "img.shop.test", route: nil, isOff: true),
            Case(off: ["*"], host: "img.shop.test", route: "*", isOff: true),
            Case(off: ["*"], host: "img.shop.test", route: "*.shop.test", isOff: false),
            Case(off: ["*"], host: "db", route: nil, isOff: false),
            Case(off: ["db"], host: "db", route: nil, isOff: true),
        ]
    )
    func patterns(row: Case) throws {
        let killSwitch = HTTPDNSResolver.KillSwitch(timeSource: HTTPDNSManualClock())
        for text in row.off { killSwitch.turnOff(try pattern(text)) }
        let off = killSwitch.entry(
            for: try HTTPDNSName(row.host),
            decidedBy: try row.route.map { try HTTPDNSRoute.Pattern($0) }
        )
        #expect((off != nil) == row.isOff)
    }

    @Test("A watcher is called once for each turn of the kill switch that changes it")
    func changes() throws {
        let killSwitch = HTTPDNSResolver.KillSwitch(timeSource: HTTPDNSManualClock())
        let seen = Lock<[String]>([])
        killSwitch.onChange { change in
            // Outside of all locks: it can be asked.
            _ = killSwitch.entries
            let what = change.scopes.map(\.description).joined(separator: "+")
            seen.withLock { $0.append("\(change.isOff ? "off" : "on") \(what) \(change.origin.rawValue)") }
        }
        killSwitch.turnOff(by: .socket)
        killSwitch.turnOff(by: .api)
        killSwitch.turnOff(by: .api)
        killSwitch.turnOn(by: .api)
        killSwitch.setFile([.everything, try pattern("a.test")])
        killSwitch.setFile([try pattern("b.test")], keeping: true)
        killSwitch.setFile([try pattern("b.test")])
        #expect(
            seen.withLock { $0 } == [
                "off everything socket", "on everything api", "off everything+a.test file", "off b.test file",
                "on everything+a.test file",
            ]
        )
    }
}
