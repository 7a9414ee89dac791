// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
internal import Synchronization

/// The state that the loops of one transport share: all that is known of endpoints does not depend on the loop of a request.
final class SharedLoopState: Sendable {
    private struct LoopOrigin: Hashable {
        var origin: RaceOrigin
        var loop: Int
    }

    private struct FailureHandler {
        var handle: (@Sendable (_ loop: Int, _ isStarted: Bool) -> Void)?
    }

    /// The number of loops.
    let count: Int
    /// The records of endpoints; the loops write them, any thread reads them.
    let endpoints: Lock<EndpointTable>
    /// The schedule of connections without a request; `nil` for none. Each endpoint is probed by the first loop that is awake
    /// when it is due.
    let probing: Lock<ProbeSchedule?>
    /// Whether there is one.
    let isProbing: Bool
    /// The names of pins.
    let names = SharedPinNames()
    /// The activity of each loop.
    let loads: [LoopLoad]
    private let hedges = Atomic<Int>(0)
    private let failureHandler = Lock(FailureHandler())
    private let trust = Lock<Result<TrustMaterial, TransferFailure>?>(nil)
    /// The number of open connections by origin and loop.
    private let connections = Lock<[LoopOrigin: Int]>([:])

    /// - Parameter predecessor: The state of the transport before a change of certificates. What is known of endpoints does not
    ///   depend on those, apart from the results of TLS.
    init(_ configuration: TransportConfiguration, after predecessor: SharedLoopState? = nil) {
        endpoints = Lock(predecessor?.endpoints.withLock { $0 }.withoutTLSResults() ?? EndpointTable())
        count = max(1, configuration.loops)
        probing = Lock(configuration.activeProbing.map { ProbeSchedule($0) })
        isProbing = configuration.activeProbing != nil
        loads = (0..<max(1, configuration.loops)).map { _ in LoopLoad() }
    }

    /// The number of requests that were sent once more and have no response yet, on all loops.
    var hedgesRunning: Int { hedges.load(ordering: .relaxed) }
    func countHedges(_ more: Int) { hedges.wrappingAdd(more, ordering: .relaxed) }

    /// The number of transfers in progress on all loops.
    var transfers: Int { loads.reduce(0) { $0 + $1.transfers } }

    /// Returns the number of connections that no transfer uses, on all other loops.
    func idleConnections(besides loop: Int) -> Int {
        loads.indices.reduce(0) { $0 + ($1 == loop ? 0 : loads[$1].idleConnections) }
    }

    /// Sets the function that is called with a loop that cannot serve at present, and whether its thread runs.
    func onFailure(_ handler: @escaping @Sendable (_ loop: Int, _ isStarted: Bool) -> Void) {
        failureHandler.withLock { $0.handle = handler }
    }

    /// Notes that a loop cannot serve at present.
    func loopFailed(_ loop: Int, isStarted: Bool) {
        guard count > 1 else { return }
        failureHandler.withLock { $0 }.handle?(loop, isStarted)
    }

    /// Returns the trust material, which is read once for all loops. It may block during the disk access.
    func trust(of configuration: TransportConfiguration) -> Result<TrustMaterial, TransferFailure> {
        if let material = configuration.trustMaterial { return material }
        return trust.withLock { trust in
            if let trust { return trust }
            let read = Result { () throws(TransferFailure) in try TrustMaterial(configuration.trust) }
            trust = read
            return read
        }
    }

    // MARK: connections

    /// Notes that a loop opened or closed a connection.
    func countConnection(of key: PinKey, on loop: Int, _ more: Int) {
        guard count > 1 else { return }
        let place = LoopOrigin(origin: RaceOrigin(host: key.host, port: key.port), loop: loop)
        connections.withLock { connections in
            let number = (connections[place] ?? 0) + more
            connections[place] = number > 0 ? number : nil
        }
    }

    func hasConnection(to origin: RaceOrigin, on loop: Int) -> Bool {
        connections.withLock { $0[LoopOrigin(origin: origin, loop: loop)] != nil }
    }

    /// Returns whether another loop has a connection to an origin.
    func hasConnection(to origin: RaceOrigin, besides loop: Int) -> Bool {
        loads.indices.contains { $0 != loop && hasConnection(to: origin, on: $0) }
    }
}
