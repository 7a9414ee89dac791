// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNS
internal import HTTPDNSPrimitives

/// A monitor that keeps a redacted record of each call of one or several clients, and counts them.
///
/// ```swift
/// let monitor = HTTPDNSTrafficMonitor()
/// monitor.start(on: client)
/// ```
///
/// `configuration.observers` of a client takes a monitor too, for all calls of the client. A monitor that is started on such a client
/// as well counts each call once, and goes on after its stop. It can be started and stopped at any time, and changes nothing else:
/// interceptors, stubs, caches and other recorders stay.
/// A client without a monitor has no cost. A call is recorded when it begins after the start and ends before the stop; it
/// ends with its response body.
///
/// The record of a call is made, and its secrets are redacted (`HTTPDNSClient.Redaction`), when it is read. In the task that ends
/// the call, before that task gets the end of the body, only the values of header fields whose names are those of secrets are cut:
/// a secret inside another field, such as a parameter of the URL in `Location`, is in memory as long as the record.
///
/// The record is made and redacted in the task that ends the call when the call failed, when a URL of it has a secret, and when the
/// settings have bodies, files, an exporter or an edit. Until then the start of the body is in memory as it was read. Releasing the
/// monitor stops it.
public final class HTTPDNSTrafficMonitor: Sendable {
    /// A client, and the observation of its calls. The monitor does not own the client.
    private struct WatchedClient {
        weak var client: HTTPDNSClient?
        let observation: HTTPDNSClient.Observation
    }

    /// The settings.
    public let settings: Settings
    private let keeper: RecordKeeper
    private let watched = Lock<[WatchedClient]>([])

    /// Creates a stopped monitor with the default settings.
    public convenience init() { self.init(checked: Settings(), time: SystemTimeSource(), clock: .system) }

    /// Creates a stopped monitor.
    /// - Throws: `HTTPDNSClientError` with code `configuration` for a condition that needs a body or a closure, and for a
    ///   share of calls that is not between 0 and 1.
    public convenience init(_ settings: Settings) throws {
        try self.init(settings, time: SystemTimeSource(), clock: .system)
    }

    /// - Parameters:
    ///   - time: The clock for the age of records.
    ///   - clock: The clock for the times of calls.
    convenience init(_ settings: Settings, time: any TimeSource, clock: WallClock)
        throws(HTTPDNSClientError)
    {
        try settings.check()
        self.init(checked: settings, time: time, clock: clock)
    }

    private init(checked settings: Settings, time: any TimeSource, clock: WallClock) {
        self.settings = settings
        keeper = RecordKeeper(settings, time: time, clock: clock)
    }

    deinit { stop() }

    /// Starts recording the calls of a client that begin from now on. A second start does nothing.
    public func start(on client: HTTPDNSClient) {
        // A client that is read may be at its last reference by then: it is released after the lock.
        let (released, living) = watched.withLock { watched -> ([HTTPDNSClient.Observation], [HTTPDNSClient]) in
            let clients = watched.map(\.client)
            let released = zip(watched, clients).filter { $1 == nil }.map(\.0.observation)
            watched = zip(watched, clients).filter { $1 != nil }.map(\.0)
            let living = clients.compactMap(\.self)
            guard !living.contains(where: { $0 === client }) else { return (released, living) }
            watched.append(WatchedClient(client: client, observation: client.addObserver(keeper)))
            return (released, living)
        }
        withExtendedLifetime(living) {}
        for observation in released { observation.stop() }
    }

    /// Stops recording the calls of a client: those that end later are not recorded. A call that ends at the same time may be
    /// recorded after this. Records and counters stay. A second stop does nothing.
    public func stop(on client: HTTPDNSClient) {
        let (observations, clients) = watched.withLock {
            watched -> ([HTTPDNSClient.Observation], [HTTPDNSClient?]) in
            let clients = watched.map(\.client)
            let stopped = zip(watched, clients).filter { $1 === client }.map(\.0.observation)
            watched = zip(watched, clients).filter { $1 !== client }.map(\.0)
            return (stopped, clients)
        }
        withExtendedLifetime(clients) {}
        for observation in observations { observation.stop() }
    }

    /// Stops recording the calls of all clients, as ``stop(on:)`` does.
    public func stop() {
        let observations = watched.withLock { watched in
            defer { watched = [] }
            return watched.map(\.observation)
        }
        for observation in observations { observation.stop() }
    }

    /// Whether the monitor records the calls of a client.
    public func isStarted(on client: HTTPDNSClient) -> Bool {
        let clients = watched.withLock { $0.map(\.client) }
        return clients.contains { $0 === client }
    }

    /// The records in memory, the oldest first; each reading makes them. Those of calls that end at the same time are in any order.
    public var records: [Record] { keeper.records }

    /// The bytes of the records in memory, estimated.
    public var storedBytes: HTTPDNSByteCount { .bytes(keeper.storedBytes) }

    /// The counters of all calls that the monitor has seen, also of those without a record. A call is counted
    /// once, when it ends, and before its record is in ``records``.
    public var counters: Counters { keeper.counters }

    /// Removes all records from memory. The counters stay.
    public func removeAllRecords() { keeper.removeAllRecords() }
}

extension HTTPDNSTrafficMonitor: HTTPDNSObserver, DetailedObserver {
    package var bodyLimit: Int? { keeper.bodyLimit }
    package var lost: [String: Int] { keeper.lost }
    package var recorder: ObjectIdentifier? { keeper.recorder }

    /// Counts a call and stores its record. Clients whose settings name the monitor call it.
    public func callEnded(_ call: HTTPDNSClient.CallRecord) { keeper.callEnded(call) }
}
