// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Synchronization
import Testing

@testable import HTTPDNSPrimitives

struct CoarseClockTests {
    @Test("The time asleep is added, measured once a tick, and never shrinks")
    func addsTimeAsleep() {
        let clock = CoarseClock()
        #expect(clock.time(at: 100) { 0 } == 100)
        #expect(clock.time(at: 100) { 5000 } == 100, "measured twice in a tick")
        #expect(clock.time(at: 104) { 5000 } == 5104, "woke up and did not notice")
        #expect(clock.time(at: 108) { 4990 } == 5108, "a reading that was interrupted turned time back")
    }

    @Test("The coarse clock is never ahead of the exact one, and under a second behind")
    func staysCloseToTheExactClock() {
        let clock = SystemTimeSource()
        for _ in 0..<10_000 {
            let before = clock.now()
            let coarse = clock.coarseNow()
            #expect(coarse <= clock.now())
            // Read after `before`, however long the thread stood still in between: a tick is 10 ms at most.
            #expect(before - coarse < .seconds(1))
        }
    }

    @Test("The coarse clock never goes back, on any thread")
    func isMonotonicAcrossThreads() async {
        let latest = Latest()
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    let clock = SystemTimeSource()
                    return (0..<100_000).allSatisfy { _ in
                        let seen = latest.time.load(ordering: .sequentiallyConsistent)
                        let now = clock.coarseNow().nanoseconds
                        latest.time.max(now, ordering: .sequentiallyConsistent)
                        return now >= seen
                    }
                }
            }
            for await isMonotonic in group { #expect(isMonotonic) }
        }
    }

    private final class Latest: Sendable {
        let time = Atomic<Int64>(.min)
    }
}
