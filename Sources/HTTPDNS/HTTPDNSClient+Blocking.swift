// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNSCore
internal import HTTPDNSPrimitives

extension HTTPDNSClient {
    /// The time limit of a blocking call when neither the request nor the client has one, because waiting for ever is
    /// useless. It is the default of ``Timeouts/responseHead``.
    private static let longestWait = Duration.seconds(60)
    /// The time after the call's deadline for which the thread waits for the error that names the phase.
    private static let grace = Duration.seconds(1)

    /// Sends a request and blocks the thread until the whole response has arrived, for code that is not async.
    ///
    /// The thread sleeps meanwhile. The work is done on a thread of the client and on its loop. Stream and file bodies,
    /// queries to providers and timers use them too, so the call ends even when all threads of the runtime are busy. A
    /// provider, interceptor or stream that starts tasks of its own needs the runtime's threads for these. Canceling a
    /// task does not cancel a blocking call; the deadline always ends it.
    ///
    /// It always has a deadline: that of the request, otherwise that of the client, otherwise 60 s.
    /// - Parameters:
    ///   - request: The request.
    ///   - limit: The longest body; a longer one fails with ``HTTPDNSClientError/Code/responseTooLarge``.
    /// - Throws: ``HTTPDNSClientError``; with code `blockingRefused`, immediately and with nothing sent, inside
    ///   the work of another blocking call (in an interceptor).
    @available(*, noasync, message: "from async code call try await execute(_:), which blocks no thread")
    public func executeAndWait(
        _ request: HTTPDNSClient.Request,
        upTo limit: HTTPDNSByteCount = .mebibytes(16)
    ) throws -> HTTPDNSClient.Response.Collected {
        guard !BlockingCallGuard.isOnDuty else { throw HTTPDNSClientError.blockingRefused }
        var request = pipeline.resolved(request)
        request.changeOptions { $0.timeouts.total = $0.timeouts.total ?? HTTPDNSClient.longestWait }
        let time = CallTime(request.options.timeouts)
        let outcome = Monitor<Result<HTTPDNSClient.Response.Collected, any Error>?>(nil)
        let task = Task(executorPreference: threads.blocking) { [self, request] in
            let result = await CallWork.$executor.withValue(threads.blocking) {
                await Self.result(upTo: limit) { try await self.pipeline.call(request, within: time) }
            }
            outcome.change { $0 = result }
        }
        let deadline = (time.deadline ?? time.start) + HTTPDNSClient.grace
        guard let result = outcome.wait(until: deadline, for: { $0 }) else {
            task.cancel()
            var error = HTTPDNSClientError.callOverdue(
                .total,
                "the call did not end within \((time.limit ?? .zero).shortText), nor soon after",
                hint: "something blocks the threads that it needs: an interceptor, or all threads of the runtime",
                limit: time.limit,
                // The progress of the call is unknown.
                mayHaveBeenSent: true
            )
            error.elapsed = time.elapsed
            throw error
        }
        return try result.get()
    }
}

/// The threads of a client's callback and blocking calls, which exist only while there are such calls.
final class CallThreads: Sendable {
    /// The thread of callbacks, which run one after another. A callback that blocks delays the others, and nothing
    /// else.
    let callbacks = ThreadPool(named: "httpdns-calls")
    /// The executor for the work of blocking calls. On the runtime's own threads the work could wait for the threads
    /// that wait for it.
    let blocking = BlockingExecutor(named: "httpdns-block", isOnDuty: true)

    /// Lets the threads end when they have no more work.
    func leave() {
        callbacks.leave()
        blocking.thread.leave()
    }
}

/// Runs and wakes tasks one after another on a separate thread.
final class BlockingExecutor: CallExecutor {
    let thread: ThreadPool

    /// - Parameter isOnDuty: Whether others wait for the thread's work, see ``BlockingCallGuard``.
    init(named name: String, isOnDuty: Bool) {
        thread = ThreadPool(named: name) { if isOnDuty { BlockingCallGuard.begin() } }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        thread.run { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    func sleep(until deadline: MonotonicTime) async throws {
        try Task.checkCancellation()
        let isOver = OneShot<Bool>()
        guard let timer = thread.start(at: deadline, { isOver.deliver(true) }) else {
            return try await Task.sleep(
                for: max(Duration.zero, deadline - SystemTimeSource().now()),
                clock: .continuous
            )
        }
        if await isOver.value(orOnCancel: false) { return }
        thread.cancel(timer)
        throw CancellationError()
    }
}

/// The threads that do the work of blocking calls. A blocking wait on such a thread, for work that only this thread can do,
/// never ends.
enum BlockingCallGuard {
    /// The key; `nil` when the process has none left (PTHREAD_KEYS_MAX, 1024 with glibc). No thread is then known to be one
    /// of these.
    private static let key: pthread_key_t? = {
        var key = pthread_key_t()
        return pthread_key_create(&key, nil) == 0 ? key : nil
    }()

    /// Whether others wait for the current thread.
    static var isOnDuty: Bool {
        guard let key else { return false }
        return pthread_getspecific(key) != nil
    }

    /// Marks the current thread as one that others wait for.
    static func begin() {
        // Any non-null pointer marks the thread.
        if let key { pthread_setspecific(key, UnsafeMutableRawPointer(bitPattern: 1)) }
    }
}
