#if YAML
internal import HTTPDNSCore
internal import HTTPDNS
internal import HTTPDNSPrimitives

/// The file that settings came from.
struct FileConfigurationSource: ConfigurationSource {
    /// The path as it was given, which errors name.
    let name: String
    /// The same from the root on, wherever the process goes.
    let path: String
    /// The file as it was when the settings were made.
    let reading: WatchedFileReading
    /// What it said then.
    let settings: HTTPDNSClient.Configuration
    let providers: LiveProviders
    /// Whether the settings are those of ``FileSettings/forInspection``.
    let isInspecting: Bool
    /// Whether it said that it is to be refused when others may write it. That holds for all that it says later.
    let refusesOpenFile: Bool

    /// The settings in a file; they know where they came from.
    static func read(
        _ name: String,
        isInspecting: Bool = false
    ) throws(ConfigurationFileError) -> HTTPDNSClient.Configuration {
        let contents = try FileContents.reading(name)
        var providers = LiveProviders()
        let refusesOpenFile: Bool
        var settings: HTTPDNSClient.Configuration
        (settings, refusesOpenFile) = try parse(
            contents.bytes,
            name: name,
            path: name,
            isInspecting: isInspecting,
            providers: &providers
        )
        // Of what is no file, such as a pipe, nothing more is to be had.
        guard let sight = contents.sight, sight.isPlain, let path = FilePath.absolute(name) else { return settings }
        settings.source = FileConfigurationSource(
            name: name,
            path: path,
            reading: WatchedFileReading(bytes: contents.bytes, sight: contents.isSteady ? sight : nil),
            settings: settings,
            providers: providers,
            isInspecting: isInspecting,
            refusesOpenFile: refusesOpenFile
        )
        return settings
    }

    /// The settings in the bytes of a file, and whether they refuse a file that others may write.
    /// - Parameter path: The place of the file itself.
    static func parse(
        _ bytes: [UInt8],
        name: String,
        path: String,
        isInspecting: Bool,
        refusesOpenFile: Bool = false,
        providers: inout LiveProviders
    ) throws(ConfigurationFileError) -> (HTTPDNSClient.Configuration, refusesOpenFile: Bool) {
        let text = try FileContents.text(bytes, file: name)
        let settings = try ConfigurationFile.settings(text, name: name)
        let isStrict = refusesOpenFile || settings.refusesOpenFile
        if isStrict, let fault = FilePermissions.fault(path) {
            throw ConfigurationFileError(name, "file_permissions: refuse, and \(fault.reason)", hint: fault.hint)
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

    /// The events that the system has about the file.
    func events() -> any FileEvents {
        #if os(Linux)
        InotifyEvents(path) ?? NoFileEvents()
        #else
        NoFileEvents()
        #endif
    }
}
#endif
