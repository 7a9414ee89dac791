// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Testing

struct WallClockTests {
    @Test("An injected clock is read each time")
    func injected() {
        let time = Lock<Int64>(40)
        let clock = WallClock {
            time.withLock { time in
                time += 1
                return time
            }
        }
        #expect([clock.now(), clock.now()] == [41, 42])
    }

    @Test("The system's clock counts milliseconds, since 1970 and not since boot")
    func system() {
        // 2020 and 2200: far from what seconds, microseconds or nanoseconds would give.
        #expect((1_577_836_800_000..<7_258_118_400_000).contains(WallClock.system.now()))
    }
}
