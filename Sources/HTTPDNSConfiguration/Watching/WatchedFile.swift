/// The file that a watcher looks at and reads; blocking, and called from the watcher's own thread alone.
package protocol WatchedFile: Sendable {
    /// What is there now.
    func sight() -> FileSight

    /// Reads it. It never waits for somebody else to write.
    func read() throws(ConfigurationFileError) -> WatchedFileReading
}

/// A watched file as it was while it was read.
package struct WatchedFileReading: Sendable {
    package var bytes: [UInt8]
    /// What the file was; nil when it changed while it was read.
    package var sight: FileSight?

    package init(bytes: [UInt8], sight: FileSight?) {
        self.bytes = bytes
        self.sight = sight
    }
}

/// A file on this machine.
package struct LocalFile: WatchedFile {
    private let path: String
    private let name: String

    /// - Parameter name: What errors call it; nil for its path.
    package init(_ path: String, name: String? = nil) {
        self.path = path
        self.name = name ?? path
    }

    package func sight() -> FileSight { FileSight(path) }

    package func read() throws(ConfigurationFileError) -> WatchedFileReading {
        let reading = try FileContents.reading(path, name: name, mayWait: false)
        return WatchedFileReading(bytes: reading.bytes, sight: reading.isSteady ? reading.sight : nil)
    }
}
