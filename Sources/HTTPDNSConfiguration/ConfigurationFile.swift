public import HTTPDNSClient

/// A configuration file, in YAML or JSON.
public enum ConfigurationFile {
    /// Reads settings from a file.
    /// - Throws: ``ConfigurationFileError``; nothing of a bad file is used.
    public static func read(_ path: String) throws(ConfigurationFileError) -> HTTPDNSClient.Configuration {
        fatalError("seam")
    }

    /// Reads settings from text; `name` stands for the file in errors and locations.
    /// - Throws: ``ConfigurationFileError``; nothing of a bad text is used.
    public static func parse(_ text: String, name: String) throws(ConfigurationFileError) -> HTTPDNSClient.Configuration
    {
        fatalError("seam")
    }
}

extension HTTPDNSClient.Configuration {
    /// The settings in a YAML or JSON file.
    /// - Throws: ``ConfigurationFileError``.
    public static func file(_ path: String) throws(ConfigurationFileError) -> HTTPDNSClient.Configuration {
        try ConfigurationFile.read(path)
    }
}
