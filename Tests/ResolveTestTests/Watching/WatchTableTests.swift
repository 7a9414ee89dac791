// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import Foundation
import HTTPDNS
import Testing

@testable import resolve_test

struct WatchTableTests {
    /// What happened before the table is drawn.
    enum Step: Sendable {
        case answer([String], ttl: Int, age: Int, isStale: Bool = false, isCached: Bool = true)
        case mapped([String])
        case failure(String)
        case event(HTTPDNSResolver.Event.Kind, host: String = "img.test")
        case health(String, backOff: Double? = nil, reason: String? = nil)
    }

    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var steps: [Step]
        var row: String
        var providers = "providers  backup healthy p95 9.0 ms"
    }

    static let cases: [Case] = [
        Case(testDescription: "nothing yet", steps: [], row: "img.test asking - - - 0 - -"),
        Case(
            testDescription: "a fresh answer",
            steps: [.answer(["127.0.0.2", "::1"], ttl: 12, age: 48)],
            row: "img.test 127.0.0.2 +1 doh backup 12 s healthy 1.4 ms 0 48 s ago -"
        ),
        Case(
            testDescription: "the same addresses in another order are no change",
            steps: [.answer(["127.0.0.2", "::1"], ttl: 12, age: 1), .answer(["::1", "127.0.0.2"], ttl: 11, age: 2)],
            row: "img.test ::1 +1 doh backup 11 s healthy 1.4 ms 0 2 s ago -"
        ),
        Case(
            testDescription: "a change says when, and what is gone; a failure in between does not hide it",
            steps: [
                .answer(["127.0.0.2", "127.0.0.4"], ttl: 12, age: 1), .failure("providers-failed"),
                .answer(["127.0.0.3", "127.0.0.4"], ttl: 11, age: 2),
            ],
            row: "img.test 127.0.0.3 +1 doh backup 11 s healthy 1.4 ms 0 2 s ago 1: 00:00:02 was 127.0.0.2"
        ),
        Case(
            testDescription: "stale answers are counted, and the failed lookup is shown",
            steps: [
                .answer(["127.0.0.2"], ttl: 1, age: 1), .event(.refreshFailed),
                .answer(["127.0.0.2"], ttl: 0, age: 3, isStale: true),
                .answer(["127.0.0.2"], ttl: 0, age: 4, isStale: true),
            ],
            row: "img.test 127.0.0.2 doh backup STALE healthy 1.4 ms 2 failed -"
        ),
        Case(
            testDescription: "a refresh ends it, and one about another name does not",
            steps: [
                .event(.refreshFailed), .answer(["127.0.0.2"], ttl: 5, age: 1), .event(.refreshed),
                .event(.refreshFailed, host: "other.test"),
            ],
            row: "img.test 127.0.0.2 doh backup 5 s healthy 1.4 ms 0 1 s ago -"
        ),
        Case(
            testDescription: "a hit says nothing about the lookup that failed after it was cached",
            steps: [.event(.refreshFailed), .answer(["127.0.0.2"], ttl: 5, age: 1)],
            row: "img.test 127.0.0.2 doh backup 5 s healthy 1.4 ms 0 failed -"
        ),
        Case(
            testDescription: "a mapping has neither provider nor expiry",
            steps: [.mapped(["127.0.0.9"])],
            row: "img.test 127.0.0.9 mapping - - 0 - -"
        ),
        Case(
            testDescription: "a name without addresses says why",
            steps: [.failure("name-not-found")],
            row: "img.test - name not found - - 0 - -"
        ),
        Case(
            testDescription: "a provider in quarantine, with the time left and the reason",
            steps: [
                .answer(["127.0.0.2"], ttl: 5, age: 1),
                .health("quarantined", backOff: 9, reason: "refused"),
            ],
            row: "img.test 127.0.0.2 doh backup 5 s quarantined 9 s 0 1 s ago -",
            providers: "providers  backup quarantined 9 s (refused)"
        ),
        Case(
            testDescription: "a provider that owes an answer",
            steps: [.answer(["127.0.0.2"], ttl: 5, age: 1), .health("suspect")],
            row: "img.test 127.0.0.2 doh backup 5 s suspect 1.4 ms 0 1 s ago -",
            providers: "providers  backup suspect"
        ),
    ]

    @Test("Answers, events and health become a row", arguments: cases)
    func rows(_ test: Case) throws {
        let lines = try Self.table(test.steps).lines(.plain)
        #expect(lines.count == 3)
        #expect(lines[0].hasPrefix("name"))
        #expect(lines[1].replacing(#/ +/#, with: " ") == test.row)
        #expect(lines[2] == test.providers)
    }

    @Test("Columns are aligned, and figures are aligned at their ends")
    func columns() throws {
        var model = WatchModel([try HostArgument("img.test"), try HostArgument("a.very.long.name.test")])
        _ = model.take(.answer(0, .success(try Samples.mapped(["127.0.0.2"], key: "img.test", line: 1))), at: .init())
        #expect(
            WatchTable(model: model).lines(.plain) == [
                "name                   address    source   left  health  stale  refreshed  changes",
                "img.test               127.0.0.2  mapping  -     -           0  -          -",
                "a.very.long.name.test  asking     -        -     -           0  -          -",
                "providers  none",
            ]
        )
    }

    @Test("No line is wider than the screen, in any color", arguments: [1, 20, 45, 80, 200])
    func width(_ width: Int) throws {
        let table = try Self.table([.answer(["127.0.0.2"], ttl: 0, age: 3, isStale: true), .health("suspect")])
        let painted = table.lines(Screen(width: width, style: Style(isColoured: true)))
        let bare = painted.map { $0.replacing(#/\u{1B}\[[0-9]*m/#, with: "") }
        #expect(bare == table.lines(Screen(width: width, style: .plain)))
        #expect(bare.allSatisfy { $0.count <= width })
        #expect(painted.contains { $0.contains("\u{1B}[31m") } == (width > 10))
    }

    @Test("The text of watch is that of its file")
    func golden() throws {
        let table = try Self.table([.answer(["127.0.0.2", "::1"], ttl: 0, age: 3, isStale: true), .health("suspect")])
        try Golden.check("watch") { table.lines($0).map { $0 + "\n" }.joined() }
    }

    @Test("Columns beyond a narrow screen are on another line")
    func folded() throws {
        var model = WatchModel([try HostArgument("img.test"), try HostArgument("a.very.long.name.test")])
        _ = model.take(.answer(0, .success(try Samples.mapped(["127.0.0.2"], key: "img.test", line: 1))), at: .init())
        let table = WatchTable(model: model)
        let lines = [
            "name                   address    source   left  health",
            "  stale  refreshed  changes",
            "img.test               127.0.0.2  mapping  -     -",
            "      0  -          -",
            "a.very.long.name.test  asking     -        -     -",
            "      0  -          -",
            "providers  none",
        ]
        #expect(table.lines(Screen(width: 60, style: .plain)) == lines)
        // A host is shown whole or not at all.
        #expect(
            table.lines(Screen(width: 60, style: .plain), height: 6)
                == lines.prefix(4) + ["... 1 more host: enlarge the window", "providers  none"]
        )
    }

    @Test("Hosts that do not fit are counted, and the providers stay visible")
    func height() throws {
        let model = WatchModel(try (0..<10).map { try HostArgument("n\($0).test") })
        let lines = WatchTable(model: model).lines(.plain, height: 6)
        #expect(lines.count <= 6)
        #expect(lines.suffix(2) == ["... 7 more hosts: enlarge the window", "providers  none"])
        #expect(WatchTable(model: model).lines(.plain, height: 12).count == 12)
    }

    @Test("Details show all addresses, the rule, the counters and the last event")
    func details() throws {
        var table = try Self.table([.mapped(["127.0.0.2", "127.0.0.3"]), .event(.refreshStarted), .event(.changed)])
        table.showsDetails = true
        let lines = table.lines(.plain)
        #expect(lines.contains { $0.hasSuffix("127.0.0.3, first in 0 of 1 answers") })
        #expect(lines.contains { $0.contains("mapping \"img.test\" at httpdns.yaml:1") })
        #expect(lines.contains { $0.hasPrefix("resolver") && $0.contains("hits 3") })
        #expect(lines.suffix(2).map { $0.contains("changed") } == [false, true])
        #expect(!lines.contains { $0.contains("refresh-started") })
    }

    @Test("Addresses with weights have a line each, with the watched service's requests")
    func weights() async throws {
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.mappings[try HTTPDNSMapping.Key("app.test")] = .weighted([
            "127.0.0.2:81": 50, "127.0.0.3": 50,
        ])
        let client = try await HTTPDNSClient(configuration: configuration)
        let service = client.status()
        try await client.shutdown()
        func look(_ first: Int, _ second: Int) throws -> HTTPDNSClient.Status {
            var diagnostics = service
            diagnostics.pools = try zip(["127.0.0.2:81", "127.0.0.3:8443"], [first, second]).map { endpoint, requests in
                try JSONDecoder().decode(
                    HTTPDNSClient.Status.Pool.self,
                    from: Data(
                        #"{"host":"app.test","port":8443,"endpoint":"\#(endpoint)","connections":1,"requests":\#(requests)}"#
                            .utf8
                    )
                )
            }
            return diagnostics
        }
        var model = WatchModel()
        _ = model.take(.event(.init(.changed, at: .now)), at: Date(timeIntervalSince1970: 0))
        #expect(!model.isAnswered(times: 1))
        // What was sent before the first look does not count; a count that began again does.
        for (first, second) in [(1_000, 500), (1_096, 604), (1_097, 2)] {
            _ = model.take(.service(try look(first, second)), at: Date(timeIntervalSince1970: 0))
        }
        #expect(model.isAnswered(times: 3) && !model.isAnswered(times: 4))
        let lines = WatchTable(model: model).lines(.plain)
        #expect(lines[1].hasPrefix("app.test  127.0.0.2:81 weight 50, 97 requests  mapping"), "\(lines)")
        #expect(lines[2].hasSuffix("127.0.0.3 weight 50, 106 requests"), "\(lines)")
    }

    @Test("Without a service the table counts how often each address was first")
    func firsts() throws {
        let one = ["127.0.0.2", "127.0.0.3"]
        let steps = [one, one.reversed(), one].map { Step.answer($0, ttl: 5, age: 1) }
        var table = try Self.table(steps)
        table.showsDetails = true
        let lines = table.lines(.plain)
        #expect(lines[1].contains("127.0.0.2, first in 2 of 3 answers"), "\(lines)")
        #expect(lines[2].hasSuffix("127.0.0.3, first in 1 of 3 answers"), "\(lines)")
    }

    static func table(_ steps: [Step]) throws -> WatchTable {
        var model = WatchModel([try HostArgument("img.test")], providerKinds: Samples.kinds)
        model.status = try status("healthy", nil, nil)
        for (second, step) in steps.enumerated() {
            let date = Date(timeIntervalSince1970: Double(second))
            switch step {
            case .answer(let addresses, let ttl, let age, let isStale, let isCached):
                var resolution = try Samples.provided(addresses)
                resolution.timeToLive = .seconds(ttl)
                resolution.age = .seconds(age)
                resolution.isStale = isStale
                resolution.isCached = isCached
                _ = model.take(.answer(0, .success(resolution)), at: date)
            case .mapped(let addresses):
                _ = model.take(.answer(0, .success(try Samples.mapped(addresses, key: "img.test", line: 1))), at: date)
            case .failure(let reason):
                var failure = CommandFailure.failed(code: "resolve-failed", "no address")
                failure.reason = reason
                _ = model.take(.answer(0, .failure(failure)), at: date)
            case .event(let kind, let host):
                var event = HTTPDNSResolver.Event(kind, at: .now)
                event.host = try HTTPDNSName(host)
                _ = model.take(.event(event), at: date)
            case .health(let state, let backOff, let reason): model.status = try status(state, backOff, reason)
            }
        }
        let clock = ClockText { String(ClockText.universal($0).dropFirst(11).prefix(8)) }
        return WatchTable(model: model, clock: clock)
    }

    /// The status of a client with three hits and one provider.
    private static func status(_ state: String, _ backOff: Double?, _ reason: String?) throws -> HTTPDNSClient.Status {
        var status = try DumpReportTests.status()
        var provider = try #require(status.providers.first)
        (provider.name, provider.state, provider.backOffSeconds, provider.reason) = ("backup", state, backOff, reason)
        (provider.latencySeconds, provider.percentile95Seconds) = (0.0014, 0.009)
        status.providers = [provider]
        status.counters = ["hits": 3]
        return status
    }
}
#endif
