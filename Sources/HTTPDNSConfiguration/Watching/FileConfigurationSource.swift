// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if YAML
internal import HTTPDNSCore
internal import HTTPDNS
internal import HTTPDNSPrimitives

/// The file that is the source of settings.
struct FileConfigurationSource: ConfigurationSource {
    /// The file, as it was when the settings were created.
    let file: FollowedFile
    /// The settings from the file at that time.
    let settings: HTTPDNSClient.Configuration
    let providers: LiveProviders
    /// Whether the settings are those of ``FileSettings/forInspection``.
    let isInspecting: Bool
    /// Whether the file required that it is refused when others may write it. That applies to all of its later contents.
    let refusesOpenFile: Bool

    /// Returns the settings in a file, with the file as their source.
    static func read(
        _ name: String,
        isInspecting: Bool = false
    ) throws(HTTPDNSConfigurationFileError) -> HTTPDNSClient.Configuration {
        let file = try FollowedFile(name)
        var providers = LiveProviders()
        let refusesOpenFile: Bool
        var settings: HTTPDNSClient.Configuration
        (settings, refusesOpenFile) = try configuration(
            fileSettings(file.first.bytes, name: name),
            name: name,
            path: name,
            isInspecting: isInspecting,
            providers: &providers
        )
        guard file.isRepeatable else { return settings }
        settings.source = FileConfigurationSource(
            file: file,
            settings: settings,
            providers: providers,
            isInspecting: isInspecting,
            refusesOpenFile: refusesOpenFile
        )
        return settings
    }

    /// Returns the settings in the bytes of a file. All work that grows with the number of mappings is here.
    static func fileSettings(_ bytes: [UInt8], name: String) throws(HTTPDNSConfigurationFileError) -> FileSettings {
        try HTTPDNSConfigurationFile.settings(try FileContents.text(bytes, file: name), name: name)
    }

    /// Returns the client's settings for those of a file, and whether they refuse a file that others may write.
    /// - Parameter path: The path of the file itself.
    static func configuration(
        _ settings: FileSettings,
        name: String,
        path: String,
        isInspecting: Bool,
        refusesOpenFile: Bool = false,
        providers: inout LiveProviders
    ) throws(HTTPDNSConfigurationFileError) -> (HTTPDNSClient.Configuration, refusesOpenFile: Bool) {
        let isStrict = refusesOpenFile || settings.refusesOpenFile
        if isStrict, let fault = FilePermissions.fault(path) {
            throw HTTPDNSConfigurationFileError(name, "file_permissions: refuse, and \(fault.reason)", hint: fault.hint)
        }
        let configuration = try (isInspecting ? settings.forInspection : settings)
            .clientConfiguration(file: name, providers: &providers)
        return (configuration, isStrict)
    }

    func watch(
        for configuration: HTTPDNSClient.Configuration,
        applying apply: @escaping ApplySettings
    ) -> any ConfigurationWatch {
        FileWatch(self, for: configuration, applying: apply)
    }
}
#endif
