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
        root += settings.entries(of: FileSettings.facts, below: [], in: values)
        return try settings.read(ConfigurationNode(.mapping(root), at: .none))
    }
}

extension SettingsReader {
    /// The name of the place of settings in errors.
    fileprivate static let readerName = "ConfigReader"

    /// Returns the entries of a section that have values.
    fileprivate mutating func entries(
        of settings: [SettingFacts],
        below path: [String],
        in values: ReaderValues
    ) -> [ConfigurationNode.Entry] {
        settings.compactMap { setting in
            if setting.isInFileOnly { return nil }
            let path = path + [setting.key]
            let value = setting.isValue ? values.value(of: setting, at: path) : nil
            let parts = entries(of: setting.parts, below: path, in: values)
            if value != nil, let part = parts.first?.key.text {
                let name = path.joined(separator: ".")
                mistakes.add("\(name): there is a value, and one of \(name).\(part)", at: nil, hint: "keep one of them")
                return nil
            }
            let content = value ?? (parts.isEmpty ? nil : .mapping(parts))
            return content.map { .init(setting.key, $0) }
        }
    }
}

/// The values of a reader, as the nodes that a file would have.
private struct ReaderValues {
    private let reader: ConfigSnapshotReader

    init(_ reader: ConfigSnapshotReader) { self.reader = reader }

    /// Returns the value of a setting, of any type; nil without one. ``SettingsReader`` checks it.
    func value(of setting: SettingFacts, at path: [String]) -> ConfigurationNode.Content? {
        let (key, isSecret) = (ConfigKey(path), setting.isSecret)
        // A provider of texts splits a text at commas.
        if setting.isList, let list = list(key, isSecret) { return list }
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
