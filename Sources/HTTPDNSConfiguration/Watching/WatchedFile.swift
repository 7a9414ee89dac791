// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// The file that a watcher checks and reads; blocking, and called on the watcher's own thread alone.
package protocol WatchedFile: Sendable {
    /// Returns its present status.
    func sight() -> FileStatus

    /// Reads it. It never waits for a writer.
    func read() throws(HTTPDNSConfigurationFileError) -> WatchedFileReading
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

    package func read() throws(HTTPDNSConfigurationFileError) -> WatchedFileReading {
        let reading = try FileContents.readingNow(path, name: name, patience: nil)
        return WatchedFileReading(bytes: reading.bytes, sight: reading.isSteady ? reading.sight : nil)
    }
}

/// The status of a path, links followed: the properties of a file that change with its content, or the reason that there is
/// none.
package enum FileStatus: Hashable, Sendable {
    /// The properties that change when other content is written or moved into place.
    ///
    /// The time of the last change of permissions or links is not included: a file that is moved away while it is read stays
    /// the same.
    package struct Stamp: Hashable, Sendable {
        package var device: UInt64
        package var inode: UInt64
        package var size: Int64
        /// The modification time in nanoseconds since 1970, in steps as coarse as the file system's.
        package var modified: Int64
        /// The permissions. A file that was unreadable may be readable now.
        package var mode: UInt32

        package init(device: UInt64 = 1, inode: UInt64, size: Int64, modified: Int64, mode: UInt32 = 0o100644) {
            self.device = device
            self.inode = inode
            self.size = size
            self.modified = modified
            self.mode = mode
        }

        init(_ status: stat) {
            device = UInt64(truncatingIfNeeded: status.st_dev)
            inode = UInt64(truncatingIfNeeded: status.st_ino)
            size = Int64(status.st_size)
            let time = status.st_mtim
            modified = Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
            mode = UInt32(status.st_mode)
        }
    }

    case file(Stamp)
    /// No file, with the system's error number.
    case absent(Int32)

    /// Whether it is a regular file or a folder, which cannot block its reader. Reading shows the difference.
    var isPlain: Bool {
        guard case .file(let stamp) = self else { return false }
        return [UInt32(S_IFREG), UInt32(S_IFDIR)].contains(stamp.mode & UInt32(S_IFMT))
    }

    /// Reads the status of `path`.
    package init(_ path: String) {
        var status = stat()
        self = stat(path, &status) == 0 ? .file(Stamp(status)) : .absent(errno)
    }

    /// Reads the status of an open file; nil when even that fails.
    init?(descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self = .file(Stamp(status))
    }
}

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
    /// - Throws: ``HTTPDNSConfigurationFileError``.
    package init(_ name: String) throws(HTTPDNSConfigurationFileError) {
        let contents = try FileContents.reading(name)
        self.name = name
        path = FilePath.absolute(name) ?? name
        isPlain = contents.sight?.isPlain ?? false
        first = WatchedFileReading(bytes: contents.bytes, sight: contents.isSteady ? contents.sight : nil)
    }

    /// Returns the text of the file when it was opened.
    package func text() throws(HTTPDNSConfigurationFileError) -> String { try Self.text(first.bytes, name: name) }

    /// Returns the text of its bytes.
    package static func text(_ bytes: [UInt8], name: String) throws(HTTPDNSConfigurationFileError) -> String {
        try FileContents.text(bytes, file: name)
    }

    /// Returns a watcher that follows the file from its first content on; nil when it cannot be read again.
    ///
    /// The watcher is not started.
    package func watcher<Applied: Sendable>(
        prepare: @escaping @Sendable ([UInt8]) throws -> ConfigurationWatcher<Applied>.Prepared,
        report: @escaping @Sendable (ConfigurationWatcher<Applied>.Report) -> Void
    ) -> ConfigurationWatcher<Applied>? {
        guard isPlain else { return nil }
        let events: any FileEvents = InotifyEvents(path) ?? NoFileEvents()
        return ConfigurationWatcher(
            LocalFile(path, name: name),
            events: events,
            reading: first,
            prepare: prepare,
            report: report
        )
    }
}
