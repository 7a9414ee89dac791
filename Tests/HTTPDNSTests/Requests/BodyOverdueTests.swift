// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Dispatch
import HTTPDNSCurl
import ServerRig
import Testing

@testable import HTTPDNS

struct BodyOverdueTests {
    /// Bytes that do not shrink, because they repeat themselves beyond zlib's window of 32 KiB: it takes some ten thousand at
    /// once.
    private static let noise = [[UInt8]](
        repeating: (0..<(64 * 1024)).map { _ in UInt8.random(in: .min ... .max) },
        count: 32
    ).flatMap(\.self)

    @Test("The deadline is checked with each portion, and ends the compression")
    func looks() async throws {
        let clock = TickingClock()
        let whole = try await HTTPDNSClient.ContentCoding.gzip.compressed(Self.noise, until: .never, on: clock)
        let looks = clock.looks
        #expect(whole.count > Self.noise.count && looks > 20, "\(looks) looks")
        let deadline = clock.time + .seconds(10)
        let error = try await #require(throws: HTTPDNSClientError.self) {
            _ = try await HTTPDNSClient.ContentCoding.gzip.compressed(Self.noise, until: deadline, on: clock)
        }
        #expect(error.code == .timedOut && error.message.contains("the request's body was compressed"), "\(error)")
        #expect(clock.looks == looks + 10)
    }

    /// Nothing is sent.
    @Test("A call whose deadline passes during compression ends with an error that says so")
    func deadline() async throws {
        // On a busy machine a short time may be over before the compression begins: then the same with a longer one.
        for seconds in [1, 8, 40] where try await isCompressing(until: .seconds(seconds)) { return }
        Issue.record("no compression began before the deadline")
    }

    private func isCompressing(until limit: Duration) async throws -> Bool {
        let rig = try Rig()
        let (held, isOver) = (HeldExecutor(), Gate())
        let call = Task {
            defer { isOver.open() }
            return await CallWork.$executor.withValue(held) {
                await clientError {
                    try await rig.client.post("https://map.test/", body: .bytes(Self.noise).compressed()) {
                        $0.timeouts.total = limit
                    }
                }
            }
        }
        while held.count == 0, !isOver.isOpen { await Task.yield() }
        // The deadline began before the job.
        try await Task.sleep(for: limit)
        held.letGo()
        let error = try #require(await call.value)
        if error.code == .timedOut, error.phase != .request { return false }
        #expect(error.code == .timedOut && error.phase == .request && error.isCallDeadline, "\(error)")
        #expect(error.limit == limit && error.elapsed >= limit && !error.requestMayHaveBeenSent && error.retries == 0)
        #expect(error.host == "map.test" && error.message.contains("compressed") && error.hint?.isEmpty == false)
        #expect(rig.wire.requests.isEmpty)
        return true
    }

    @Test("After the deadline no file is opened and nothing is compressed")
    func passed() async throws {
        let past = SystemTimeSource().now()
        for body in [.file("/etc/passwd"), .text("x").compressed(), .multipart([.file("f", path: "/etc/passwd")])]
            as [HTTPDNSClient.Request.Body]
        {
            let error = try await #require(throws: HTTPDNSClientError.self) { try await body.opened(until: past) }
            #expect(error.code == .timedOut && error.phase == .request && error.isCallDeadline, "\(error)")
        }
        _ = try await HTTPDNSClient.Request.Body.file("/etc/passwd").opened(until: .never)
    }

    /// It ends as canceled.
    @Test("A call that is canceled in the middle of compression sends nothing")
    func canceled() async throws {
        let rig = try Rig()
        let held = HeldExecutor()
        let call = Task {
            try await CallWork.$executor.withValue(held) {
                try await rig.client.post("https://map.test/", body: .bytes(Self.noise).compressed())
            }
        }
        // A portion, and one more.
        for _ in 0..<2 {
            await held.jobs(atLeast: 1)
            held.runFirst()
        }
        await held.jobs(atLeast: 1)
        call.cancel()
        held.letGo()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(rig.wire.requests.isEmpty)
    }
}

extension MonotonicTime {
    fileprivate static let never = MonotonicTime(nanoseconds: .max)
}

/// A clock on which a second passes whenever somebody looks at it.
private final class TickingClock: TimeSource {
    private let count = Lock(0)

    var looks: Int { count.withLock { $0 } }
    /// The time of the last look.
    var time: MonotonicTime { MonotonicTime(nanoseconds: 0) + .seconds(looks) }

    func now() -> MonotonicTime {
        count.withLock { $0 += 1 }
        return time
    }

    func sleep(until deadline: MonotonicTime) async throws { try Task.checkCancellation() }
}

/// Keeps the steps of its tasks until a test lets them go.
private final class HeldExecutor: CallExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        var isOpen = false
    }

    private let state = Lock(State())

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isOpen = state.withLock { state in
            if !state.isOpen { state.jobs.append(job) }
            return state.isOpen
        }
        if isOpen { run(job) }
    }

    func sleep(until deadline: MonotonicTime) async throws {
        try await Task.sleep(for: deadline - SystemTimeSource().now())
    }

    var count: Int { state.withLock { $0.jobs.count } }

    func jobs(atLeast count: Int) async {
        while self.count < count, !Task.isCancelled { await Task.yield() }
    }

    func runFirst() { run(state.withLock { $0.jobs.removeFirst() }) }

    func letGo() {
        let jobs = state.withLock { state in
            state.isOpen = true
            defer { state.jobs = [] }
            return state.jobs
        }
        jobs.forEach(run)
    }

    /// On another thread: a step may give the next one before it ends.
    private func run(_ job: UnownedJob) {
        let executor = asUnownedTaskExecutor()
        DispatchQueue.global().async { job.runSynchronously(on: executor) }
    }
}
