// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import Foundation
internal import HTTPDNS
internal import HTTPDNSConfiguration

/// The settings of the client from the common options.
struct ClientSettings: Sendable {
    var configuration: HTTPDNSClient.Configuration
    /// The kinds of the providers by their names: `doh`, `json`.
    var providerKinds: [String: String] = [:]
    /// Whether anything but the system resolver can answer.
    private(set) var hasSources = false
    var notes: [String] = []
    var readsFile = false

    init(_ options: CommonOptions, environment: [String: String]) throws {
        try TrustFlag.apply(options.certificateAuthorityFile)
        let file = try Self.file(options, environment: environment)
        configuration = try file.map { path in try HTTPDNSConfigurationFile.load(path) } ?? .init()
        readsFile = file != nil
        if let path = options.certificateAuthorityFile { configuration.trustOnly(path) }
        configuration.resolver.mappings = try MapArgument.apply(options.maps, to: configuration.resolver.mappings)
        configuration.resolver.policy.allowed += try Self.blocks(options.allowedBlocks)
        if let family = options.family { configuration.resolver.families = family.families }
        let providers = try FlagProviders(options, taken: Set(configuration.resolver.providers.map(\.name)))
        providers.apply(to: &configuration.resolver)
        if options.usesSystemFallback { addSystemFallback() }
        for provider in configuration.resolver.providers where provider.kind != "provider" {
            providerKinds[provider.name] = provider.kind
        }
        hasSources = readsFile || !options.maps.isEmpty || !providers.isEmpty
    }

    /// Returns the remarks on answers of the system resolver, which may be unintended: the system resolver is the default, and
    /// the program says so.
    func remarks(on resolutions: [HTTPDNSResolver.Resolution], records: [RecordReport.Row] = []) -> [String] {
        guard
            resolutions.contains(where: { $0.source == .system })
                || records.contains(where: { $0.provider == ServerArgument.systemName })
        else { return [] }
        if !configuration.isEnabled {
            return ["the configuration says enabled: false, so the system resolver answers for every name"]
        }
        return hasSources
            ? [] : ["no mapping and no provider is set, so the system resolver answered (\(Self.sourcesHint))"]
    }

    /// Returns the failure with advice for a run without mappings and providers.
    func advised(_ failure: CommandFailure) -> CommandFailure {
        guard !hasSources, failure.code == "\(HTTPDNSClientError.Code.resolveFailed)" else { return failure }
        var advised = failure
        advised.hint = "no mapping and no provider is set: \(Self.sourcesHint)"
        return advised
    }

    private static let sourcesHint = "--public asks public HTTP-DNS; or --doh URL, --map HOST=ADDRESS, --config FILE"

    /// Adds a mapping of an option. It wins over the rule with the same key, and one without a port over all rules of its name.
    mutating func map(_ key: HTTPDNSMapping.Key, to mapping: HTTPDNSMapping) {
        if key.port == nil {
            configuration.resolver.mappings = configuration.resolver.mappings.filter { $0.key.pattern != key.pattern }
        }
        configuration.resolver.mappings[key] = mapping
        hasSources = true
    }

    /// Returns the change of options for each request: `--family` also wins over a route's own families.
    func requestOptions(_ options: CommonOptions) -> HTTPDNSClient.Request.Options.Change? {
        guard let families = options.family?.families else { return nil }
        return { $0.families = families }
    }

    private static func file(_ options: CommonOptions, environment: [String: String]) throws(CommandFailure) -> String?
    {
        if let file = options.configurationFile {
            guard !file.isEmpty else { throw .usage("--config has no value", hint: "give --config FILE") }
            return file
        }
        return environment["HTTPDNS_CONFIG"].flatMap { $0.isEmpty ? nil : $0 }
    }

    private static func blocks(_ texts: [String]) throws(CommandFailure) -> [HTTPDNSAddressBlock] {
        try texts.map { text throws(CommandFailure) in
            guard let block = HTTPDNSAddressBlock(text) else {
                throw .usage(
                    "--allow \"\(text)\" is not an address or a CIDR block",
                    hint: "such as 192.0.2.7, 10.0.0.0/8 or 2001:db8::/32; the bits after the prefix must be zero"
                )
            }
            return block
        }
    }

    private mutating func addSystemFallback() {
        for index in configuration.resolver.routes.indices {
            guard case .providers(let names, fallback: _) = configuration.resolver.routes[index].action else {
                continue
            }
            configuration.resolver.routes[index].action = .providers(names, fallback: .system)
        }
    }
}

extension ClientSettings {
    /// Runs work with a client of these settings, and shuts the client down in every case.
    func withClient<Result>(_ work: (HTTPDNSClient) async throws -> Result) async throws -> Result {
        let client = try await HTTPDNSClient(configuration: configuration)
        do {
            let result = try await work(client)
            try await client.shutdown()
            return result
        } catch {
            // The work's own error is the one to report.
            try? await client.shutdown()
            guard !(error is CancellationError) else { throw error }
            throw advised(CommandFailure(error))
        }
    }
}

extension HTTPDNSConfigurationFile {
    /// Reads the settings in a file, in builds that support it, without those that would change the files of the service that
    /// owns the file (``inspect(_:)``).
    /// - Throws: ``HTTPDNSConfigurationFileError``; ``CommandFailure`` in a build without the trait YAML.
    static func load(_ path: String) throws -> HTTPDNSClient.Configuration {
        #if YAML
        return try inspect(path)
        #else
        throw CommandFailure(
            kind: .usage,
            code: "configuration",
            message: "\(path) cannot be read: this resolve-test was built without the trait YAML",
            hint: "build it with default traits"
        )
        #endif
    }
}

/// The effect of `--cacert`, also for the providers of a configuration file.
///
/// Those are created while the file is read, so the file of authorities is set as the system's (`SSL_CERT_FILE`) for this run.
/// A provider with its own authorities in the configuration keeps them.
enum TrustFlag {
    /// Applies the flag. Call it before the configuration is read and before any thread is started that reads the environment.
    static func apply(_ path: String?) throws(CommandFailure) {
        guard let path else { return }
        let hint = "give a PEM file with the certificates of the authorities"
        guard !path.isEmpty else { throw .usage("--cacert has no value", hint: hint) }
        guard access(path, R_OK) == 0 else { throw .usage("--cacert \(path): \(SystemError.text(errno))", hint: hint) }
        setenv("SSL_CERT_FILE", path, 1)
    }
}

extension HTTPDNSClient.Configuration {
    /// Applies `--cacert` to origins, also to those with their own trust settings, unless these name other authorities than the
    /// common ones.
    mutating func trustOnly(_ authorities: String) {
        for (pattern, trust) in trustByHost where trust.roots == trustRoots {
            trustByHost[pattern]?.roots = .file(authorities)
        }
        trustRoots = .file(authorities)
    }
}
#endif
