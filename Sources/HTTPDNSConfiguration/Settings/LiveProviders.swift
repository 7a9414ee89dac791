internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// Providers that run, by what the file says of each: one of which it says the same again goes on, with its connections
/// and what is known of its health.
package struct LiveProviders: Sendable {
    private var running: [FileSettings.Provider: any HTTPDNSProvider] = [:]

    package init() {}

    /// The provider that runs for these settings in `others`, or a new one; it is among these then.
    mutating func take(
        _ settings: FileSettings.Provider,
        from others: LiveProviders
    ) throws(HTTPDNSProviderConfigurationError) -> any HTTPDNSProvider {
        let key = LiveProviders.key(settings)
        let provider: any HTTPDNSProvider
        if let known = others.running[key] { provider = known } else { provider = try settings.live() }
        running[key] = provider
        return provider
    }

    /// Ends those that are not among `others`, in the background.
    func end(except others: LiveProviders) {
        let unused = running.filter { others.running[$0.key] == nil }.values
        guard !unused.isEmpty else { return }
        Task { for provider in unused { await provider.shutdown() } }
    }

    /// Where a provider stands in the file, and how much it may be asked, does not make another one of it.
    private static func key(_ settings: FileSettings.Provider) -> FileSettings.Provider {
        var key = settings
        key.position = Position(line: 0, column: 0)
        key.limits = nil
        return key
    }
}
