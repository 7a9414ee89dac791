package import HTTPDNS
package import HTTPDNSClient
package import HTTPDNSPrimitives

/// What a configuration file says, as values. Nothing runs yet: see ``clientConfiguration(file:)``.
package struct FileSettings: Sendable {
    package var providers: [Provider] = []
    package var routes: [Route] = []
    package var mappings: [MappingKey: HostMapping] = [:]
    package var policy = AddressPolicy()
    package var cache = ResolverConfiguration.Cache()
    package var timeouts = HTTPDNSClient.Configuration.Timeouts()
    package var certificateFile: String?
    package var maximumIdleConnections: Int?
    package var versions: HTTPVersionChoice = .automatic
    package var maximumResponseBody: ByteCount?

    package init() {}

    /// The settings with live providers.
    /// - Throws: ``ConfigurationFileError`` for what only the parts themselves can tell: a provider that cannot be made.
    package func clientConfiguration(file: String) throws(ConfigurationFileError) -> HTTPDNSClient.Configuration {
        var mistakes = MistakeList(file: file)
        var configuration = HTTPDNSClient.Configuration()
        for provider in providers {
            do {
                configuration.resolver.providers.append(try provider.live())
            } catch {
                mistakes.add("providers[\"\(provider.name)\"]: \(error.message)", at: provider.position)
            }
        }
        if let error = mistakes.error { throw error }
        configuration.resolver.routes = routes
        configuration.resolver.mappings = mappings
        configuration.resolver.policy = policy
        configuration.resolver.cache = cache
        configuration.trustRoots = certificateFile.map(TrustRoots.file) ?? .system
        configuration.timeouts = timeouts
        configuration.maximumResponseBody = maximumResponseBody
        configuration.versions = versions
        if let maximumIdleConnections { configuration.maximumIdleConnections = maximumIdleConnections }
        return configuration
    }
}
