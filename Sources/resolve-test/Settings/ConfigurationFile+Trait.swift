internal import HTTPDNS
internal import HTTPDNSConfiguration

extension ConfigurationFile {
    /// Reads the settings in a file, in builds that support it, without those that would change the files of the service that
    /// owns the file (``inspect(_:)``).
    /// - Throws: ``ConfigurationFileError``; ``CommandFailure`` in a build without the trait YAML.
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
