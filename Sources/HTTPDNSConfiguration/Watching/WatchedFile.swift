// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// The file that a watcher checks and reads. Checks and readings block, and run on the watcher's own thread alone.
package protocol WatchedFile: Sendable {
    /// Calls `wake` when the file may have changed, from now until ``end()``. Called once, before any check.
    func begin(_ wake: @escaping @Sendable () -> Void)

    /// Returns its present status, and the events since the last check.
    func look() -> FileLook

    /// Reads it. It never waits for a writer.
    func read() throws(HTTPDNSConfigurationFileError) -> WatchedFileReading

    /// Stops the calls of `wake`, and returns when nothing of them is left.
    func end() async
}

/// The result of a check of a watched file.
package struct FileLook: Sendable {
    var sight: FileStatus
    var events: [FileEvent]
    /// Whether changes in its folder cause events.
    var hasEvents: Bool

    package init(_ sight: FileStatus, events: [FileEvent] = [], hasEvents: Bool = false) {
        (self.sight, self.events, self.hasEvents) = (sight, events, hasEvents)
    }
}

/// A watched file and its status while it was read.
package struct WatchedFileReading: Sendable {
    package var bytes: [UInt8]
    /// The status of the file when the reading began.
    package var sight: FileStatus?
    /// Whether the status was the same when the reading ended.
    var isSteady: Bool

    package init(bytes: [UInt8], sight: FileStatus?, isSteady: Bool = true) {
        (self.bytes, self.sight, self.isSteady) = (bytes, sight, isSteady)
    }
}

/// A file on this machine.
package struct LocalFile: WatchedFile {
    private let path: String
    private let name: String
    private let folder: FolderWatch?

    /// - Parameters:
    ///   - path: The absolute path.
    ///   - name: The name in errors; nil for the path.
    ///   - usesEvents: Whether events are used. Without them only the checks show a change.
    package init(_ path: String, name: String? = nil, usesEvents: Bool = true) {
        self.path = path
        self.name = name ?? path
        folder = usesEvents ? FolderWatch(of: path) : nil
    }

    package func begin(_ wake: @escaping @Sendable () -> Void) { folder?.begin(wake) }

    package func look() -> FileLook {
        guard let folder else { return FileLook(FileStatus(path)) }
        let isArmed = folder.arm()
        var sight = FileStatus(path)
        // Events after the status: writes just before it are known, so that the file is not read before it is closed.
        var events = folder.takeEvents()
        if !events.isEmpty {
            sight = FileStatus(path)
            events += folder.takeEvents()
        }
        // A link leads to a file whose folder is not watched, and which may have a writer.
        if events.contains(.replaced), !isRegular { events = events.map { $0 == .replaced ? .touched : $0 } }
        return FileLook(sight, events: events, hasEvents: isArmed)
    }

    private var isRegular: Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    package func read() throws(HTTPDNSConfigurationFileError) -> WatchedFileReading {
        try FileContents.readingNow(path, name: name, patience: nil)
    }

    package func end() async { await folder?.end() }
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

    /// Whether both are of one file, whose content may differ.
    func isSameFile(as other: FileStatus?) -> Bool {
        guard case .file(let own) = self, case .file(let stamp)? = other else { return false }
        return own.device == stamp.device && own.inode == stamp.inode
    }

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

/// A file on this machine that is followed: its first content, and a watcher of later ones.
package struct FollowedFile: Sendable {
    /// The path as it was given, for errors.
    package let name: String
    /// The absolute path, independent of the working directory.
    let path: String
    /// The file as it was when it was opened.
    let first: WatchedFileReading
    /// Whether it can be read again: a pipe cannot.
    package let isRepeatable: Bool

    /// Reads the file.
    /// - Throws: ``HTTPDNSConfigurationFileError``.
    package init(_ name: String) throws(HTTPDNSConfigurationFileError) {
        self.name = name
        first = try FileContents.reading(name)
        let absolute = FilePath.absolute(name)
        path = absolute ?? name
        isRepeatable = first.sight?.isPlain == true && absolute != nil
    }

    /// Returns the text of the file when it was opened.
    package func text() throws(HTTPDNSConfigurationFileError) -> String { try Self.text(first.bytes, name: name) }

    /// Returns the text of its bytes.
    package static func text(_ bytes: [UInt8], name: String) throws(HTTPDNSConfigurationFileError) -> String {
        try FileContents.text(bytes, file: name)
    }

    /// Returns a watcher that follows the file from its first content on. It is not started.
    package func watcher<Applied: Sendable>(
        isOnDemandOnly: Bool = false,
        prepare: @escaping @Sendable ([UInt8]) throws -> ConfigurationWatcher<Applied>.Prepared,
        report: @escaping @Sendable (ConfigurationWatcher<Applied>.Report) -> Void
    ) -> ConfigurationWatcher<Applied> {
        ConfigurationWatcher(
            LocalFile(path, name: name, usesEvents: !isOnDemandOnly),
            reading: first,
            isOnDemandOnly: isOnDemandOnly,
            prepare: prepare,
            report: report
        )
    }
}
