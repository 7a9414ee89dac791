/// A file on this machine that is followed without a client.
package struct FollowedFile: Sendable {
    /// The path as it was given, for errors.
    package let name: String
    private let path: String
    /// The file as it was when it was opened.
    private let first: WatchedFileReading
    /// Whether it can be read again: a pipe cannot.
    private let isPlain: Bool

    /// Reads the file.
    /// - Throws: ``ConfigurationFileError``.
    package init(_ name: String) throws(ConfigurationFileError) {
        let contents = try FileContents.reading(name)
        self.name = name
        path = FilePath.absolute(name) ?? name
        isPlain = contents.sight?.isPlain ?? false
        first = WatchedFileReading(bytes: contents.bytes, sight: contents.isSteady ? contents.sight : nil)
    }

    /// Returns the text of the file when it was opened.
    package func text() throws(ConfigurationFileError) -> String { try Self.text(first.bytes, name: name) }

    /// Returns the text of its bytes.
    package static func text(_ bytes: [UInt8], name: String) throws(ConfigurationFileError) -> String {
        try FileContents.text(bytes, file: name)
    }

    /// Returns a watcher that follows the file from its first content on; nil when it cannot be read again.
    ///
    /// The watcher is not started.
    package func watcher<Applied: Sendable>(
        apply: @escaping @Sendable ([UInt8]) throws -> Applied,
        report: @escaping @Sendable (ConfigurationWatcher<Applied>.Report) -> Void
    ) -> ConfigurationWatcher<Applied>? {
        guard isPlain else { return nil }
        let events: any FileEvents = InotifyEvents(path) ?? NoFileEvents()
        return ConfigurationWatcher(
            LocalFile(path, name: name),
            events: events,
            reading: first,
            apply: apply,
            report: report
        )
    }
}
