// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Testing

struct MonotonicTimeTests {
    private let end = MonotonicTime(nanoseconds: .max)
    private let beginning = MonotonicTime(nanoseconds: .min)

    @Test("Adding saturates at both ends of time")
    func addsSaturating() {
        let moment = MonotonicTime(nanoseconds: 1_000)
        #expect(moment + .nanoseconds(5) == MonotonicTime(nanoseconds: 1_005))
        #expect(moment + .nanoseconds(-5) == MonotonicTime(nanoseconds: 995))
        #expect(moment + .seconds(Int64.max) == end)
        #expect(end + .seconds(1) == end)
        #expect(beginning + .seconds(-1) == beginning)
        #expect(moment + .seconds(Int64.min) < moment)
    }

    @Test("A difference saturates and never changes its sign")
    func subtractsSaturating() {
        #expect(MonotonicTime(nanoseconds: 7) - MonotonicTime(nanoseconds: 10) == .nanoseconds(-3))
        #expect(end - beginning == .nanoseconds(Int64.max))
        #expect(beginning - end == .nanoseconds(Int64.min))
    }

    @Test(
        "Whole nanoseconds are exact until they saturate",
        arguments: [
            (Duration.zero, Int64(0)), (.milliseconds(1_500), 1_500_000_000), (.milliseconds(-1_500), -1_500_000_000),
            (Duration(secondsComponent: 0, attosecondsComponent: 999_999_999), 0), (.seconds(Int64.max), .max),
            (.seconds(Int64.min), .min), (.nanoseconds(Int64.max), .max), (.nanoseconds(Int64.min), .min),
        ] as [(Duration, Int64)]
    )
    func countsNanoseconds(duration: Duration, expected: Int64) {
        #expect(duration.wholeNanoseconds == expected)
    }

    @Test("Readable seconds have their fraction")
    func givesSeconds() {
        #expect(Duration.milliseconds(1_250).inSeconds == 1.25)
        #expect(Duration.milliseconds(-500).inSeconds == -0.5)
    }

    @Test(
        "A duration is written in the unit that keeps it short",
        arguments: [
            (Duration.zero, "0 ms"), (.microseconds(300), "0.3 ms"), (.microseconds(8_140), "8.1 ms"),
            (.microseconds(9_960), "10 ms"), (.milliseconds(12), "12 ms"), (.milliseconds(999), "999 ms"),
            (.microseconds(999_600), "1 s"), (.milliseconds(1_500), "1.5 s"), (.seconds(3), "3 s"),
            (.seconds(41), "41 s"),
            (.seconds(119), "119 s"), (.seconds(150), "2.5 min"), (.seconds(600), "10 min"),
            (.milliseconds(-250), "-250 ms"),
            (.nanoseconds(Int64.min), "-292 years"),
        ]
    )
    func writesShort(duration: Duration, text: String) {
        #expect(duration.shortText == text)
    }

    @Test("The system's clock advances, and sleeping ends at its deadline or later")
    func sleeps() async throws {
        let clock = SystemTimeSource()
        let deadline = clock.now() + .milliseconds(5)
        try await clock.sleep(until: deadline)
        #expect(clock.now() >= deadline)
        try await clock.sleep(until: deadline)
    }

    @Test("Sleeping on the system's clock ends with the task")
    func sleepIsCancelled() async {
        let task = Task { try await SystemTimeSource().sleep(until: MonotonicTime(nanoseconds: .max)) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
