// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import HTTPDNSTesting
import Testing

struct ManualClockTests {
    @Test("The clock stands still until it is moved, and never goes back")
    func moves() {
        let time = HTTPDNSManualClock(start: MonotonicTime(nanoseconds: 5))
        #expect(time.now() == MonotonicTime(nanoseconds: 5))
        time.advance(by: .nanoseconds(7))
        time.advance(by: .seconds(-1))
        #expect(time.now() == MonotonicTime(nanoseconds: 12))
    }

    @Test("A sleeper wakes at its deadline and not before")
    func wakes() async throws {
        let time = HTTPDNSManualClock()
        let start = time.now()
        try await withThrowingTaskGroup(of: Int.self) { group in
            for number in [3, 1, 2] {
                group.addTask {
                    try await time.sleep(until: start + .seconds(number))
                    return number
                }
            }
            await time.sleepers(atLeast: 3)
            for number in 1...3 {
                time.advance(by: .seconds(1) - .nanoseconds(1))
                #expect(time.sleeperCount == 4 - number)
                time.advance(by: .nanoseconds(1))
                let woken = try await group.next()
                #expect(woken == number)
            }
        }
        try await time.sleep(until: start)
    }

    @Test("A canceled sleeper ends immediately, and leaves the clock")
    func cancels() async {
        let time = HTTPDNSManualClock()
        let task = Task { try await time.sleep(until: time.now() + .seconds(1)) }
        await time.sleepers(atLeast: 1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(time.sleeperCount == 0)
    }

    /// Nothing sleeps or asks, so nothing else can end the waits. They have begun or begin when they are canceled.
    @Test("Canceled waits for sleepers and queries end immediately", arguments: [false, true])
    func cancelsWatchers(hasBegun: Bool) async {
        let time = HTTPDNSManualClock()
        let (begins, beginning) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            if hasBegun { beginning.finish() }
            await time.sleepers(atLeast: 1)
            await HTTPDNSScriptedProvider().queries(atLeast: 1)
            await ScriptedSystemResolver().questions(atLeast: 1)
        }
        if hasBegun { for await _ in begins {} }
        task.cancel()
        await task.value
        #expect(task.isCancelled && time.sleeperCount == 0)
    }
}
