// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

extension HTTPDNSClient {
    /// The observation of one client by one observer, from ``HTTPDNSClient/addObserver(_:)`` until ``stop()``.
    ///
    /// Releasing it does not stop it.
    public final class Observation: Sendable {
        private struct State {
            var counters = HTTPDNSClient.CallCounters()
            var isStopped = false
            /// The records that the observer had lost before. Observers of one client, one after the other, may have the same files.
            var lostBefore: [String: Int] = [:]
        }

        private let state = Lock(State())
        private let observer: any HTTPDNSObserver
        /// The kinds of events that the observer wants; nil for all.
        let kinds: Set<HTTPDNSClient.RequestEvent.Kind>?
        /// The most bytes of a response body in the details of a call; nil for an observer without details.
        let bodyLimit: Int?
        /// The object that keeps the observer's records; nil for none.
        let recorder: ObjectIdentifier?
        private let leave: @Sendable (Observation) -> Void

        init(_ observer: any HTTPDNSObserver, leave: @escaping @Sendable (Observation) -> Void) {
            self.observer = observer
            kinds = observer.kinds
            let detailed = observer as? any DetailedObserver
            bodyLimit = detailed?.bodyLimit.map { max(0, $0) }
            recorder = detailed?.recorder
            self.leave = leave
            state.withLock { $0.lostBefore = detailed?.lost ?? [:] }
        }

        /// Stops the observation: no call that ends later is recorded or counted. A function of the observer that is running may
        /// end after this. Other observers are not affected. A second stop does nothing.
        public func stop() {
            state.withLock { $0.isStopped = true }
            leave(self)
        }

        /// The sums of all observed calls that have ended, exact at any time.
        public var counters: HTTPDNSClient.CallCounters { state.withLock { $0.counters } }

        /// The records that the observer has lost since the start, by the place that did not take them.
        var lost: [String: Int] {
            let (now, before) = ((observer as? any DetailedObserver)?.lost ?? [:], state.withLock { $0.lostBefore })
            return now.reduce(into: [:]) { lost, count in
                lost[count.key] = count.value - before[count.key, default: 0]
            }
        }

        /// Counts the lost records from the start of an earlier observation of the same recorder, which ends.
        func takeOver(from earlier: Observation) {
            let before = earlier.state.withLock { $0.lostBefore }
            state.withLock { $0.lostBefore = before }
        }

        /// Counts a call and passes its record to the observer, in the task that ends the call.
        /// - Parameter reached: The recorders that have the record.
        func deliver(_ call: HTTPDNSClient.CallRecord, besides reached: inout [ObjectIdentifier]) {
            let isCounted = state.withLock { state in
                guard !state.isStopped else { return false }
                state.counters.add(call)
                return true
            }
            guard isCounted else { return }
            // A monitor may be there twice: named by the settings, and started.
            if let recorder {
                if reached.contains(recorder) { return }
                reached.append(recorder)
            }
            guard bodyLimit == nil, call.details != nil else { return observer.callEnded(call) }
            var call = call
            call.removeDetails()
            observer.callEnded(call)
        }

        /// Passes an event to the observer, in the task for its call.
        func deliver(_ event: HTTPDNSClient.RequestEvent) async {
            if !state.withLock({ $0.isStopped }) { await observer.observe(event) }
        }
    }

    /// The sums of observed calls.
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
