internal import CurlTransport
public import HTTPDNS
internal import HTTPDNSPrimitives
internal import Logging

extension HTTPDNSClient {
    /// Turns the stage off and on while the client runs. A turn also ends the use of all connections that are open: the next
    /// requests dial anew, and transfers in flight end where they are.
    public var killSwitch: KillSwitch { resolver.killSwitch }

    /// Whether it reads its file again at SIGHUP, so that nothing else needs to.
    package var takesHangUp: Bool { initial.source != nil && initial.reloadsOnHangUp }

    /// Takes other settings while the client runs: all of them or, with a mistake in one, none. The next request goes by
    /// them; transfers in flight finish where they are.
    ///
    /// Live is what is live for the resolver (`Resolver.reload(_:)`), and besides ``Configuration/isEnabled``,
    /// ``Configuration/timeouts``, ``Configuration/versions``, ``Configuration/headers``, ``Configuration/redirects``,
    /// ``Configuration/retries`` and ``Configuration/maximumResponseBody``. Interceptors, the hook of redirects and who computes
    /// headers are those that the client was made with.
    /// - Returns: From which generation on they hold, and what needs a restart. Time limits, versions, headers, redirects,
    ///   retries and the limit of bodies are no part of the generation.
    /// - Throws: ``HTTPDNSClientError`` with code `configuration`; then nothing has changed.
    @discardableResult
    public func reload(_ configuration: Configuration) throws -> ReloadResult {
        try configuration.validate()
        var result: ReloadResult
        do {
            result = try resolver.reload(configuration.resolver, isEnabled: configuration.isEnabled)
        } catch {
            throw HTTPDNSClientError.configuration("\(error)", underlying: error)
        }
        if pipeline.reload(configuration) { result.isChanged = true }
        var needsRestart = result.needsRestart
        if configuration.trustRoots != initial.trustRoots { needsRestart.append("client.ca_file") }
        var trust = configuration.trust
        trust.roots = initial.trust.roots
        if trust != initial.trust { needsRestart.append("client.trust") }
        if configuration.trustByHost != initial.trustByHost { needsRestart.append("client.trust_by_host") }
        if configuration.connections != initial.connections { needsRestart.append("client.connections") }
        if configuration.maximumRequestsInFlight != initial.maximumRequestsInFlight {
            needsRestart.append("maximumRequestsInFlight")
        }
        if configuration.maximumIdleConnections != initial.maximumIdleConnections {
            needsRestart.append("client.connections.max_idle")
        }
        if configuration.proxy != initial.proxy { needsRestart.append("client.proxy") }
        if configuration.unixSocket != initial.unixSocket { needsRestart.append("client.unix_socket") }
        if configuration.localSource != initial.localSource { needsRestart.append("client.interface") }
        result.needsRestart = Set(needsRestart).sorted()
        return result
    }
}
