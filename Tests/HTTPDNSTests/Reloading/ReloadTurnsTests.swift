// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import ServerRig
import Testing

@testable import HTTPDNS

struct ReloadTurnsTests {
    @Test("Reloads run one at a time, in the order in which they came")
    func order() async {
        let turns = ReloadSerializer()
        let (order, inside) = (Journal<Int>(), Occupancy())
        await turns.begin()
        await withTaskGroup(of: Void.self) { tasks in
            for number in 0..<8 {
                tasks.addTask {
                    await turns.begin()
                    order.write(number)
                    inside.enter()
                    await Task.yield()
                    inside.leave()
                    turns.end()
                }
                while turns.waitingCount <= number, !Task.isCancelled { await Task.yield() }
            }
            #expect(order.all == [])
            turns.end()
        }
        #expect(order.all == Array(0..<8) && inside.most == 1)
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
        #expect(client.pipeline.current.values.options.timeouts.firstByte != .seconds(7))
        client.reloading.end()
        #expect(try await result.isChanged)
        #expect(client.pipeline.current.values.options.timeouts.firstByte == .seconds(7))
    }
}
