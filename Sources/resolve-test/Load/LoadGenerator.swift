// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import Foundation
internal import HTTPDNS
internal import HTTPDNSPrimitives

/// A generator that sends one request again and again, by a plan, and measures the responses.
///
/// In an open loop each request has an intended start, and its latency counts from there. A server that stalls delays the
/// requests behind the stalled one, and their latencies contain the delay.
struct LoadGenerator: Sendable {
    let client: HTTPDNSClient
    let request: HTTPDNSClient.Request
    let progress: LoadProgress

    /// The time that a task waits after a failure, so that a dead server is not asked in a busy loop.
    private static let pauseAfterFailure = Duration.milliseconds(10)
    /// The fewest failures, without a response before, that end a load.
    private static let leastFailures = 10

    private final class Shared: Sendable {
        struct State: Sendable {
            var schedule: LoadSchedule
            var recording = LoadRecording()
        }

        let state: Lock<State>

        init(_ schedule: LoadSchedule) { state = Lock(State(schedule: schedule)) }
    }

    /// Sends the requests of a plan, and returns when the last response has ended, or when the task is canceled. A request that
    /// is canceled is not recorded.
    ///
    /// The load ends early when there are only failures.
    func run(_ plan: LoadPlan) async -> LoadRecording {
        let clock = ContinuousClock()
        let (start, processorTime) = (clock.now, Self.processorTime())
        let shared = Shared(LoadSchedule(plan, at: start))
        await withDiscardingTaskGroup { group in
            for _ in 0..<min(plan.inFlight, plan.plannedRequests ?? plan.inFlight) {
                group.addTask { await send(by: shared, mostFailures: max(plan.inFlight, Self.leastFailures)) }
            }
        }
        var (recording, schedule) = shared.state.withLock { ($0.recording, $0.schedule) }
        recording.elapsed = start.duration(to: clock.now)
        recording.processorTime = Self.processorTime() - processorTime
        if !Task.isCancelled, let rate = plan.rate {
            recording.unsent = schedule.unsent
            // The time of the last request belongs to the load, although its response may come sooner.
            recording.elapsed = max(recording.elapsed, .seconds(Double(schedule.begun) / rate))
        }
        return recording
    }

    /// Returns the processor time that this process has had.
    private static func processorTime() -> Duration {
        var usage = rusage()
        guard getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage) == 0 else { return .zero }
        return [usage.ru_utime, usage.ru_stime].reduce(.zero) { time, part in
            time + .seconds(part.tv_sec) + .microseconds(part.tv_usec)
        }
    }

    /// Sends one request after the other until none may begin.
    private func send(by shared: Shared, mostFailures: Int) async {
        let clock = ContinuousClock()
        while !Task.isCancelled, let ticket = shared.state.withLock({ $0.schedule.next(at: clock.now) }) {
            if let due = ticket.due, due > clock.now {
                guard (try? await clock.sleep(until: due, tolerance: .zero)) != nil else { return }
            }
            let start = ticket.due ?? clock.now
            do {
                let sample = try await sample()
                let latency = start.duration(to: clock.now)
                shared.state.withLock { $0.recording.add(sample, latency: latency) }
                progress.count(isFailed: false)
            } catch is CancellationError {
                return
            } catch {
                guard !Task.isCancelled else { return }
                let failure = CommandFailure(error)
                let goesOn = shared.state.withLock { state in
                    state.recording.add(failure)
                    return state.recording.responses > 0 || state.recording.failureCount < mostFailures
                }
                progress.count(isFailed: true)
                guard goesOn, (try? await clock.sleep(for: Self.pauseAfterFailure)) != nil else { return }
            }
        }
    }

    /// Sends the request, and reads the response to its end.
    private func sample() async throws -> LoadRecording.Sample {
        let response = try await client.execute(request)
        var received = 0
        for try await chunk in response.body { received += chunk.count }
        let exchange = response.exchanges.last
        return LoadRecording.Sample(
            status: response.status.code,
            wireBytes: response.body.summary?.wireBytes ?? received,
            endpoint: exchange?.remote.description,
            opensConnection: exchange.map { !$0.reusedConnection } ?? false,
            resolve: exchange?.resolve,
            resolution: exchange?.request.resolution
        )
    }
}

/// The number of requests of a load so far, and a line that shows it on a terminal.
final class LoadProgress: Sendable {
    private let counts = Lock((requests: 0, failures: 0))
    private let start = ContinuousClock.now

    /// The time before the first line, and between two lines.
    private static let first = Duration.seconds(1)
    private static let interval = Duration.milliseconds(250)

    func count(isFailed: Bool) {
        counts.withLock { counts in
            counts.requests += 1
            if isFailed { counts.failures += 1 }
        }
    }

    /// Draws the line again and again until the task is canceled, and removes it then.
    func show(on stream: StandardStream) async {
        guard (try? await Task.sleep(for: Self.first)) != nil else { return }
        var last = (time: start, requests: 0)
        repeat {
            let now = ContinuousClock.now
            let counts = counts.withLock { $0 }
            let rate = Double(counts.requests - last.requests) / max(last.time.duration(to: now).inSeconds, 1e-3)
            last = (now, counts.requests)
            let failures = counts.failures == 0 ? "" : "   \(Figures.count(counts.failures)) failed"
            stream.say(
                "\r\u{1B}[K\(Figures.fixed(start.duration(to: now).inSeconds, places: 1)) s   "
                    + "\(Figures.count(counts.requests)) requests   \(Figures.count(Int(rate)))/s\(failures)"
            )
        } while (try? await Task.sleep(for: Self.interval)) != nil
        stream.say("\r\u{1B}[K")
    }
}

/// The size of a load: the requests in flight, the rate, and its end.
struct LoadPlan: Hashable, Sendable {
    var inFlight: Int
    /// The requests that begin in a second, for an open loop. Nil means a closed loop: each response makes the next request
    /// begin.
    var rate: Double?
    /// The number of requests; nil for any number.
    var requests: Int?
    /// The time in which requests begin; nil for any time.
    var duration: Duration?

    /// The number of requests that the plan has; nil for a closed loop that only a duration ends.
    var plannedRequests: Int? {
        guard let rate, let duration else { return requests }
        let scheduled = Int((rate * (duration / .seconds(1))).rounded(.up))
        return min(requests ?? scheduled, scheduled)
    }

    /// Returns parts of equal size, at most `count`, that together are the whole plan.
    func slices(_ count: Int) -> [LoadPlan] {
        let count = max(1, min(count, requests ?? count))
        return (0..<count).map { index in
            var slice = self
            slice.requests = requests.map { $0 * (index + 1) / count - $0 * index / count }
            slice.duration = duration.map { $0 / count }
            return slice
        }
    }

    /// Returns the same load for another time, without a number of requests.
    func lasting(_ duration: Duration) -> LoadPlan {
        LoadPlan(inFlight: inFlight, rate: rate, requests: nil, duration: duration)
    }
}

/// The requests of a plan that may still begin, with the times at which they are due.
struct LoadSchedule: Sendable {
    typealias Instant = ContinuousClock.Instant

    struct Ticket: Hashable, Sendable {
        /// The intended start; nil in a closed loop, where a request begins immediately.
        var due: Instant?
    }

    private let plan: LoadPlan
    private let start: Instant
    private let limit: Int?
    private(set) var begun = 0

    init(_ plan: LoadPlan, at start: Instant) {
        self.plan = plan
        self.start = start
        limit = plan.plannedRequests
    }

    /// The number of requests of an open loop that did not begin in its time.
    var unsent: Int { plan.rate == nil ? 0 : (limit ?? begun) - begun }

    /// Returns the next request; nil when no further one may begin.
    mutating func next(at now: Instant) -> Ticket? {
        if let limit, begun >= limit { return nil }
        if let duration = plan.duration, now >= start + duration { return nil }
        defer { begun += 1 }
        return Ticket(due: plan.rate.map { start + .seconds(Double(begun) / $0) })
    }
}
#endif
