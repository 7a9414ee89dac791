// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPDNSPrimitives
import Testing

@testable import HTTPDNS

@Suite("Order of reloads", .timeLimit(.minutes(10)))
struct ReloadTurnsTests {
    /// Who had a turn, and how many had one at once at most.
    private final class Record: Sendable {
        private let state = Lock((order: [Int](), inside: 0, most: 0))
        var order: [Int] { state.withLock { $0.order } }
        var most: Int { state.withLock { $0.most } }

        func enter(_ number: Int) {
            state.withLock { state in
                state.order.append(number)
                state.inside += 1
                state.most = max(state.most, state.inside)
            }
        }

        func leave() { state.withLock { $0.inside -= 1 } }
    }

    @Test("Reloads run one at a time, in the order in which they came")
    func order() async {
        let turns = ReloadSerializer()
        let record = Record()
        await turns.begin()
        await withTaskGroup(of: Void.self) { tasks in
            for number in 0..<8 {
                tasks.addTask {
                    await turns.begin()
                    record.enter(number)
                    await Task.yield()
                    record.leave()
                    turns.end()
                }
                while turns.waitingCount <= number, !Task.isCancelled { await Task.yield() }
            }
            #expect(record.order == [])
            turns.end()
        }
        #expect(record.order == Array(0..<8) && record.most == 1)
        // Nobody has it any more.
        await turns.begin()
        turns.end()
    }

    @Test("A reload waits for the one under way, and applies nothing before")
    func waits() async throws {
        let rig = try Rig()
        let client = rig.client
        var settings = rig.configuration
        settings.timeouts.firstByte = .seconds(7)
        let next = settings
        await client.reloading.begin()
        async let result = client.reload(next)
        while client.reloading.waitingCount == 0, !Task.isCancelled { await Task.yield() }
        #expect(client.pipeline.limits.firstByte != .seconds(7))
        client.reloading.end()
        #expect(try await result.isChanged)
        #expect(client.pipeline.limits.firstByte == .seconds(7))
    }
}
