/// A file on this machine that somebody else than a client follows.
package struct FollowedFile: Sendable {
    /// The path as it was given, which errors name.
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

    /// What the file said first.
    package func text() throws(ConfigurationFileError) -> String { try Self.text(first.bytes, name: name) }

    /// What bytes of it say.
    package static func text(_ bytes: [UInt8], name: String) throws(ConfigurationFileError) -> String {
        try FileContents.text(bytes, file: name)
    }

    /// Follows it, from what it said first on; nil when it cannot be read again. The watcher is not started.
    package func watcher<Applied: Sendable>(
        apply: @escaping @Sendable ([UInt8]) throws -> Applied,
        report: @escaping @Sendable (ConfigurationWatcher<Applied>.Report) -> Void
    ) -> ConfigurationWatcher<Applied>? {
        guard isPlain else { return nil }
        #if os(Linux)
        let events: any FileEvents = InotifyEvents(path) ?? NoFileEvents()
        #else
        let events: any FileEvents = NoFileEvents()
        #endif
        return ConfigurationWatcher(
            LocalFile(path, name: name),
            events: events,
            reading: first,
            apply: apply,
            report: report
        )
    }
}
