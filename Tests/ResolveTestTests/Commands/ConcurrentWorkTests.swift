// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import ServerRig
import Testing

@testable import resolve_test

struct ConcurrentWorkTests {
    @Test("The results keep the order, and no more than the bound run at once", arguments: [0, 1, 3, 4, 500])
    func bounds(count: Int) async throws {
        let running = Occupancy()
        let results = try await ConcurrentWork.map(Array(0..<count), atMost: 3) { number in
            running.enter()
            for _ in 0..<(7 - number % 7) { await Task.yield() }
            running.leave()
            return number * 2
        }
        #expect(results == (0..<count).map { $0 * 2 })
        #expect(running.most <= 3)
    }
}
#endif
