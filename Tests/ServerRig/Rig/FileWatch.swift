// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// A watch for changes of a file or folder (inotify), so that tests need not sleep.
struct FileWatch {
    private let descriptor: FileDescriptor

    init(_ path: String) throws {
        descriptor = FileDescriptor(try checked("inotify_init1", inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))))
        let events = UInt32(IN_MODIFY) | UInt32(IN_MOVED_TO) | UInt32(IN_CREATE)
        try checked("inotify_add_watch \(path)", inotify_add_watch(descriptor.number, path, events))
    }

    /// Returns at the next change, or after `limit`. Changes since the last call count.
    func waitForChange(within limit: Duration) {
        var descriptors = [pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)]
        let milliseconds = max(0, min(limit / .milliseconds(1), 60_000))
        guard poll(&descriptors, 1, Int32(milliseconds)) > 0 else { return }
        var buffer = [UInt8](repeating: 0, count: 4096)
        while read(descriptor.number, &buffer, buffer.count) > 0 {}
    }
}

/// Calls `look` whenever the file at `path` changes, until it finds something.
/// - Returns: The finding; `nil` when `limit` passed.
func watch<Found: Sendable>(
    _ path: String,
    within limit: Duration,
    look: @escaping @Sendable () throws -> Found?
) async throws -> Found? {
    try await onBlockingThread {
        let watch = try FileWatch(path)
        let deadline = ContinuousClock.now + limit
        while true {
            if let found = try look() { return found }
            let left = deadline - .now
            guard left > .zero else { return nil }
            watch.waitForChange(within: left)
        }
    }
}
