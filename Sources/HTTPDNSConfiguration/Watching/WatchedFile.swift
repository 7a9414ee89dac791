/// The file that a watcher checks and reads; blocking, and called on the watcher's own thread alone.
package protocol WatchedFile: Sendable {
    /// Returns its present status.
    func sight() -> FileStatus

    /// Reads it. It never waits for a writer.
    func read() throws(ConfigurationFileError) -> WatchedFileReading
}

/// A watched file and its status while it was read.
package struct WatchedFileReading: Sendable {
    package var bytes: [UInt8]
    /// The status of the file; nil when it changed while it was read.
    package var sight: FileStatus?

    package init(bytes: [UInt8], sight: FileStatus?) {
        self.bytes = bytes
        self.sight = sight
    }
}

/// A file on this machine.
package struct LocalFile: WatchedFile {
    private let path: String
    private let name: String

    /// - Parameter name: The name in errors; nil for its path.
    package init(_ path: String, name: String? = nil) {
        self.path = path
        self.name = name ?? path
    }

    package func sight() -> FileStatus { FileStatus(path) }

    package func read() throws(ConfigurationFileError) -> WatchedFileReading {
        let reading = try FileContents.reading(path, name: name, mayWait: false)
        return WatchedFileReading(bytes: reading.bytes, sight: reading.isSteady ? reading.sight : nil)
    }
}
