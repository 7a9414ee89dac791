// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import HTTPDNSConfiguration
import HTTPDNSControl
import ServerRig
import Testing

/// The kill switch while requests go on. The name is in the mappings alone: on the system path it cannot be resolved, so that
/// a request tells by how it ends which path it took.
@Suite("The kill switch under load", .enabled(if: ServerRig.isAvailable([.nginx])))
struct SwitchUnderLoadTests {
    /// How a request ended.
    private enum Ending: Equatable, Sendable {
        case pinned
        /// The system resolver does not know the name.
        case systemPath
        case lost(String)
    }

    /// The endings of requests that are sent all the time, each with the word that was in force before it was sent and the
    /// one that was when it had ended.
    private final class Ledger: Sendable {
        struct Row: Sendable {
            var ending: Ending
            var before: Word
            var after: Word
            var time: Duration
        }
        /// What the switch stands at, nil while it is being turned, and how often it was turned.
        struct Word: Equatable, Sendable {
            var isOn: Bool?
            var turns: Int
        }

        private struct State: Sendable {
            var rows: [Row] = []
            var word = Word(isOn: true, turns: 0)
            var isOver = false
        }

        private let state = Lock(State())

        var rows: [Row] { state.withLock { $0.rows } }
        var word: Word { state.withLock { $0.word } }
        var isOver: Bool { state.withLock { $0.isOver } }
        func end() { state.withLock { $0.isOver = true } }
        func add(_ row: Row) { state.withLock { $0.rows.append(row) } }
        func beginTurn() { state.withLock { $0.word = Word(isOn: nil, turns: $0.word.turns + 1) } }
        func endTurn(isOn: Bool) { state.withLock { $0.word.isOn = isOn } }

        /// Returns once so many requests more have ended.
        func rows(more count: Int, on clock: SystemTimeSource) async throws {
            let target = rows.count + count
            while rows.count < target { try await clock.sleep(until: clock.now() + .milliseconds(5)) }
        }
    }

    private static let name = "switched.wild.test"

    private func ending(of client: HTTPDNSClient, _ url: String) async -> Ending {
        do {
            let response = try await client.get(url)
            let text = try await response.text()
            return text == "127.0.0.2\n" ? .pinned : .lost("\(response.status) \(text)")
        } catch let error as HTTPDNSClientError where error.code == .resolveFailed {
            return .systemPath
        } catch {
            return .lost("\(error)")
        }
    }

    private func text(_ rig: ServerRig, isOn: Bool, route: Bool = true) -> String {
        """
        version: 1
        enabled: \(isOn)
        providers:
          none: { kind: doh, url: "https://127.0.0.1:1/dns-query" }
        routes:
          \(Self.name): { providers: none, enabled: \(route) }
        mappings:
          \(Self.name): 127.0.0.2
        client: { ca_file: \(rig.certificateAuthorityFile) }
        """
    }

    /// API, socket, file and route switch off and on again.
    @Test("Each request takes the path of its moment, and turning the switch loses none")
    func underLoad() async throws {
        let rig = try await ServerRig.shared()
        let folder = try TemporaryFolder()
        try folder.replace("httpdns.yaml", with: text(rig, isOn: true))
        var configuration = try HTTPDNSClient.Configuration.file(folder.path("httpdns.yaml"))
        configuration.makePatient()
        let url = "https://\(Self.name):\(rig.tlsPort)/health"
        try await withClient(configuration) { client in
            let socket = try HTTPDNSControlSocket(client: client, path: folder.path("s"))
            let ledger = Ledger()
            let clock = SystemTimeSource()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        while !ledger.isOver, !Task.isCancelled {
                            let (before, began) = (ledger.word, ContinuousClock.now)
                            let ending = await ending(of: client, url)
                            let time = began.duration(to: .now)
                            ledger.add(Ledger.Row(ending: ending, before: before, after: ledger.word, time: time))
                            // A path that fails at once would take all of the machine.
                            try await clock.sleep(until: clock.now() + .milliseconds(10))
                        }
                    }
                }
                func turn(_ isOn: Bool, _ body: () async throws -> Void) async throws {
                    ledger.beginTurn()
                    try await body()
                    ledger.endTurn(isOn: isOn)
                    try await ledger.rows(more: 40, on: clock)
                }
                func resolveTest(_ arguments: String...) async throws {
                    let result = try await Command.resolveTest(arguments + ["--socket", socket.path]).run()
                    #expect(result.status == 0, "\(result)")
                }
                func file(_ text: String) async throws {
                    try folder.replace("httpdns.yaml", with: text)
                    try await client.reload()
                }
                let route = try HTTPDNSRoute.Pattern(Self.name)
                for _ in 0..<3 {
                    try await turn(false) { client.killSwitch.turnOff() }
                    try await turn(true) { client.killSwitch.turnOn() }
                    try await turn(false) { try await resolveTest("switch", "off") }
                    try await turn(true) { try await resolveTest("switch", "on") }
                    try await turn(false) { try await file(text(rig, isOn: false)) }
                    try await turn(true) { try await file(text(rig, isOn: true)) }
                    try await turn(false) { client.killSwitch.turnOff(.route(route)) }
                    try await turn(true) { client.killSwitch.turnOn(.route(route)) }
                    try await turn(false) { try await file(text(rig, isOn: true, route: false)) }
                    try await turn(true) { try await file(text(rig, isOn: true)) }
                }
                ledger.end()
                try await group.waitForAll()
            }
            let rows = ledger.rows
            #expect(
                rows.compactMap { row -> String? in if case .lost(let why) = row.ending { why } else { nil } } == []
            )
            // No turn holds a request up; a busy machine may.
            #expect(rows.allSatisfy { $0.time < .seconds(120) }, "\(rows.map(\.time).max() as Any)")
            // Where nothing was turned between start and end, the path is that of the switch.
            let settled = rows.filter { $0.before == $0.after && $0.before.isOn != nil }
            #expect(settled.count { $0.ending != ($0.before.isOn == true ? .pinned : .systemPath) } == 0)
            #expect(settled.count { $0.ending == .pinned } > 300 && settled.count { $0.ending == .systemPath } > 300)
            #expect(client.resolver.counters.switchedOff >= settled.count { $0.ending == .systemPath })
            await socket.shutdown()
        }
    }

    /// When it is off, requests take the system path until a restart. Operators cannot change that.
    @Test("The environment's switch is read once and holds until a restart")
    func environment() async throws {
        let rig = try await ServerRig.shared()
        let url = "https://\(Self.name):\(rig.tlsPort)/health"
        for (value, expected) in [("1", Ending.systemPath), ("0", .pinned)] {
            var configuration = try rig.settings(mappings: [Self.name: .addresses(["127.0.0.2"])])
            configuration.environment = { $0 == "HTTPDNS_DISABLED" ? value : nil }
            try await withClient(configuration) { client in
                #expect(await ending(of: client, url) == expected)
                client.killSwitch.turnOn()
                #expect(await ending(of: client, url) == expected)
            }
        }
    }
}
