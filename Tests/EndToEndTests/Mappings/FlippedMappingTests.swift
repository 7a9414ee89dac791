// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Synchronization
import Testing

/// A mapping that never rests: whatever is in flight, no request may leave for an address that was not current.
@Suite("A mapping that is flipped under load", .enabled(if: ServerRig.isAvailable([.nginx, .bind])))
struct FlippedMappingTests {
    private static let addresses = ["127.0.0.2", "127.0.0.3", "127.0.0.4"]
    private static let inFlight = 64
    private static let duration = Duration.seconds(20)
    private static let flipEvery = Duration.milliseconds(100)

    /// What the tasks of the test write down.
    private final class Ledger: Sendable {
        struct State {
            /// The address of each generation.
            var history: [UInt64: String] = [:]
            var sent: [String: Sent] = [:]
        }

        let state = Mutex(State())
    }

    /// What a caller knows of one request: between which generations it was sent, and which one it says it used.
    private struct Sent {
        var earliest: UInt64
        var latest: UInt64
        var used: UInt64
        var remote: String
    }

    /// The address was current between the start and the sending of the request. Every request in the origins' logs is
    /// checked.
    @Test("Each request was sent to an address that was current after its start")
    func flipping() async throws {
        let rig = try await ServerRig.shared()
        let name = "flipped.wild.test"
        let configuration = try rig.settings(mappings: [name: .addresses([Self.addresses[0]])])
        let mark = rig.accessLogMark()
        try await withClient(configuration) { client in
            let first = client.mappings.generation
            let ledger = Ledger()
            ledger.state.withLock { $0.history[first] = Self.addresses[0] }
            let clock = SystemTimeSource()
            let end = clock.now() + Self.duration

            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    var next = first
                    while clock.now() < end {
                        try await clock.sleep(until: clock.now() + Self.flipEvery)
                        next += 1
                        let address = Self.addresses[Int(next % 3)]
                        // Written down before it is in force; generations grow by one.
                        let number = next
                        ledger.state.withLock { $0.history[number] = address }
                        let generation = try client.mappings.apply { $0[name] = .addresses([address]) }
                        #expect(generation == next)
                    }
                }
                for worker in 0..<Self.inFlight {
                    group.addTask {
                        var number = 0
                        while clock.now() < end {
                            // Most are long on the way, so that 64 are in flight; two workers leave hardly a moment in
                            // which a request on the former address could still count as right.
                            let path = worker < 2 ? "/stall/0.001" : "/stall/0.05"
                            let target = "\(path)?flip=\(worker)-\(number)"
                            number += 1
                            let earliest = client.mappings.generation
                            let response = try await client.get("https://\(name):\(rig.tlsPort)\(target)") {
                                if worker % 2 == 1 { $0.versions = .http1Only }
                            }
                            let latest = client.mappings.generation
                            let exchange = try #require(response.exchanges.first)
                            try await response.text()
                            let facts = Sent(
                                earliest: earliest,
                                latest: latest,
                                used: exchange.request.generation,
                                remote: exchange.remote.address.description
                            )
                            ledger.state.withLock { $0.sent[target] = facts }
                        }
                    }
                }
                try await group.waitForAll()
            }

            let (requests, current) = ledger.state.withLock { ($0.sent, $0.history) }
            let lines = try await rig.awaitAccessLog(since: mark, count: requests.count) { line in
                line.host.hasPrefix(name) && line.target.contains("flip=")
            }
            #expect(lines.count == requests.count, "each request was logged once")
            #expect(requests.count > 200 && current.count > 10, "\(requests.count) requests, \(current.count) sets")
            var wrong: [String] = []
            var spread: Set<String> = []
            for line in lines {
                guard let facts = requests[line.target] else {
                    wrong.append("\(line.target) was not sent")
                    continue
                }
                let allowed = (facts.earliest...facts.latest).compactMap { current[$0] }
                // What the log says against what was current between start and sending.
                let isCurrent = allowed.contains(line.address) && (facts.earliest...facts.latest).contains(facts.used)
                // What the client says of itself is what happened.
                let isTold = facts.remote == line.address && current[facts.used] == line.address
                if !isCurrent || !isTold { wrong.append("\(line.target) on \(line.address): \(facts)") }
                spread.insert(line.address)
            }
            #expect(wrong.isEmpty, "\(wrong.count) of \(lines.count): \(wrong.prefix(3))")
            #expect(spread.count == Self.addresses.count)
        }
    }
}
