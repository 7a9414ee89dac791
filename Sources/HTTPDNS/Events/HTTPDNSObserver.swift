// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import Logging

/// An observer of the calls of clients. **Not yet stable**: a minor version may change this protocol.
///
/// Every member has a default, so that an observer has only those that it uses. It never changes the outcome of a call.
///
/// ```swift
/// struct SlowCalls: HTTPDNSObserver {
///     func callEnded(_ call: HTTPDNSClient.CallRecord) {
///         if call.duration > .seconds(1) { print(call) }
///     }
/// }
///
/// configuration.observers = [SlowCalls()]
/// ```
///
/// The events of a call come in this order. A hop is one request, and has the events as far as it gets:
///
/// ```
/// started
/// ├─ hop
/// │  ├─ resolved               again when its addresses change
/// │  ├─ connecting, connected  for each connection that is made; delivered with the head or the failure
/// │  ├─ requestSent
/// │  ├─ requestBodyProgress …  for a streamed body
/// │  └─ responseHead           none for a hop that failed; the only one of a hop that was answered in process
/// ├─ redirect | retry
/// ├─ hop …
/// ├─ bodyProgress …            as the caller reads the body
/// └─ finished | failed | canceled
/// callEnded                    once for each call, with its record
/// ```
///
/// ``HTTPDNSClient/Configuration/observers`` observe all calls of a client.
/// ``HTTPDNSClient/addObserver(_:)`` adds an observer later.
public protocol HTTPDNSObserver: Sendable {
    /// The kinds of the events that it wants, with the last one of each call; nil for all. Events that nothing wants are not made.
    /// The default is none. It is read once, when the observer is added.
    var kinds: Set<HTTPDNSClient.RequestEvent.Kind>? { get }

    /// Called for each event of a wanted kind, one at a time for a call.
    ///
    /// It runs in a task for the call on a thread of the client, never on the loop's thread and never under a lock, and it never
    /// delays the call. One that blocks delays other observers of the client. At most 256 events of a call wait for it, and
    /// 4,096 of all calls of the client: a call with more gets no further events. Progress events that wait are merged
    /// into the latest one.
    func observe(_ event: HTTPDNSClient.RequestEvent) async

    /// Called exactly once for each call, when it ends: with its response body, its failure or its cancellation.
    ///
    /// It runs in the task that ends the call: the one that reads the end of the body, releases the response, or gets the error. It
    /// must not block, because it delays that task. It is never called on the loop's thread or under a lock, and it may run
    /// for several calls at the same time. A response that is kept and not read has not ended.
    func callEnded(_ call: HTTPDNSClient.CallRecord)
}

extension HTTPDNSObserver {
    /// None.
    public var kinds: Set<HTTPDNSClient.RequestEvent.Kind>? { [] }
    /// Does nothing.
    public func observe(_ event: HTTPDNSClient.RequestEvent) async {}
    /// Does nothing.
    public func callEnded(_ call: HTTPDNSClient.CallRecord) {}
}

/// An observer that also gets the ``HTTPDNSClient/CallRecord/details`` of calls.
package protocol DetailedObserver: HTTPDNSObserver {
    /// The most bytes of a response body in the details; nil for no details. There may be more where another observer asks for them.
    var bodyLimit: Int? { get }
    /// The records that it has lost so far, by the place that did not take them.
    var lost: [String: Int] { get }
    /// The object that keeps the records; nil for none. It gets each call once, whatever the number of its observations.
    var recorder: ObjectIdentifier? { get }
}

extension DetailedObserver {
    package var lost: [String: Int] { [:] }
    package var recorder: ObjectIdentifier? { nil }
}

/// An observer that is a closure.
private struct CallRecorder: HTTPDNSObserver {
    let record: @Sendable (HTTPDNSClient.CallRecord) -> Void

    func callEnded(_ call: HTTPDNSClient.CallRecord) { record(call) }
}

extension HTTPDNSClient {
    /// Adds an observer of the calls that begin from now on. Any number of observers work side by side.
    /// - Returns: The handle that stops the observation and has its counters.
    @discardableResult
    public func addObserver(_ observer: any HTTPDNSObserver) -> Observation { pipeline.observers.add(observer) }

    /// Adds an observer that is a closure for ``HTTPDNSObserver/callEnded(_:)``.
    /// - Parameter record: Receives the records.
    /// - Returns: The handle that stops the observation and has its counters.
    @discardableResult
    public func recordCalls(_ record: @escaping @Sendable (HTTPDNSClient.CallRecord) -> Void) -> Observation {
        addObserver(CallRecorder(record: record))
    }

    /// Logs one line at info level for each call that begins from now on, when it ends.
    ///
    /// ```swift
    /// client.logCalls(to: Logger(label: "calls"))
    /// ```
    ///
    /// The message is `call ended`, and the facts are metadata. Keys that do not begin with `httpdns.` are attributes of
    /// OpenTelemetry's semantic conventions. The facts of a request are those of the last hop. A line has no header field and
    /// no body, and a URL in it has no user information, query and fragment.
    ///
    /// The logger is called in the task that ends the call, see ``HTTPDNSObserver/callEnded(_:)``. With a higher log level nothing is logged.
    /// - Returns: The handle that stops the log.
    @discardableResult
    public func logCalls(to logger: Logger) -> Observation {
        recordCalls { call in
            guard logger.logLevel <= .info else { return }
            logger.info("call ended", metadata: call.metadata)
        }
    }

    /// The events of the client's calls from now on.
    public var requestEvents: RequestEvents { RequestEvents(pipeline.observers) }

    /// The records that observers of the client have lost from their start to their end, by the place that did not take
    /// them.
    package var lostRecords: [String: Int] { pipeline.observers.lostRecords }
}
