// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Testing

@Suite("Calendar time")
struct WallClockTests {
    private final class Counter: Sendable {
        private let value = Lock<Int64>(40)

        func next() -> Int64 {
            value.withLock { value in
                value += 1
                return value
            }
        }
    }

    @Test("An injected clock is read each time")
    func injected() {
        let counter = Counter()
        let clock = WallClock { counter.next() }
        #expect([clock.now(), clock.now()] == [41, 42])
    }

    @Test("The system's clock counts milliseconds, since 1970 and not since boot")
    func system() {
        // 2020 and 2200: far from what seconds, microseconds or nanoseconds would give.
        #expect((1_577_836_800_000..<7_258_118_400_000).contains(WallClock.system.now()))
    }
}
