// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSCore
internal import HTTPDNSPrimitives
internal import Logging

extension HTTPDNSClient {
    /// The switch that turns the rewriter off and on while the client runs. Each change also retires all open
    /// connections: the next requests connect again, and transfers in flight finish on their connections.
    public var killSwitch: HTTPDNSResolver.KillSwitch { resolver.killSwitch }

    /// Whether the client reads its file again at SIGHUP, so that nothing else has to.
    package var takesHangUp: Bool { initial.source != nil && initial.reloadsOnHangUp }

    /// Replaces the settings while the client runs: all of them or, when one is invalid, none. The next request uses
    /// them; transfers in flight finish on their connections. For a request all settings change in one step. When a
    /// reload overtakes a request that is not sent yet, the request is prepared again with the new ones, after its
    /// interceptors; its call keeps its ``Options``.
    ///
    /// Live settings are those that are live for the resolver (`HTTPDNSResolver.reload(_:)`), and also
    /// ``Configuration/isEnabled``, ``Configuration/trust``, ``Configuration/trustByHost``, ``Options/timeouts``,
    /// ``Options/versions``, ``Configuration/headers``, ``Configuration/credentials``,
    /// ``Options/allowsCleartextCredentials``, ``Options/redirects``, ``Options/retries``, ``Configuration/retryBudget``, ``Options/mergesIdenticalReads``, ``Options/maximumResponseBody`` and
    /// ``Options/reachableNetworks``. Interceptors, the redirect hook and the closure that computes headers stay those
    /// that the client was made with.
    ///
    /// **Trust settings** are checked before anything is applied: their files are read on a separate thread. Requests
    /// that begin after this call returned use the new ones. Where these differ from the previous ones, the requests
    /// get new connections; no connection and no TLS session of other settings serves them. The previous loops end with
    /// their last request in flight, if no other client of the transport has the same settings. HTTPS proxies are
    /// verified with the new settings too; providers have trust settings of their own.
    ///
    /// Reloads are applied one after the other, in the order of the calls. A client that follows a file continues to
    /// follow it. Settings in which `configuration` differs from the current file keep the value of `configuration`;
    /// the others change with the file.
    /// - Returns: The generation from which the settings are in force, and the settings that need a restart. Trust,
    ///   time limits, versions, headers, redirects, retries and the limit of bodies are not part of the generation.
    /// - Throws: ``HTTPDNSClientError`` with code `configuration`, also for a CA file or a client certificate that
    ///   cannot be used; `limitReached` when the transport already has its maximum of different trust settings;
    ///   `shutDown`. Nothing has changed then.
    @discardableResult
    public func reload(_ configuration: Configuration) async throws -> HTTPDNSResolver.ReloadResult {
        try configuration.validate()
        await reloading.begin()
        defer { reloading.end() }
        let result = try await apply(configuration)
        watch.withLock { $0 }?.rebase(on: configuration)
        return result
    }

    /// Applies the current settings of a source. They are computed when their turn comes, so that they include the
    /// previous reload.
    func renew(_ settings: @Sendable () -> Configuration, _ didApply: @Sendable () -> Void) async throws
        -> HTTPDNSResolver.ReloadResult
    {
        await reloading.begin()
        defer { reloading.end() }
        let configuration = settings()
        try configuration.validate()
        let result = try await apply(configuration)
        didApply()
        return result
    }

    private func apply(_ configuration: Configuration) async throws -> HTTPDNSResolver.ReloadResult {
        if pipeline.gate.isClosed { throw HTTPDNSClientError.shutDown }
        if sender is TransportAdapter { try TransportAdapter.check(configuration) }
        let table = try await clientTransport?.prepare(configuration)
        var (isPlaced, isChanged, isAdopted) = (false, false, true)
        func place() {
            isPlaced = true
            isChanged = pipeline.reload(configuration)
            guard let clientTransport, let table else { return }
            isAdopted = clientTransport.exchange(table)
            isChanged = true
        }
        var result: HTTPDNSResolver.ReloadResult
        do {
            result = try resolver.reload(configuration.resolverSettings, isEnabled: configuration.isEnabled) {
                install in
                pipeline.exchangeSettings { if install() { place() } }
            }
        } catch {
            if let table { await clientTransport?.abandon(table) }
            if pipeline.gate.isClosed { throw HTTPDNSClientError.shutDown }
            throw HTTPDNSClientError.configuration("\(error)", underlying: error)
        }
        if !isPlaced { pipeline.exchangeSettings { place() } }
        if let table, !isAdopted {
            await clientTransport?.abandon(table)
            throw HTTPDNSClientError.shutDown
        }
        // No address is warm under other trust settings.
        if table != nil { pipeline.choice.forgetHeld() }
        if isChanged { result.isChanged = true }
        result.needsRestart = Set(result.needsRestart + differencesThatNeedARestart(from: configuration)).sorted()
        return result
    }

    /// The names of the settings that differ from the initial ones and are not live.
    private func differencesThatNeedARestart(from configuration: Configuration) -> [String] {
        var names: [String] = []
        if configuration.connections != initial.connections { names.append("client.connections") }
        if configuration.maximumRequestsInFlight != initial.maximumRequestsInFlight {
            names.append("maximumRequestsInFlight")
        }
        if configuration.proxy != initial.proxy { names.append("client.proxy") }
        if configuration.cookies != initial.cookies { names.append("client.cookies") }
        if !configuration.responseCaching.isSame(as: initial.responseCaching) { names.append("client.response_cache") }
        if configuration.unixSocket != initial.unixSocket { names.append("client.unix_socket") }
        if configuration.bandwidth != initial.bandwidth { names.append("client.bandwidth") }
        if configuration.localSource != initial.localSource { names.append("client.local_source") }
        return names
    }
}

extension HTTPDNSClient {
    /// The results of reloading: the last success, and the error that keeps the present file from being used. Cheap
    /// enough to read every second.
    public var reloads: HTTPDNSClient.ReloadStatus { watch.withLock { $0 }?.status ?? HTTPDNSClient.ReloadStatus() }

    /// Reads the file of the settings again, and applies all of it or, after an error, nothing.
    ///
    /// Changes of the file are noticed without this call; it returns the result. Values that code changed after the
    /// file was read keep the code's value.
    /// - Returns: The generation from which the settings are in force, and the settings that need a restart.
    /// - Throws: ``HTTPDNSClientError`` with code `configuration` when the file cannot be used or the settings came
    ///   from no file, with code `shutDown` after ``shutdown(drainingFor:)``; `CancellationError`. Nothing has changed
    ///   then.
    @discardableResult
    public func reload() async throws -> HTTPDNSResolver.ReloadResult {
        guard let watch = watch.withLock({ $0 }) else {
            throw HTTPDNSClientError.configuration(
                "the settings of this client came from no file",
                hint: "give new ones to reload(_:)"
            )
        }
        do {
            return try await watch.reload()
        } catch is ConfigurationWatchEnded {
            throw HTTPDNSClientError.shutDown
        } catch let error where !(error is HTTPDNSClientError || error is CancellationError) {
            throw HTTPDNSClientError.configuration("\(error)", underlying: error)
        }
    }

    /// Starts watching the source of the settings, if there is one.
    func startWatching(_ configuration: Configuration) {
        guard let source = configuration.source else { return }
        let watch = source.watch(for: configuration) { [weak self] settings, didApply in
            guard let self else { throw ConfigurationWatchEnded() }
            return try await self.renew(settings, didApply)
        }
        self.watch.withLock { $0 = watch }
    }
}

/// A serial queue of reloads, in the order of arrival, so that the last reload determines every setting.
final class ReloadSerializer: Sendable {
    private struct State {
        var isTaken = false
        var waiting: [OneShot<Void>] = []
    }

    private let state = Lock(State())

    /// The number of reloads that wait for the current one.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Waits for the caller's turn, which ``end()`` ends.
    func begin() async {
        let turn = state.withLock { state -> OneShot<Void>? in
            defer { state.isTaken = true }
            guard state.isTaken else { return nil }
            let turn = OneShot<Void>()
            state.waiting.append(turn)
            return turn
        }
        await turn?.value()
    }

    func end() {
        let next = state.withLock { state -> OneShot<Void>? in
            // The turn is passed on directly: no other reload gets in between.
            if !state.waiting.isEmpty { return state.waiting.removeFirst() }
            state.isTaken = false
            return nil
        }
        next?.deliver()
    }
}
