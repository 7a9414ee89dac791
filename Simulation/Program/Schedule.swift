// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSSimulation
@_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) internal import _Concurrency

/// All tasks and threads of the process, one at a time, in an order that a seed decides; time is virtual.
///
/// It replaces the process's default executor, and so has the product's own tasks too.
// @unchecked: only the thread of `run` and threads that it has given the turn touch it, one at a time.
final class Schedule: TaskExecutor, SchedulingExecutor, SerialExecutor, MainExecutor, @unchecked Sendable {
    /// The order among what can go on now.
    enum Order: Hashable {
        /// As it became ready, and tasks before threads.
        case arrival
        case random(UInt64)
    }

    private struct Timer {
        var at: Int64
        /// Of equal times, the earlier request goes first.
        var number: UInt64
        var job: UnownedJob

        static func < (one: Timer, other: Timer) -> Bool { (one.at, one.number) < (other.at, other.number) }
    }

    // Unchecked exclusivity: no method runs a job or a thread while it changes one of them.
    @exclusivity(unchecked) private var ready: [UnownedJob] = []
    @exclusivity(unchecked) private var timers: [Timer] = []
    @exclusivity(unchecked) private var timerNumber: UInt64 = 0
    @exclusivity(unchecked) private var order = Order.arrival
    @exclusivity(unchecked) private var random = Random(0)
    @exclusivity(unchecked) private var threads = [Int32](repeating: 0, count: 256)
    @exclusivity(unchecked) private(set) var steps = 0
    private var start: Int64 = 0

    /// The time since the start of the world, in nanoseconds.
    var elapsed: Int64 { sim_now() - start }
    /// The tasks that wait for a time.
    var sleeping: Int { timers.count }

    /// Begins a world two hours after the last one, at a full second: process-wide clocks never go back.
    func begin(_ order: Order) {
        precondition(ready.isEmpty, "a task of the last world is left")
        timers = []
        start = (sim_now() / 1_000_000_000 + 7200) * 1_000_000_000
        sim_set_now(start)
        self.order = order
        if case .random(let seed) = order { random = Random(seed) }
        steps = 0
        timerNumber = 0
    }

    func enqueue(_ job: consuming ExecutorJob) { ready.append(UnownedJob(job)) }

    func enqueue<C: Clock>(
        _ job: consuming ExecutorJob,
        after delay: C.Duration,
        tolerance: C.Duration?,
        clock: C
    ) {
        schedule(UnownedJob(job), delay as? Duration ?? .zero)
    }

    func enqueue<C: Clock>(
        _ job: consuming ExecutorJob,
        at instant: C.Instant,
        tolerance: C.Duration?,
        clock: C
    ) {
        schedule(UnownedJob(job), clock.now.duration(to: instant) as? Duration ?? .zero)
    }

    private func schedule(_ job: UnownedJob, _ delay: Duration) {
        timerNumber += 1
        timers.append(Timer(at: sim_now() + max(0, delay.nanoseconds), number: timerNumber, job: job))
        var index = timers.count - 1
        while index > 0, timers[index] < timers[(index - 1) / 2] {
            timers.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    private func takeTimer() -> Timer {
        timers.swapAt(0, timers.count - 1)
        let taken = timers.removeLast()
        var index = 0
        while true {
            var least = index
            for child in (2 * index + 1)...(2 * index + 2) where child < timers.count && timers[child] < timers[least] {
                least = child
            }
            guard least != index else { return taken }
            timers.swapAt(index, least)
            index = least
        }
    }

    /// Runs everything until the world is over and no task is ready, or until nothing will ever go on.
    /// - Returns: Whether the world is over.
    func run(until isOver: () -> Bool, mostSteps: Int) -> Bool {
        while steps < mostSteps {
            let threadCount = Int(sim_runnable(&threads, Int32(threads.count)))
            if ready.isEmpty, threadCount == 0 {
                var next = sim_next()
                if let first = timers.first { next = min(next, first.at) }
                guard next < .max else { return isOver() }
                if isOver(), timers.isEmpty, sim_next() == .max { return true }
                sim_set_now(max(sim_now(), next))
                while let first = timers.first, first.at <= sim_now() { ready.append(takeTimer().job) }
                continue
            }
            let index: Int
            switch order {
            case .arrival: index = 0
            case .random: index = Int(random.next(upperBound: UInt64(ready.count + threadCount)))
            }
            steps += 1
            sim_draw_again()
            if index >= ready.count {
                sim_turn(threads[index - ready.count])
                continue
            }
            let job: UnownedJob
            if case .arrival = order {
                job = ready.removeFirst()
            } else {
                ready.swapAt(index, ready.count - 1)
                job = ready.removeLast()
            }
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
        return false
    }

    // The process calls these only for a main function that waits, which this program has not.
    func run() throws {}
    func runUntil(_ condition: () -> Bool) throws {}
    func stop() {}
    func checkIsolated() {}
}

struct ScheduleFactory: ExecutorFactory {
    static var mainExecutor: any MainExecutor { schedule }
    static var defaultExecutor: any TaskExecutor { schedule }
}

let schedule = Schedule()
