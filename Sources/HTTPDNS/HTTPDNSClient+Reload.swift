public import HTTPDNSCore
internal import HTTPDNSPrimitives
internal import Logging

extension HTTPDNSClient {
    /// Turns the stage off and on while the client runs. A turn also ends the use of all connections that are open: the next
    /// requests dial anew, and transfers in flight end where they are.
    public var killSwitch: HTTPDNSResolver.KillSwitch { resolver.killSwitch }

    /// Whether it reads its file again at SIGHUP, so that nothing else needs to.
    package var takesHangUp: Bool { initial.source != nil && initial.reloadsOnHangUp }

    /// Takes other settings while the client runs: all of them or, with a mistake in one, none. The next request goes by
    /// them; transfers in flight finish where they are. For a request all of them change in one step: one that is not sent
    /// yet when a reload overtakes it is made again by the new ones, behind its interceptors.
    ///
    /// Live is what is live for the resolver (`HTTPDNSResolver.reload(_:)`), and besides ``Configuration/isEnabled``,
    /// ``Configuration/trust``, ``Configuration/trustByHost``, ``Configuration/timeouts``, ``Configuration/versions``,
    /// ``Configuration/headers``, ``Configuration/redirects``, ``Configuration/retries`` and
    /// ``Configuration/maximumResponseBody``. Interceptors, the hook of redirects and who computes headers are those that the
    /// client was made with.
    ///
    /// **Trust settings** are tried before anything is taken: their files are read on a thread of its own. Requests that
    /// begin when this has returned go by the new ones, on connections of their own where these differ from those before; no
    /// connection and no TLS session of other settings serves them. The loops of the settings before end with the last
    /// request in flight there, if no other client of the transport has the same. HTTPS proxies are believed by the new ones
    /// too; providers have trust settings of their own.
    ///
    /// Reloads are made one after the other, in the order in which they were asked for. A client that follows a file goes on
    /// following it: settings in which `configuration` differs from what the file says now stay as `configuration` has them,
    /// and the others change with the file.
    /// - Returns: From which generation on they hold, and what needs a restart. Trust, time limits, versions, headers,
    ///   redirects, retries and the limit of bodies are no part of the generation.
    /// - Throws: ``HTTPDNSClientError`` with code `configuration`, also for a CA file or a client certificate that cannot be
    ///   used; `limitReached` when the transport has as many different trust settings as it may; `shutDown`. Nothing has
    ///   changed then.
    @discardableResult
    public func reload(_ configuration: Configuration) async throws -> HTTPDNSResolver.ReloadResult {
        try configuration.validate()
        await reloading.begin()
        defer { reloading.end() }
        let result = try await apply(configuration)
        watch.withLock { $0 }?.rebase(on: configuration)
        return result
    }

    /// Takes the settings that a source has now. They are made when it is their turn, so that they go by the reload before.
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
        let ways = try await lane?.prepare(configuration)
        var (isPlaced, isChanged, isAdopted) = (false, false, true)
        func place() {
            isPlaced = true
            isChanged = pipeline.reload(configuration)
            guard let lane, let ways else { return }
            isAdopted = lane.exchange(ways)
            isChanged = true
        }
        var result: HTTPDNSResolver.ReloadResult
        do {
            result = try resolver.reload(configuration.resolverSettings, isEnabled: configuration.isEnabled) {
                install in
                pipeline.exchangeSettings { if install() { place() } }
            }
        } catch {
            if let ways { await lane?.abandon(ways) }
            if pipeline.gate.isClosed { throw HTTPDNSClientError.shutDown }
            throw HTTPDNSClientError.configuration("\(error)", underlying: error)
        }
        if !isPlaced { pipeline.exchangeSettings { place() } }
        if let ways, !isAdopted {
            await lane?.abandon(ways)
            throw HTTPDNSClientError.shutDown
        }
        // No address is warm by other trust settings.
        if ways != nil { pipeline.choice.forgetHeld() }
        if isChanged { result.isChanged = true }
        result.needsRestart = Set(result.needsRestart + differencesThatNeedARestart(from: configuration)).sorted()
        return result
    }

    /// The settings that differ from those at the beginning and are not live, by name.
    private func differencesThatNeedARestart(from configuration: Configuration) -> [String] {
        var names: [String] = []
        if configuration.connections != initial.connections { names.append("client.connections") }
        if configuration.maximumRequestsInFlight != initial.maximumRequestsInFlight {
            names.append("maximumRequestsInFlight")
        }
        if configuration.maximumIdleConnections != initial.maximumIdleConnections {
            names.append("client.connections.max_idle")
        }
        if configuration.proxy != initial.proxy { names.append("client.proxy") }
        if configuration.unixSocket != initial.unixSocket { names.append("client.unix_socket") }
        if configuration.localSource != initial.localSource { names.append("client.interface") }
        return names
    }
}
