// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import Testing

@testable import resolve_test

struct LoadScheduleTests {
    private let start = ContinuousClock.now

    @Test("A closed loop begins requests until its number or its time is over")
    func closed() {
        var counted = LoadSchedule(LoadPlan(inFlight: 4, requests: 3), at: start)
        #expect((0..<5).map { _ in counted.next(at: start) != nil } == [true, true, true, false, false])
        var timed = LoadSchedule(LoadPlan(inFlight: 4, duration: .seconds(2)), at: start)
        #expect(timed.next(at: start + .milliseconds(1999)) == LoadSchedule.Ticket(due: nil))
        #expect(timed.next(at: start + .seconds(2)) == nil)
        #expect(timed.begun == 1 && timed.unsent == 0)
    }

    /// The third request comes late, and its intended start is that of the plan nevertheless.
    @Test("The starts of an open loop are those of the rate, also for a late request")
    func open() {
        var schedule = LoadSchedule(LoadPlan(inFlight: 1, rate: 100, duration: .milliseconds(40)), at: start)
        let times: [Duration] = [.zero, .zero, .milliseconds(35), .milliseconds(36), .milliseconds(36)]
        let dues = times.map { schedule.next(at: start + $0)?.due.map { start.duration(to: $0) } }
        #expect(dues == [.zero, .milliseconds(10), .milliseconds(20), .milliseconds(30), nil])
        #expect(schedule.unsent == 0)
    }

    @Test("Requests that an open loop could not begin in its time are counted")
    func unsent() {
        var schedule = LoadSchedule(LoadPlan(inFlight: 1, rate: 100, duration: .seconds(1)), at: start)
        #expect(schedule.next(at: start) != nil)
        #expect(schedule.next(at: start + .seconds(1)) == nil)
        #expect(schedule.unsent == 99)
    }

    @Test(
        "Turns have the requests of the whole load together",
        arguments: [(1, 1), (7, 7), (10, 10), (1003, 10)]
    )
    func slices(requests: Int, count: Int) {
        let slices = LoadPlan(inFlight: 4, requests: requests).slices(10)
        #expect(slices.count == count)
        #expect(slices.reduce(0) { $0 + ($1.requests ?? 0) } == requests)
        #expect(slices.allSatisfy { ($0.requests ?? 0) > 0 })
    }
}
#endif
