// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Testing

struct SleepQueueTests {
    private let clock = SystemTimeSource()

    @Test("A thousand sleeps end in time, those of earlier deadlines first")
    func order() async throws {
        let clock = clock
        let start = clock.now()
        let delays = (0..<1_000).map { Duration.milliseconds(($0 * 37) % 100) }
        let early = try await withThrowingTaskGroup(of: Bool.self) { group in
            for delay in delays {
                group.addTask {
                    try await clock.sleep(until: start + delay)
                    return clock.now() < start + delay
                }
            }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(early == 0)
        #expect(clock.now() - start < .seconds(60))
    }

    @Test("A sleep with the earliest deadline does not wait for the others")
    func earlier() async throws {
        let clock = clock
        let long = Task { try await clock.sleep(until: clock.now() + .seconds(600)) }
        let start = clock.now()
        try await clock.sleep(until: start + .milliseconds(20))
        #expect((Duration.milliseconds(20)..<Duration.seconds(60)).contains(clock.now() - start))
        long.cancel()
        await #expect(throws: CancellationError.self) { try await long.value }
    }

    @Test("A canceled sleep ends immediately, before, during or at its end")
    func canceled() async throws {
        let clock = clock
        for round in 0..<500 {
            let task = Task { try await clock.sleep(until: clock.now() + .seconds(600)) }
            if round.isMultiple(of: 2) { await Task.yield() }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        for _ in 0..<500 {
            let end = clock.now() + .microseconds(200)
            let task = Task { try await clock.sleep(until: end) }
            try? await clock.sleep(until: end)
            task.cancel()
            _ = await task.result
        }
    }

    @Test("A sleep until a past time returns immediately")
    func past() async throws {
        try await clock.sleep(until: clock.now())
        try await clock.sleep(until: MonotonicTime(nanoseconds: 0))
    }

    @Test("An action is called at its time, and at each time that it returns")
    func alarm() async throws {
        let clock = clock
        let start = clock.now()
        let steps = (1...3).map { start + .milliseconds(10 * $0) }
        let calls = Lock<[MonotonicTime]>([])
        let end = OneShot<Void>()
        _ = clock.alarm(at: steps[0]) {
            let now = clock.now()
            let count = calls.withLock { calls in
                calls.append(now)
                return calls.count
            }
            if count == steps.count { end.deliver() }
            return count < steps.count ? steps[count] : nil
        }
        await end.value(until: start + .seconds(60), on: clock, or: (), onCancel: ())
        #expect(calls.withLock { $0.count } == steps.count)
        for (call, step) in zip(calls.withLock { $0 }, steps) { #expect((step..<step + .seconds(60)).contains(call)) }
    }

    @Test("Alarms of one time are due in the order in which they were set")
    func sameTime() async throws {
        let clock = clock
        let time = clock.now() + .milliseconds(20)
        let calls = Lock<[Int]>([])
        let end = OneShot<Void>()
        // Alarms of other times, between which they stand in the heap.
        let others = (0..<50).map { number in clock.alarm(at: time + .seconds(60 + number)) { nil } }
        for number in 0..<100 {
            _ = clock.alarm(at: time) {
                let count = calls.withLock { calls in
                    calls.append(number)
                    return calls.count
                }
                if count == 100 { end.deliver() }
                return nil
            }
        }
        await end.value(until: time + .seconds(60), on: clock, or: (), onCancel: ())
        for other in others { other.cancel() }
        #expect(calls.withLock { $0 } == Array(0..<100))
    }

    @Test("A canceled alarm is not due again, also when its own action cancels it")
    func canceledAlarm() async throws {
        let clock = clock
        let calls = Lock(0)
        clock.alarm(at: clock.now() + .milliseconds(20)) {
            calls.withLock { $0 += 1 }
            return nil
        }.cancel()
        let own = Lock<Alarm?>(nil)
        let isCanceled = OneShot<Void>()
        let alarm = clock.alarm(at: clock.now()) {
            // Until the alarm is known, it is due again at once.
            guard let alarm = own.withLock({ $0 }) else { return clock.now() }
            calls.withLock { $0 += 1 }
            alarm.cancel()
            isCanceled.deliver()
            return clock.now()
        }
        own.withLock { $0 = alarm }
        await isCanceled.value()
        // It would have been called again before this.
        try await clock.sleep(until: clock.now() + .milliseconds(50))
        #expect(calls.withLock { $0 } == 1)
    }
}
