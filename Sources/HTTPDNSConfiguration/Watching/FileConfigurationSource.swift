#if YAML
internal import HTTPDNS
internal import HTTPDNSClient
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

    /// The settings in a file; they know where they came from.
    static func read(
        _ name: String,
        isInspecting: Bool = false
    ) throws(ConfigurationFileError) -> HTTPDNSClient.Configuration {
        let contents = try FileContents.reading(name)
        var providers = LiveProviders()
        var settings = try parse(contents.bytes, name: name, isInspecting: isInspecting, providers: &providers)
        // Of what is no file, such as a pipe, nothing more is to be had.
        guard let sight = contents.sight, sight.isPlain, let path = FilePath.absolute(name) else { return settings }
        settings.source = FileConfigurationSource(
            name: name,
            path: path,
            reading: WatchedFileReading(bytes: contents.bytes, sight: contents.isSteady ? sight : nil),
            settings: settings,
            providers: providers,
            isInspecting: isInspecting
        )
        return settings
    }

    static func parse(
        _ bytes: [UInt8],
        name: String,
        isInspecting: Bool,
        providers: inout LiveProviders
    ) throws(ConfigurationFileError) -> HTTPDNSClient.Configuration {
        let text = try FileContents.text(bytes, file: name)
        let settings = try ConfigurationFile.settings(text, name: name)
        return try (isInspecting ? settings.forInspection : settings)
            .clientConfiguration(file: name, providers: &providers)
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
