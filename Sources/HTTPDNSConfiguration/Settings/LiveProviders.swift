internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// The running providers, by their settings in the file. A provider with unchanged settings continues, with its connections and
/// its health.
package struct LiveProviders: Sendable {
    private var running: [FileSettings.Provider: any HTTPDNSProvider] = [:]

    package init() {}

    /// Returns the provider in `others` that runs with these settings, or a new one, and adds it here.
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

    /// Shuts down those that are not in `others`, in the background.
    func end(except others: LiveProviders) {
        let unused = running.filter { others.running[$0.key] == nil }.values
        guard !unused.isEmpty else { return }
        Task { for provider in unused { await provider.shutdown() } }
    }

    /// Returns the key of a provider: its settings without its position in the file and its query limits, which do not affect
    /// its identity.
    private static func key(_ settings: FileSettings.Provider) -> FileSettings.Provider {
        var key = settings
        key.position = Position(line: 0, column: 0)
        key.limits = nil
        return key
    }
}
