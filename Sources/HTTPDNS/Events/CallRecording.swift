// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
internal import Synchronization

extension HTTPDNSClient {
    /// A recorder of the calls of one client, from ``HTTPDNSClient/recordCalls(_:)`` until ``stop()``.
    ///
    /// Releasing it does not stop it.
    public final class CallRecording: Sendable {
        private struct State {
            var counters = HTTPDNSClient.CallCounters()
            var isStopped = false
        }

        private let state = Lock(State())
        private let record: @Sendable (HTTPDNSClient.CallRecord, CallDetails?) -> Void
        /// The most bytes of a response body in the details of a call; nil for a recorder without details.
        let bodyLimit: Int?
        /// Returns the records that the recorder has lost since its start, by the place that did not take them.
        let lost: @Sendable () -> [String: Int]
        private let leave: @Sendable (CallRecording) -> Void

        init(
            _ record: @escaping @Sendable (HTTPDNSClient.CallRecord, CallDetails?) -> Void,
            bodyLimit: Int?,
            lost: @escaping @Sendable () -> [String: Int] = { [:] },
            leave: @escaping @Sendable (CallRecording) -> Void
        ) {
            self.record = record
            self.bodyLimit = bodyLimit
            // Recorders of one client, one after the other, may have the same files.
            let earlier = lost()
            self.lost = {
                lost().reduce(into: [:]) { sum, count in
                    sum[count.key] = count.value - earlier[count.key, default: 0]
                }
            }
            self.leave = leave
        }

        /// Stops the recording: no call that ends later is recorded or counted. A closure that is running may end after this.
        /// Other recorders are not affected. A second stop does nothing.
        public func stop() {
            state.withLock { $0.isStopped = true }
            leave(self)
        }

        /// The sums of all recorded calls, exact at any time.
        public var counters: HTTPDNSClient.CallCounters { state.withLock { $0.counters } }

        /// Counts a call and passes its record to the closure, in the task that ends the call.
        func deliver(_ call: HTTPDNSClient.CallRecord, _ details: CallDetails?) {
            let isCounted = state.withLock { state in
                guard !state.isStopped else { return false }
                state.counters.add(call)
                return true
            }
            if isCounted { record(call, bodyLimit == nil ? nil : details) }
        }
    }

    /// The sums of recorded calls.
    public struct CallCounters: Hashable, Sendable {
        /// The number of calls: ``finished``, ``failed`` and ``canceled``.
        public var calls = 0
        /// The calls with a response, of any status.
        public var finished = 0
        /// The calls that failed, or whose body did.
        public var failed = 0
        /// The calls that were canceled.
        public var canceled = 0
        /// The hops of all calls, with those that are merged, see ``CallRecord/Hop/isMerged``.
        public var hops = 0
        /// The bytes of all request heads, see ``CallRecord/Hop/requestHeadBytes``.
        public var requestHeadBytes: Int64 = 0
        /// The bytes of all request bodies, as sent.
        public var requestBodyBytes: Int64 = 0
        /// The bytes of all response heads, see ``CallRecord/Hop/responseHeadBytes``.
        public var responseHeadBytes: Int64 = 0
        /// The bytes of all response bodies, as received.
        public var responseBodyBytes: Int64 = 0

        /// Creates counters of no calls.
        public init() {}

        /// Adds a call.
        package mutating func add(_ call: HTTPDNSClient.CallRecord) {
            calls += 1
            switch call.outcome {
            case .failed: failed += 1
            case .canceled: canceled += 1
            default: finished += 1
            }
            hops += call.hops.count + call.hopsLeftOut
            // By index: the variable of a loop would be a copy of a hop.
            for index in call.hops.indices {
                requestHeadBytes += call.hops[index].requestHeadBytes ?? 0
                requestBodyBytes += call.hops[index].requestBodyBytes ?? 0
                responseHeadBytes += call.hops[index].responseHeadBytes ?? 0
                responseBodyBytes += call.hops[index].responseBodyBytes ?? 0
            }
        }
    }
}

extension HTTPDNSClient {
    /// Adds a recorder, which gets the record of each call that begins from now on, exactly once, at the end of the call.
    ///
    /// ```swift
    /// let recording = client.recordCalls { record in
    ///     if record.outcome == .failed { print(record) }
    /// }
    /// ```
    ///
    /// The closure runs in the task that ends the call: the one that reads the end of the body, releases the response, or
    /// gets the error. It must not block, because it delays that task. It is never called on the loop's thread or under a
    /// lock, and it may run for several calls at the same time. Any number of recorders work side by side.
    ///
    /// A call ends with its response body: a response that is kept and not read has no record yet.
    /// - Parameter record: Receives the records.
    /// - Returns: The handle that stops the recorder and has its counters.
    @discardableResult
    public func recordCalls(_ record: @escaping @Sendable (HTTPDNSClient.CallRecord) -> Void) -> CallRecording {
        pipeline.observers.add({ call, _ in record(call) }, bodyLimit: nil)
    }

    /// Adds a recorder that also gets the details of each call, as ``recordCalls(_:)`` does.
    /// - Parameters:
    ///   - bodyLimit: The most bytes of a response body in the details. There may be more where another recorder asks for them.
    ///   - lost: Returns the records that were lost so far, by the place that did not take them.
    ///   - record: Receives the records.
    package func recordCalls(
        bodyLimit: Int,
        lost: @escaping @Sendable () -> [String: Int] = { [:] },
        _ record: @escaping @Sendable (HTTPDNSClient.CallRecord, CallDetails) -> Void
    ) -> CallRecording {
        // A call has details when such a recorder was there at its start, and only then it has this recorder.
        pipeline.observers.add(
            { call, details in if let details { record(call, details) } },
            bodyLimit: max(0, bodyLimit),
            lost: lost
        )
    }

    /// The records that recorders of the client have lost from their start to their end, by the place that did not take
    /// them.
    package var lostRecords: [String: Int] { pipeline.observers.lostRecords }
}
