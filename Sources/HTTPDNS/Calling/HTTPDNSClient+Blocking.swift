internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

extension HTTPDNSClient {
    /// The time of a blocking call for which neither the request nor the client has one: a thread that waits for ever helps
    /// nobody. The default of ``Configuration/Timeouts/responseHead``.
    private static let longestWait = Duration.seconds(60)
    /// How long after the call's deadline the thread waits for the error that says in which phase it passed.
    private static let grace = Duration.seconds(1)

    /// Sends a request and blocks the thread until the response is there with its whole body, for code that is not async.
    ///
    /// The thread sleeps meanwhile. The work is done on a thread of the client's own and on its loop, a body that is a stream
    /// or a file is read there too, and so are providers asked and waits timed, so that it ends also when the runtime's
    /// threads are all taken. A provider, interceptor or stream that starts tasks of its own needs the runtime's threads for
    /// these. Cancelling a task does not reach into a blocking call: the deadline does, whatever is taken.
    ///
    /// It always has a deadline: that of the request, else that of the client, else 60 s.
    /// - Parameters:
    ///   - request: The request.
    ///   - limit: The longest body; a longer one is ``HTTPDNSClientError/Code/responseTooLarge``.
    /// - Throws: ``HTTPDNSClientError``; with code `blockingRefused`, at once and with nothing sent, on a loop thread (in a
    ///   task that prefers ``executor``) and inside the work of another blocking call (in an interceptor).
    @available(*, noasync, message: "from async code call try await execute(_:), which blocks no thread")
    public func executeAndWait(
        _ request: HTTPDNSClient.Request,
        upTo limit: HTTPDNSByteCount = .mebibytes(16)
    ) throws -> HTTPDNSClient.Response.Collected {
        guard !ThreadDuty.isOnDuty else { throw HTTPDNSClientError.blockingRefused }
        let timeLimit = HTTPDNSClient.TimeLimit(
            pipeline.time(request.options.deadline).limit ?? HTTPDNSClient.longestWait
        )
        let time = pipeline.time(timeLimit)
        var request = request
        request.options.deadline = timeLimit
        let outcome = Monitor<Result<HTTPDNSClient.Response.Collected, any Error>?>(nil)
        let task = Task(executorPreference: threads.blocking) { [self, request] in
            let result = await CallWork.$executor.withValue(threads.blocking) {
                await self.result(of: request, upTo: limit)
            }
            outcome.change { $0 = result }
        }
        let deadline = (time.deadline ?? time.start) + HTTPDNSClient.grace
        guard let result = outcome.wait(until: deadline, for: { $0 }) else {
            task.cancel()
            throw HTTPDNSClientError.overdue(time)
        }
        return try result.get()
    }
}

extension HTTPDNSClientError {
    /// The deadline of a blocking call passed, and its own error did not come.
    fileprivate static func overdue(_ call: CallTime) -> HTTPDNSClientError {
        var error = HTTPDNSClientError(
            code: .timedOut,
            stage: .total,
            message: "the call did not end within \((call.limit ?? .zero).shortText), nor soon after",
            hint: "something blocks the threads that it needs: an interceptor, or all threads of the runtime"
        )
        error.elapsed = call.elapsed
        error.limit = call.limit
        error.isCallDeadline = true
        // Nobody knows how far it came.
        error.requestMayHaveBeenSent = true
        return error
    }
}
