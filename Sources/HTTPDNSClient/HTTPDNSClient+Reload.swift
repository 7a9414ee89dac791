public import HTTPDNS

extension HTTPDNSClient {
    /// Turns the stage off and on while the client runs.
    public var killSwitch: KillSwitch { resolver.killSwitch }

    /// Takes other settings while the client runs: all of them or, with a mistake in one, none. The next request goes by
    /// them; transfers in flight finish where they are.
    /// - Returns: From which generation on they hold, and what needs a restart.
    /// - Throws: ``HTTPDNSClientError`` with code `configuration`; then nothing has changed.
    @discardableResult
    public func reload(_ configuration: Configuration) throws -> ReloadResult {
        try configuration.validate()
        do {
            return try resolver.reload(configuration.resolver)
        } catch {
            throw HTTPDNSClientError.configuration("\(error)", underlying: error)
        }
    }
}
