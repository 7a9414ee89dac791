// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNS
public import HTTPDNSCore

/// A configuration file, in YAML or JSON, or a hosts file. `Docs/Configuration.md` describes all keys.
///
/// YAML and JSON need the package trait `YAML`, which is on by default; ``importHosts(_:name:)`` does not.
public enum HTTPDNSConfigurationFile {
    /// Reads the lines of a hosts file (hosts(5)) as mappings: an address, its names, and comments after `#`.
    ///
    /// A name on several lines gets all their addresses, in the order of the lines. An address repeated for a name changes
    /// nothing.
    /// - Parameters:
    ///   - text: The lines.
    ///   - name: The name of the file in errors and locations.
    /// - Throws: ``HTTPDNSConfigurationFileError`` with the number of each bad line. No part of a bad text is used.
    public static func importHosts(_ text: String, name: String) throws(HTTPDNSConfigurationFileError)
        -> [HTTPDNSMapping.Key:
        HTTPDNSMapping]
    {
        try HostsFile.read(text, file: name).rules
    }

    /// Returns the lines of a hosts file that were skipped, by their reason; none for a file of another kind.
    package static func skippedLines(of path: String) -> [SkippedLines] {
        guard let text = try? FileContents.read(path), HostsFile.isMeant(by: text, name: path) else { return [] }
        return (try? HostsFile.read(text, file: path).skipped) ?? []
    }

    /// Returns the reason that users other than the owner may change a file; nil when none may.
    package static func permissionsFault(_ path: String) -> String? {
        FilePermissions.fault(path).map { "\($0.reason); \($0.hint)" }
    }
}

#if YAML
extension HTTPDNSConfigurationFile {
    /// Reads settings from a file of at most 16 MiB.
    ///
    /// The file is imported as with ``importHosts(_:name:)`` in two cases: its name is `hosts` or ends in `.hosts`, or its
    /// first line that is neither empty nor a comment begins with an address. Such a line cannot begin a YAML configuration.
    /// Paths inside the file are relative to its folder.
    ///
    /// A client created from these settings follows the file while it runs, see `HTTPDNSClient.Configuration.watchesFile`.
    /// Settings that code changes afterwards keep the value from the code.
    ///
    /// The calling thread waits at most 35 s for a file system that does not answer, and 30 s for the writer of a pipe.
    /// - Parameter path: The path of the file. A relative path starts at the working directory.
    /// - Throws: ``HTTPDNSConfigurationFileError``. No part of a bad file is used.
    public static func read(_ path: String) throws(HTTPDNSConfigurationFileError) -> HTTPDNSClient.Configuration {
        try FileConfigurationSource.read(path)
    }

    /// Reads settings from a file for a program other than the service, such as resolve-test.
    ///
    /// They are those of ``read(_:)`` without everything that changes the service's files, or queries providers before the
    /// first call: the snapshot, the address files of vendors, and the names that are resolved at start. That also holds after
    /// a change of the file.
    /// - Throws: ``HTTPDNSConfigurationFileError``. No part of a bad file is used.
    package static func inspect(_ path: String) throws(HTTPDNSConfigurationFileError) -> HTTPDNSClient.Configuration {
        try FileConfigurationSource.read(path, isInspecting: true)
    }

    /// Reads settings from text, as ``read(_:)`` does.
    /// - Parameters:
    ///   - text: The text of the file.
    ///   - name: The name of the file in errors and locations. Paths in the text are relative to its folder.
    /// - Throws: ``HTTPDNSConfigurationFileError``. No part of a bad text is used.
    public static func parse(_ text: String, name: String) throws(HTTPDNSConfigurationFileError)
        -> HTTPDNSClient.Configuration
    {
        try settings(text, name: name).clientConfiguration(file: name)
    }

    /// Reads the settings of a local agent from a file.
    package static func agent(_ path: String) throws(HTTPDNSConfigurationFileError) -> AgentSettings {
        try settings(try FileContents.read(path), name: path).agent
    }

    /// Parses the text, without creating providers.
    package static func settings(_ text: String, name: String) throws(HTTPDNSConfigurationFileError) -> FileSettings {
        guard text.utf8.count <= FileContents.limit else {
            throw HTTPDNSConfigurationFileError(name, "the text is larger than 16 MiB")
        }
        if HostsFile.isMeant(by: text, name: name) {
            var settings = FileSettings()
            settings.configuration.resolver.mappings = try importHosts(text, name: name)
            return settings
        }
        return try SettingsReader.read(try YAMLDocument.read(text, file: name), file: name)
    }
}

extension HTTPDNSClient.Configuration {
    /// Reads the settings in a YAML or JSON file, see ``HTTPDNSConfigurationFile/read(_:)``.
    /// - Throws: ``HTTPDNSConfigurationFileError``.
    public static func file(_ path: String) throws(HTTPDNSConfigurationFileError) -> HTTPDNSClient.Configuration {
        try HTTPDNSConfigurationFile.read(path)
    }
}
#else
extension HTTPDNSConfigurationFile {
    fileprivate static let withoutYAML = "configuration files need the trait YAML of the package swift-httpdns"

    /// Not available in this build.
    @available(*, unavailable, message: "configuration files need the trait YAML of the package swift-httpdns")
    public static func read(_ path: String) throws(HTTPDNSConfigurationFileError) -> HTTPDNSClient.Configuration {
        throw HTTPDNSConfigurationFileError(path, withoutYAML)
    }

    /// Not available in this build.
    @available(*, unavailable, message: "configuration files need the trait YAML of the package swift-httpdns")
    public static func parse(_ text: String, name: String) throws(HTTPDNSConfigurationFileError)
        -> HTTPDNSClient.Configuration
    {
        throw HTTPDNSConfigurationFileError(name, withoutYAML)
    }
}

extension HTTPDNSClient.Configuration {
    /// Not available in this build.
    @available(*, unavailable, message: "configuration files need the trait YAML of the package swift-httpdns")
    public static func file(_ path: String) throws(HTTPDNSConfigurationFileError) -> HTTPDNSClient.Configuration {
        throw HTTPDNSConfigurationFileError(path, HTTPDNSConfigurationFile.withoutYAML)
    }
}
#endif
