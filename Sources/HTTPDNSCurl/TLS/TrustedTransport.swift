// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSPrimitives
internal import Logging

/// A transport for one ``HTTPDNSTrust``: its loop, connections and TLS sessions are never used with other settings.
///
/// When a file behind the settings changes, a new loop takes the new requests. The old one, with its connections and
/// sessions, ends with its transfers in progress. Files that cannot be used change nothing, and cause one warning.
///
/// Files are read on threads of ``SharedRead``, by one at a time. Requests wait for the first reading alone, and for one after a
/// pause; else a check is for later requests.
package final class TrustedTransport: Sendable {
    private struct State {
        var rotation: TrustRotation
        /// The transports by generation.
        var transports: [Int: Transport]
        /// The transport of the newest generation.
        var newest: Transport
        /// The signatures of the newest generation's files; `nil` before they were read.
        var material: Result<TrustMaterial, TransferFailure>?
        /// Whether the newest generation's files were tested.
        var isTested = false
        /// Whether the warning about unchecked certificates was logged.
        var hasWarned = false
        var isClosed = false
    }

    /// The maximum time that a caller of ``reload()`` or ``prepare()`` waits for the files.
    private static let patience = Duration.seconds(30)

    private let configuration: TransportConfiguration
    private let state: Lock<State>
    private let clock: any TimeSource
    /// The checks and readings of the files; each returns its failure.
    private let reads = SharedRead<TransferFailure?>()

    package init(_ configuration: TransportConfiguration, clock: any TimeSource = SystemTimeSource()) {
        var configuration = configuration
        self.clock = clock
        let hasFiles = configuration.trust.verification == .chainAndName || configuration.trust.clientCertificate != nil
        if !hasFiles {
            configuration.trustMaterial = Result { () throws(TransferFailure) in try TrustMaterial(configuration.trust)
            }
        }
        self.configuration = configuration
        let rotation = TrustRotation(hasFiles ? nil : [], at: clock.now())
        // Until the files were read it gets no request.
        let transport = Transport(configuration)
        state = Lock(
            State(
                rotation: rotation,
                transports: [rotation.generation: transport],
                newest: transport,
                material: configuration.trustMaterial
            )
        )
    }

    /// The number of loops: one, further ones once that was busy, and those of older files that still have transfers in
    /// progress.
    package var loops: Int { state.withLock { $0.transports.values.reduce(0) { $0 + $1.startedLoops } } }
    /// The number of the current reading of the files, from 1.
    package var generation: Int { state.withLock { $0.rotation.generation } }

    /// Sends one hop and returns at the head of its response.
    /// - Throws: The errors of ``Transport/execute(_:in:transportSet:)``.
    package func execute(
        _ request: consuming TransferRequest,
        in group: TransferGroup? = nil,
        transportSet: Int = 0
    ) async throws -> TransferResponse {
        try await look(before: request.limits)
        return try await beginOnNewest(consume request, in: group, transportSet: transportSet).response()
    }

    private func beginOnNewest(
        _ request: consuming TransferRequest,
        in group: TransferGroup?,
        transportSet: Int
    ) throws -> TransferInProgress {
        let (generation, transport) = state.withLock { ($0.rotation.begin(), $0.newest) }
        // Once the loop has the transfer, it does not end before it.
        defer { leave(generation) }
        return try transport.begin(consume request, in: group, transportSet: transportSet)
    }

    /// Checks the files now, and waits until changed ones are in use.
    /// - Throws: ``TransferFailure`` with code `trustRootsMissing` or `clientCertificateUnusable` when they cannot be used;
    ///   nothing changes then.
    package func reload() async throws(TransferFailure) {
        try await readNow()
    }

    /// Tests the files before anything is sent, so that errors appear early.
    /// - Throws: ``TransferFailure`` as ``reload()``.
    package func prepare() async throws(TransferFailure) {
        if !state.withLock({ $0.isTested }) { try await readNow() }
    }

    /// Returns the authorities and settings in use, for a proxy whose connections another transport makes.
    /// - Parameter limits: The limits of the request.
    /// - Throws: ``TransferFailure``, `CancellationError`.
    func material(for limits: TransferLimits) async throws -> TrustMaterial {
        try await look(before: limits)
        guard let material = state.withLock({ $0.material }) else { throw TransferFailure.shutDown }
        return try material.get()
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
        reads.abandon(with: TransferFailure.shutDown)
        await withTaskGroup(of: Void.self) { tasks in
            for transport in transports { tasks.addTask { await transport.shutdown(drainingFor: duration) } }
        }
    }

    // MARK: files

    /// Checks the files as far as a request must wait for it.
    // Inlined, because a call of an async function costs more than the check that nearly all requests end with.
    @inline(__always)
    private func look(before limits: TransferLimits) async throws {
        let now = clock.coarseNow()
        let step = state.withLock { $0.rotation.step(at: now) }
        if case .use = step { return }
        try await take(step, at: now, before: limits)
    }

    /// Acts on a step other than `use`, with which ``look(before:)`` ends.
    @inline(never)
    private func take(_ step: TrustRotation.Step, at now: MonotonicTime, before limits: TransferLimits) async throws {
        switch step {
        case .use: return
        case .begin: beginLook()
        case .report: reportHang()
        case .wait(let moment):
            // Before the wait: a request that is canceled or overdue already does not begin one.
            beginLook()
            // The request's own limits are times of the system's clock, and `clock` is another one in tests.
            let end = SystemTimeSource().now() + (moment - now)
            do {
                _ = try await reads.value(until: limits.end(before: end)) { [self] in look() }
            } catch is CancellationError {
                throw CancellationError()
            } catch SharedReadError.noThread {
                endLook()
            } catch {
                // The files in use stay in use.
            }
        case .waitForFirst:
            do {
                let failure = try await reads.value(until: limits.end()) { [self] in read() }.value
                // Any other failure is that of requests that need certificates.
                if let failure, failure.code == .transport { throw failure }
            } catch SharedReadError.overdue {
                throw limits.failure(at: SystemTimeSource().now().nanoseconds) ?? .deadlinePassedBeforeStart(.total)
            } catch SharedReadError.noThread {
                throw TrustedTransport.noThread
            }
        }
    }

    private func beginLook() {
        if !reads.begin({ [self] in look() }) { endLook() }
    }

    private func endLook() {
        let now = clock.now()
        state.withLock { $0.rotation.lookEnded(at: now) }
    }

    private func reportHang() {
        configuration.logger?.warning(
            "the file system of certificates does not answer; previous certificates stay in use",
            metadata: ["trust": "\(configuration.trust)"]
        )
    }

    /// Checks the files for a request. It blocks during the disk access.
    private func look() -> TransferFailure? {
        let failure = read()
        if let failure {
            configuration.logger?.warning(
                "changed certificates cannot be used; previous certificates stay in use",
                metadata: ["reason": "\(failure.message)"]
            )
        }
        return failure
    }

    /// Reads the files for a caller that waits for them, beginning after the call.
    private func readNow() async throws(TransferFailure) {
        do {
            while true {
                let deadline = SystemTimeSource().now() + TrustedTransport.patience
                let (failure, isOwn) = try await reads.value(until: deadline) { [self] in read(evenRefused: true) }
                guard isOwn else { continue }
                if let failure { throw failure }
                return
            }
        } catch let failure as TransferFailure {
            throw failure
        } catch SharedReadError.noThread {
            throw TrustedTransport.noThread
        } catch {
            let reason = error is CancellationError ? "the task was canceled" : "\(error)"
            throw TransferFailure(
                code: .transport,
                phase: .queue,
                message: "the files of certificates were not read: \(reason)"
            )
        }
    }

    /// Compares the files with those in use, and reads changed ones. It blocks during the disk access.
    private func read(evenRefused: Bool = false) -> TransferFailure? {
        defer { endLook() }
        let files = configuration.trust.signatures()
        let (finding, isTested) = state.withLock { ($0.rotation.compare(with: files), $0.isTested) }
        switch finding {
        case .unchanged where isTested || !evenRefused: return nil
        case .refusedBefore where !evenRefused: return nil
        case .first: return replace(with: files, tests: configuration.trust.needsTest, isFirst: true)
        case .unchanged, .refusedBefore, .changed: return replace(with: files, tests: true, isFirst: false)
        }
    }

    private func replace(with files: TrustRotation.Files, tests: Bool, isFirst: Bool) -> TransferFailure? {
        let result = Result { () throws(TransferFailure) in
            let material = try TrustMaterial(configuration.trust)
            if tests { try TrustMaterialCheck.run(material) }
            return material
        }
        switch result {
        case .success:
            // The files changed during the reading: the next check reads them again.
            guard isFirst || configuration.trust.signatures() == files else { return nil }
            if install(result, files, isTested: tests), !isFirst {
                configuration.logger?.info("certificates were read; new connections use them")
            }
            return nil
        case .failure(let failure):
            guard failure.code != .transport else { return failure }
            if isFirst {
                // Requests in clear text need no certificates.
                _ = install(result, files, isTested: false)
            } else {
                state.withLock { $0.rotation.refuse(files) }
            }
            return failure
        }
    }

    /// - Returns: Whether the files are in use now.
    private func install(
        _ material: Result<TrustMaterial, TransferFailure>,
        _ files: TrustRotation.Files,
        isTested: Bool
    ) -> Bool {
        var configuration = configuration
        configuration.trustMaterial = material
        let fresh = Transport(configuration, after: state.withLock { $0.newest })
        let (isInstalled, unused) = state.withLock { state -> (Bool, (Int, Transport)?) in
            guard !state.isClosed else { return (false, nil) }
            let isFirst = state.material == nil
            var before: Int?
            if isFirst { state.rotation.begin(with: files) } else { before = state.rotation.replace(with: files) }
            state.material = material
            state.isTested = isTested
            state.transports[state.rotation.generation] = fresh
            state.newest = fresh
            return (true, before.flatMap { number in state.transports[number].map { (number, $0) } })
        }
        if let (number, transport) = unused { close(transport, number) }
        return isInstalled
    }

    private static let noThread = TransferFailure(
        code: .transport,
        phase: .queue,
        message: "the system refused a thread to read certificates on"
    )

    // MARK: generations

    private func leave(_ generation: Int) {
        let transport = state.withLock { state in
            state.rotation.end(generation) ? state.transports[generation] : nil
        }
        if let transport { close(transport, generation) }
    }

    /// Lets a loop that gets no more requests end with its last transfer.
    private func close(_ transport: Transport, _ generation: Int) {
        guard transport.retire() else { return forget(generation) }
        Task {
            await transport.drain()
            forget(generation)
        }
    }

    /// Removes the transport of a generation, which is released after the lock.
    private func forget(_ generation: Int) {
        _ = state.withLock { $0.transports.removeValue(forKey: generation) }
    }
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

extension TransferLimits {
    /// Returns the end of a wait before the transfer; nil for none.
    fileprivate func end(before moment: MonotonicTime? = nil) -> MonotonicTime? {
        [deadline, headDeadline, moment].compactMap(\.self).min()
    }
}
