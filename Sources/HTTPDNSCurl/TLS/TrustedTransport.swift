// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSPrimitives
internal import Logging

/// A transport for one ``HTTPDNSTrust``: its loop, connections and TLS sessions are never used with other settings.
///
/// When a file behind the settings changes, a new loop takes the new requests. The old one, with its connections and
/// sessions, ends with its transfers in progress. Files that cannot be used change nothing, and cause one warning.
package final class TrustedTransport: Sendable {
    private struct State {
        var rotation: TrustRotation
        /// The transports by generation.
        var transports: [Int: Transport]
        /// The transport of the newest generation.
        var newest: Transport
        /// Whether the newest generation's files were tested.
        var isPrepared = false
        /// Whether the warning about unchecked certificates was logged.
        var hasWarned = false
        var isClosed = false
    }

    private let configuration: TransportConfiguration
    private let state: Lock<State>
    private let clock: any TimeSource

    package init(_ configuration: TransportConfiguration, clock: any TimeSource = SystemTimeSource()) {
        self.configuration = configuration
        self.clock = clock
        let rotation = TrustRotation(configuration.trust.signatures(), at: clock.now())
        let transport = Transport(configuration)
        state = Lock(State(rotation: rotation, transports: [rotation.generation: transport], newest: transport))
    }

    /// The number of loops: one, further ones once that was busy, and those of older files that still have transfers in
    /// progress.
    package var loops: Int { state.withLock { $0.transports.values.reduce(0) { $0 + $1.startedLoops } } }
    /// The number of the current reading of the files, from 1.
    package var generation: Int { state.withLock { $0.rotation.generation } }

    /// Sends one hop and returns at the head of its response.
    /// - Throws: The errors of ``Transport/execute(_:in:cohort:)``.
    package func execute(
        _ request: consuming TransferRequest,
        in group: TransferGroup? = nil,
        cohort: Int = 0
    ) async throws -> TransferResponse {
        let now = clock.now()
        if state.withLock({ $0.rotation.shouldLook(at: now) }) { await look() }
        return try await beginOnNewest(consume request, in: group, cohort: cohort).response()
    }

    /// Hands one hop to the loop, without waiting. Its caller must call ``TransferInProgress/response()`` once.
    /// - Throws: ``HopMustWait`` when the files must be checked first; the errors of ``execute(_:in:cohort:)`` for a hop
    ///   that cannot begin.
    package func begin(
        _ request: consuming TransferRequest,
        in group: TransferGroup? = nil,
        cohort: Int = 0
    ) throws -> TransferInProgress {
        let now = clock.coarseNow()
        if state.withLock({ $0.rotation.isLookDue(at: now) }) { throw HopMustWait(request: consume request) }
        return try beginOnNewest(consume request, in: group, cohort: cohort)
    }

    private func beginOnNewest(
        _ request: consuming TransferRequest,
        in group: TransferGroup?,
        cohort: Int
    ) throws -> TransferInProgress {
        let (generation, transport) = state.withLock { ($0.rotation.begin(), $0.newest) }
        // Once the loop has the transfer, it does not end before it.
        defer { leave(generation) }
        return try transport.begin(consume request, in: group, cohort: cohort)
    }

    /// Checks the files now, and waits until changed ones are in use.
    /// - Throws: ``TransferFailure`` with code `trustRootsMissing` or `clientCertificateUnusable` when they cannot be used;
    ///   nothing changes then.
    package func reload() async throws(TransferFailure) {
        try await adopt(evenRefused: true)
    }

    /// Tests the files before anything is sent, so that errors appear early.
    /// - Throws: ``TransferFailure`` as ``reload()``.
    package func prepare() async throws(TransferFailure) {
        if state.withLock({ $0.isPrepared }) { return }
        _ = try await replace(
            with: TrustedTransport.onThread { [trust = configuration.trust] in trust.signatures() }
        )
    }

    /// Notes that requests use these settings from now on, and logs the warning about unchecked certificates once. A mere
    /// test of settings does not call this: its warning would be about settings that are not in use.
    package func noteTaken() {
        guard configuration.trust.verification == .insecurelyAcceptingAnyCertificate else { return }
        let isFirst = state.withLock { state in
            defer { state.hasWarned = true }
            return !state.hasWarned
        }
        guard isFirst else { return }
        configuration.logger?.warning(
            "certificates are not checked; any server is accepted",
            metadata: ["setting": "insecurelyAcceptingAnyCertificate"]
        )
    }

    /// Excludes existing connections from later transfers; see ``Transport/retireConnections()``.
    package func retireConnections() {
        for transport in state.withLock({ Array($0.transports.values) }) { transport.retireConnections() }
    }

    /// Excludes the existing connections of one host.
    package func retireConnections(host: String) {
        for transport in state.withLock({ Array($0.transports.values) }) { transport.retireConnections(host: host) }
    }

    /// The records of endpoints from connecting to them with the current files.
    package var endpointRecords: [HTTPDNSTransfer.EndpointRecord] {
        state.withLock { $0.transports[$0.rotation.generation] }?.endpointRecords ?? []
    }

    /// The open connections, including those made with older files: the largest pools first.
    package var connectionPools: [HTTPDNSTransfer.ConnectionPool] {
        state.withLock { Array($0.transports.values) }.flatMap(\.connectionPools).merged()
    }

    /// Refuses new transfers, lets those in progress end for `duration`, cancels the rest, and stops the threads. Idempotent.
    package func shutdown(drainingFor duration: Duration = .zero) async {
        let transports = state.withLock { state in
            state.isClosed = true
            return Array(state.transports.values)
        }
        await withTaskGroup(of: Void.self) { tasks in
            for transport in transports { tasks.addTask { await transport.shutdown(drainingFor: duration) } }
        }
    }

    // MARK: files

    private func look() async {
        do throws(TransferFailure) {
            try await adopt(evenRefused: false)
        } catch {
            configuration.logger?.warning(
                "changed certificates cannot be used; previous certificates stay in use",
                metadata: ["reason": "\(error.message)"]
            )
        }
    }

    private func adopt(evenRefused: Bool) async throws(TransferFailure) {
        // No task waits for a disk on a thread of the runtime: a hanging one (NFS) would block the thread.
        let files = try await TrustedTransport.onThread { [trust = configuration.trust] in trust.signatures() }
        switch state.withLock({ $0.rotation.compare(with: files) }) {
        case .unchanged: return
        case .refusedBefore where !evenRefused: return
        case .refusedBefore, .changed:
            guard try await replace(with: files) else { return }
            configuration.logger?.info("certificates were read; new connections use them")
        }
    }

    /// - Returns: Whether they are in use now, and were not before.
    private func replace(with files: TrustRotation.Files) async throws(TransferFailure) -> Bool {
        let (result, isSettled) = try await TrustedTransport.onThread { [trust = configuration.trust] in
            let result = Result { () throws(TransferFailure) in
                let material = try TrustMaterial(trust, isWatched: true)
                try TrustMaterialCheck.run(material)
                return material
            }
            return (result, trust.signatures() == files)
        }
        switch result {
        case .success(let material):
            // The files changed during the reading: the next check reads them again.
            return isSettled && install(material, files)
        case .failure(let failure):
            if failure.code != .transport { state.withLock { $0.rotation.refuse(files) } }
            throw failure
        }
    }

    private func install(_ material: TrustMaterial, _ files: TrustRotation.Files) -> Bool {
        var configuration = configuration
        configuration.trustMaterial = material
        let fresh = Transport(configuration)
        let (isInstalled, unused) = state.withLock { state -> (Bool, (Int, Transport)?) in
            // Another task may have installed these files or newer ones meanwhile.
            let isOld = state.isPrepared && state.rotation.compare(with: files) == .unchanged
            guard !state.isClosed, !isOld else { return (false, nil) }
            state.isPrepared = true
            let before = state.rotation.replace(with: files)
            state.transports[state.rotation.generation] = fresh
            state.newest = fresh
            return (true, before.flatMap { number in state.transports[number].map { (number, $0) } })
        }
        guard isInstalled else { return false }
        if let (number, transport) = unused { close(transport, number) }
        return true
    }

    /// Runs blocking work on a separate thread.
    /// - Throws: ``TransferFailure`` with code `transport` when the system creates no thread.
    private static func onThread<Value: Sendable>(
        _ work: @escaping @Sendable () -> Value
    ) async throws(TransferFailure) -> Value {
        let value: Value? = await withUnsafeContinuation { continuation in
            let hasThread = LoopThread.start(named: "httpdns-trust") { continuation.resume(returning: work()) }
            if !hasThread { continuation.resume(returning: nil) }
        }
        if let value { return value }
        throw TransferFailure(
            code: .transport,
            phase: .queue,
            message: "the system refused a thread to read certificates on"
        )
    }

    // MARK: generations

    private func leave(_ generation: Int) {
        let transport = state.withLock { state in
            state.rotation.end(generation) ? state.transports[generation] : nil
        }
        if let transport { close(transport, generation) }
    }

    /// Lets a loop that gets no more requests end with its last transfer.
    private func close(_ transport: Transport, _ generation: Int) {
        guard transport.retire() else { return state.withLock { $0.transports[generation] = nil } }
        Task {
            await transport.drain()
            state.withLock { $0.transports[generation] = nil }
        }
    }
}

/// The error of a hop that must wait before it begins. Nothing of it was sent.
package struct HopMustWait: Error {
    package let request: TransferRequest

    package init(request: consuming TransferRequest) { self.request = request }
}

extension HTTPDNSTrust {
    /// Returns the signatures of the files at the paths.
    func signatures() -> TrustRotation.Files {
        var paths: [String] = []
        if verification == .chainAndName, let path = try? CertificateBundle.path(for: roots) { paths.append(path) }
        if let own = clientCertificate {
            paths.append(own.certificateFile)
            if let path = own.keyFile { paths.append(path) }
            if case .file(let path) = own.keyPassword?.place { paths.append(path) }
        }
        return paths.map { FileSignature($0) }
    }
}
