// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import Logging
internal import Synchronization

// This step is the outermost one: the time limits of a call, its count, and its errors.
extension Pipeline {
    /// - Parameter began: The times of a call that has already begun; nil for one that begins now.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    func call(
        _ request: consuming HTTPDNSClient.Request,
        carrying rewritten: HTTPDNSRewriter.RewrittenRequest? = nil,
        within began: CallTime? = nil
    ) async throws -> HTTPDNSClient.Response {
        let settings = current
        if let own = request.own, !own.isResolved {
            return try await call(request.resolved(from: settings.options), carrying: rewritten, within: began)
        }
        let options = request.own ?? settings.options
        let time = began ?? CallTime(options.shared.timeouts)
        do {
            if needsFrame(request) {
                return try await framedCall(request.resolved(from: options), options, carrying: rewritten, time)
            }
            try gate.enter()
            defer { gate.leave() }
            let context = HTTPDNSClient.InterceptionContext(
                callID: 0,
                hop: 0,
                depth: 0,
                rewritten: rewritten,
                call: time,
                callOptions: options,
                compressed: request.body.coding == nil ? nil : CompressedOnce(),
                frame: nil
            )
            return try await callBegan(consume request, consume context)
        } catch let error as HTTPDNSClientError {
            let error = completed(error, time)
            log(error)
            throw error
        }
    }

    /// Returns an error with the facts of the call added, as it leaves the pipeline.
    func completed(_ error: HTTPDNSClientError, _ time: CallTime) -> HTTPDNSClientError {
        var error = error
        if error.elapsed == .zero { error.elapsed = time.elapsed }
        // The resolver counts from its own start; the caller counts from the start of the call.
        if error.isCallDeadline, error.phase != .interceptor, !(error.underlying is TransferFailure),
            let limit = time.firstLimit
        {
            error.limit = limit
        }
        return error
    }

    /// Makes a call that others see: observers, interceptors or hooks.
    // Not inlined: what a call without them does not use would be a part of its memory too.
    @inline(never)
    private func framedCall(
        _ request: HTTPDNSClient.Request,
        _ options: HTTPDNSClient.Request.SharedOptions,
        carrying rewritten: HTTPDNSRewriter.RewrittenRequest?,
        _ time: CallTime
    ) async throws -> HTTPDNSClient.Response {
        let id = Pipeline.lastCallID.wrappingAdd(1, ordering: .relaxed).newValue
        guard let observed = observers.begin(request, id: id, at: time.start) else {
            return try await interceptedCall(request, options, carrying: rewritten, time, id, nil)
        }
        do {
            guard let trace = observed.trace else {
                return observed.watching(
                    try await interceptedCall(request, options, carrying: rewritten, time, id, observed)
                )
            }
            let response = try await trace.run {
                try await interceptedCall(request, options, carrying: rewritten, time, id, observed)
            }
            return observed.watching(response)
        } catch {
            observed.end(.failed((error as? HTTPDNSClientError).map { completed($0, time) } ?? error))
            throw error
        }
    }

    private func interceptedCall(
        _ request: HTTPDNSClient.Request,
        _ options: HTTPDNSClient.Request.SharedOptions,
        carrying rewritten: HTTPDNSRewriter.RewrittenRequest?,
        _ time: CallTime,
        _ id: UInt64,
        _ observed: ObservedCall?
    ) async throws -> HTTPDNSClient.Response {
        let frame = CallFrame(
            client: self,
            url: request.url,
            credential: request.own?.callOptions.credential,
            time: time,
            chain: interceptors(of: request),
            observed: observed
        )
        guard frame.depth <= CallFrame.maximumDepth else {
            throw HTTPDNSClientError.loop(depth: frame.depth, url: request.url)
        }
        try gate.enter(nested: frame.depth > 0)
        defer {
            frame.end()
            gate.leave()
        }
        let context = HTTPDNSClient.InterceptionContext(
            callID: id,
            hop: 0,
            depth: frame.depth,
            initialURL: request.url,
            rewritten: rewritten,
            call: time,
            callOptions: options,
            // Interceptors may send another request, which is not known in advance.
            compressed: CompressedOnce(),
            frame: frame
        )
        let response: HTTPDNSClient.Response?
        do {
            if hasFixedCodeOfOthers || !frame.chain.isEmpty {
                response = try await CallFrame.$current.withValue(frame) {
                    try await ended(within: time, of: frame) { try await self.apply(0, request, context) }
                }
            } else {
                response = try await apply(0, request, context)
            }
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            var error = error as? HTTPDNSClientError ?? HTTPDNSClientError(interceptorError: error)
            if frame.mayHaveSent { error.requestMayHaveBeenSent = true }
            error.interceptors = frame.failedInterceptors
            throw error
        }
        guard var response else { throw HTTPDNSClientError.overdue(time, mayHaveBeenSent: frame.mayHaveSent) }
        frame.addEarlier(to: &response.exchanges)
        return response
    }

    /// Runs the steps of a call that include foreign code, and cancels them when the time for a response head or for the whole
    /// call has passed. Code that ignores cancellation still delays the call.
    /// - Returns: Nil when the time has passed while foreign code ran.
    private func ended(
        within time: CallTime,
        of frame: CallFrame,
        _ steps: @escaping @Sendable () async throws -> HTTPDNSClient.Response
    ) async throws -> HTTPDNSClient.Response? {
        // The task below would not know that this one is canceled.
        guard time.firstDeadline != nil, !Task.isCancelled else { return try await steps() }
        // Not a child task: a second one would have to wait for the limit.
        let executor = withUnsafeCurrentTask { $0?.unownedTaskExecutor?.asTaskExecutor() }
        let task = Task.immediate(executorPreference: executor) { try await steps() }
        let isOverdue = OneShot<Void>()
        // The step in progress ends at the deadline, with an error that names the phase.
        let first = frame.overdueTime(in: time) ?? SystemTimeSource().now()
        let alarm = SystemTimeSource().alarm(at: first) {
            if let later = frame.overdueTime(in: time) { return later }
            isOverdue.deliver()
            // It may call code of users.
            CallWork.detached { task.cancel() }
            return nil
        }
        defer { alarm.cancel() }
        do {
            let response = try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
            return isOverdue.isDelivered ? nil : response
        } catch {
            guard isOverdue.isDelivered, (error as? HTTPDNSClientError)?.code != .timedOut else { throw error }
            return nil
        }
    }

    /// The time that the step in progress has after the deadline for its own error.
    static let overdueGrace = Duration.milliseconds(20)

    /// Whether interceptors or hooks run within a call, or it is observed.
    private func needsFrame(_ request: borrowing HTTPDNSClient.Request) -> Bool {
        if interceptors.isInUse || processInterceptors?.isInUse == true || hasFixedCodeOfOthers || observers.isInUse {
            return true
        }
        guard let own = request.own else { return false }
        return !own.interceptors.isEmpty || own.observer != nil
    }

    static let lastCallID = Atomic<UInt64>(0)

    func log(_ error: HTTPDNSClientError) {
        guard let logger, logger.logLevel <= .debug else { return }
        logger.debug(
            "request failed",
            metadata: [
                "error": "\(error.shortDescription)", "message": "\(error.message)", "host": "\(error.host ?? "-")",
                "elapsed": "\(error.elapsed.shortText)", "may_have_been_sent": "\(error.requestMayHaveBeenSent)",
            ]
        )
    }
}

// Application interceptors are between the call and its requests. Network interceptors are a step of each request.
extension Pipeline {
    /// Returns the interceptors of a call: those of the process, of the client, of the request, and the innermost ones.
    func interceptors(of request: HTTPDNSClient.Request) -> InterceptorChain {
        var chain = processInterceptors?.chain ?? InterceptorChain()
        chain.append(interceptors.chain)
        if let own = request.own { chain.append(own.interceptors) }
        chain.append(InterceptorChain(network: usedInnermost))
        return chain
    }

    /// Runs the application interceptors from an index on, once per call, and then the call's redirects and retries.
    func apply(
        _ start: Int,
        _ request: consuming HTTPDNSClient.Request,
        _ context: consuming HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSClient.Response {
        guard let frame = context.frame, start < frame.chain.application.count else {
            return try await callBegan(consume request, consume context)
        }
        guard let place = try await frame.chain.application.first(from: start, for: &request) else {
            return try await callBegan(consume request, consume context)
        }
        context.received = ReceivedURL(request.url)
        let (entry, received) = (frame.chain.application[place], copy request)
        do {
            let response = try await entry.interceptor.intercept(request, context: context) { request, context in
                try await self.apply(place + 1, GivenRequest(request: received).replaced(by: request), context)
            }
            frame.noteResponse(at: place)
            return response
        } catch {
            frame.noteFailure(of: entry, at: place, error)
            throw error
        }
    }
}
