// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if SwiftConfiguration
public import Configuration
public import HTTPDNS
internal import HTTPDNSPrimitives

extension HTTPDNSClient.Configuration {
    /// Creates settings from the values of a reader of swift-configuration, with the package trait `SwiftConfiguration`.
    ///
    /// The keys, units and ranges are those of the configuration file (`Docs/Configuration.md`): `client.timeouts.connect` is a
    /// duration such as `5s`. Read are single values and lists of values of the sections `policy`, `cache`, `resolver` and
    /// `client`, and `enabled`. Providers, routes, mappings, credentials, header fields and settings for single hosts have names of
    /// their own in the place of keys, which a reader cannot list: set them in code.
    ///
    /// - A value may be text, or of the type that the provider has: `true`, `1024`, `1.3`. A list may also be one value.
    /// - Passwords, and the proxy's URL, are read as secrets (`isSecret`). `client.proxy.password` may be the password itself; it and the password of a
    ///   client certificate may also be in a file (`password.file`) or a variable (`password.env`).
    /// - Relative paths begin at the working directory.
    /// - Only known keys are asked for, so a misspelled key is not found.
    /// - All values are read from one snapshot of the reader. The client does not follow later changes of them.
    ///
    /// With `EnvironmentVariablesProvider`, and the reader scoped to `httpdns`, `HTTPDNS_CLIENT_TIMEOUTS_CONNECT=5s` sets
    /// `client.timeouts.connect`.
    /// - Parameter reader: The reader. Scope it to the key below which the settings are.
    /// - Throws: ``HTTPDNSConfigurationFileError`` with up to 20 mistakes, whose messages name the keys. No part of bad settings is used.
    public init(reader: ConfigReader) throws(HTTPDNSConfigurationFileError) {
        self = try FileSettings.read(reader).clientConfiguration(file: SettingsReader.readerName)
    }
}

extension FileSettings {
    /// Reads the settings of a reader, without creating providers.
    /// - Throws: ``HTTPDNSConfigurationFileError``.
    package static func read(_ reader: ConfigReader) throws(HTTPDNSConfigurationFileError) -> FileSettings {
        // A provider may reload between two reads: all values must be those of one version.
        let values = ReaderValues(reader.snapshot())
        var settings = SettingsReader(file: SettingsReader.readerName)
        settings.allowsSecretTexts = true
        var root: [ConfigurationNode.Entry] = [.init("version", .scalar("1", isPlain: true))]
        root += settings.entries(of: .top, below: [], in: values)
        return try settings.read(ConfigurationNode(.mapping(root), at: .none))
    }
}

extension KeyTable {
    /// The sections below sections, by their keys.
    fileprivate static let sections: [String: KeyTable] = [
        "policy": .policy, "cache": .cache, "cache.ttl": .cacheTimeToLive, "cache.snapshot": .snapshot,
        "resolver": .resolver, "client": .client, "client.timeouts": .timeouts, "client.connections": .connections,
        "client.connections.tcp_keepalive": .keepalive, "client.connections.ejection": .ejection,
        "client.connections.probing": .probing, "client.bandwidth": .bandwidth,
        "client.redirects": .redirects, "client.retries": .retries,
        "client.retries.budget": .retryBudget, "client.cookies": .cookies, "client.response_cache": .responseCache,
        "client.proxy": .proxy, "client.proxy.password": .secret, "client.trust": .trust,
        "client.trust.client_certificate": .clientCertificate, "client.trust.client_certificate.password": .secret,
    ]
    /// The sections that may also be one value, such as `client.cookies: memory`.
    fileprivate static let sectionsOrValues: Set<String> = [
        "client.connections.tcp_keepalive", "client.cookies", "client.response_cache", "client.proxy",
        "client.proxy.password", "client.trust.client_certificate.password",
    ]
    /// The keys that a reader is not asked for: those that have names as keys, and those that concern a file or another
    /// program.
    package static let ofFilesAlone: Set<String> = [
        "version", "file_permissions", "providers", "routes", "mappings", "metrics", "serve", "client.headers",
        "client.headers_by_host", "client.credentials", "client.trust_by_host", "client.trust.pins_by_host",
    ]
    /// The keys that take one value or a list.
    package static let lists: Set<String> = [
        "policy.allow", "policy.deny", "cache.preresolve", "resolver.internal_zones",
        "client.connections.ejection.statuses", "client.redirects.secret_fields",
        "client.redirects.cross_origin_fields",
        "client.retries.statuses", "client.trust.pins", "client.trust.ciphers", "client.trust.ciphers_tls13",
        "client.trust.curves", "client.proxy.except",
    ]
    /// The keys whose values are secrets.
    package static let secrets: Set<String> = [
        "client.proxy.password", "client.trust.client_certificate.password",
        // They may have a password too, which is refused only after it was read.
        "client.proxy", "client.proxy.url",
    ]
}

extension SettingsReader {
    /// The name of the place of settings in errors.
    fileprivate static let readerName = "ConfigReader"

    /// Returns the entries of a section that have values.
    fileprivate mutating func entries(
        of table: KeyTable,
        below path: [String],
        in values: ReaderValues
    ) -> [ConfigurationNode.Entry] {
        var entries: [ConfigurationNode.Entry] = []
        for key in table.keys {
            let path = path + [key]
            let name = path.joined(separator: ".")
            if KeyTable.ofFilesAlone.contains(name) { continue }
            let section = KeyTable.sections[name]
            let isValue = section == nil || KeyTable.sectionsOrValues.contains(name)
            let value =
                isValue
                ? values.value(
                    at: path,
                    isList: KeyTable.lists.contains(name),
                    isSecret: KeyTable.secrets.contains(name)
                ) : nil
            let parts = section.map { self.entries(of: $0, below: path, in: values) } ?? []
            if value != nil, let part = parts.first?.key.text {
                mistakes.add("\(name): there is a value, and one of \(name).\(part)", at: nil, hint: "keep one of them")
            } else if let content = value ?? (parts.isEmpty ? nil : .mapping(parts)) {
                entries.append(.init(key, content))
            }
        }
        return entries
    }
}

/// The values of a reader, as the nodes that a file would have.
private struct ReaderValues {
    private let reader: ConfigSnapshotReader

    init(_ reader: ConfigSnapshotReader) { self.reader = reader }

    /// Returns the value of a key, of any type; nil without one. ``SettingsReader`` checks it.
    /// - Parameter isList: Whether the key takes a list. A provider of texts then splits a text at commas.
    func value(at path: [String], isList: Bool, isSecret: Bool) -> ConfigurationNode.Content? {
        let key = ConfigKey(path)
        if isList, let list = list(key, isSecret) { return list }
        let text = reader.string(forKey: key, isSecret: isSecret) ?? other(key, isSecret)
        return text.map { .scalar($0, isPlain: false) } ?? list(key, isSecret)
    }

    private func list(_ key: ConfigKey, _ isSecret: Bool) -> ConfigurationNode.Content? {
        let texts =
            reader.stringArray(forKey: key, isSecret: isSecret)
            ?? reader.intArray(forKey: key, isSecret: isSecret)?.map(String.init)
        return texts.map { .sequence($0.map { ConfigurationNode(.scalar($0, isPlain: false), at: .none) }) }
    }

    private func other(_ key: ConfigKey, _ isSecret: Bool) -> String? {
        if let number = reader.int(forKey: key, isSecret: isSecret) { return String(number) }
        if let number = reader.double(forKey: key, isSecret: isSecret) { return String(number) }
        return reader.bool(forKey: key, isSecret: isSecret).map { $0 ? "true" : "false" }
    }
}

extension ConfigurationNode.Entry {
    fileprivate init(_ key: String, _ content: ConfigurationNode.Content) {
        self.init(
            key: ConfigurationNode(.scalar(key, isPlain: true), at: .none),
            value: ConfigurationNode(content, at: .none)
        )
    }
}
#else
public import HTTPDNS

extension HTTPDNSClient.Configuration {
    /// Not available in this build.
    @available(
        *,
        unavailable,
        message: "settings from a ConfigReader need the trait SwiftConfiguration of the package swift-httpdns"
    )
    public init(reader: some Sendable) { self.init() }
}
#endif
