// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// Linux events for one path: for the names that lead to the file, in their folders, and for the file itself.
///
/// Folders are watched because editors move a new file over the old one, which ends all events of the old one. It uses one
/// descriptor, and no thread without events.
package final class InotifyEvents: FileEvents {
    private let path: String
    private let instance: InotifyInstance
    private let watches = Lock(FolderWatches())
    private let source: Lock<Source>

    private struct Source {
        var readable: RunningSource?
        var hasEnded = false
    }

    /// - Parameter path: An absolute path.
    /// - Returns: nil when the system has no inotify instance left (`fs.inotify.max_user_instances`).
    package init?(_ path: String) {
        guard let instance = InotifyInstance() else { return nil }
        self.path = path
        self.instance = instance
        source = Lock(Source())
    }

    package func begin(_ handler: @escaping @Sendable (FileEvent) -> Void) {
        instance.tell { [weak self] bytes in
            guard let self else { return }
            for event in watches.withLock({ $0.events(in: bytes) }) { handler(event) }
        }
        let running = RunningSource.reading(instance.descriptor) { [instance] in
            instance.drain()
        } close: { [instance] in
            instance.close()
        }
        source.withLock { $0.readable = running }
    }

    package func arm() -> Bool {
        var chain = LinkChain(to: path)
        // Changes between following the links and watching them cause no events.
        for _ in 0..<5 {
            let isWhole = source.withLock { source in
                guard !source.hasEnded else { return true }
                return watches.withLock { $0.arm(chain, on: instance.descriptor) }
            }
            guard isWhole else { return false }
            let again = LinkChain(to: path)
            if again == chain { break }
            // Should the path change faster than it can be watched, further events will arrive.
            chain = again
        }
        // A link may have moved to another file system since.
        return LocalFileSystem.holds(chain)
    }

    package func end() {
        source.withLock { source in
            guard !source.hasEnded else { return }
            source.hasEnded = true
            // Canceling does not wait; the handler runs on the source's queue.
            if let readable = source.readable { readable.cancel() } else { instance.close() }
            source.readable = nil
        }
    }

    package func catchUp() { instance.drain() }

    package func ended() async { await instance.closed() }

    deinit { end() }
}

extension FolderWatches {
    /// Returns the events in the bytes from an inotify instance (inotify(7)): number of the watch, mask, cookie, length of the
    /// name, and the name with zeros after it.
    func events(in bytes: Slice<UnsafeRawBufferPointer>) -> [FileEvent] {
        var events: [FileEvent] = []
        let header = MemoryLayout<inotify_event>.size
        var offset = bytes.startIndex
        while offset + header <= bytes.endIndex {
            let event = bytes.base.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
            let end = offset + header + Int(event.len)
            guard end <= bytes.endIndex else { break }
            let name = String(decoding: bytes.base[(offset + header)..<end].prefix { $0 != 0 }, as: UTF8.self)
            if let event = self.event(watch: event.wd, mask: event.mask, name: name), events.last != event {
                events.append(event)
            }
            offset = end
        }
        return events
    }
}

/// The descriptor of an inotify instance, and its pending events.
final class InotifyInstance: Sendable {
    /// Valid until the instance is closed.
    let descriptor: Int32
    /// Reading and reporting events is one step: they are reported in order. When ``drain()`` returns, they have been reported,
    /// regardless of the reading thread.
    private let state = Lock(State())
    private let closing = OneShot<Void>()

    private struct State: Sendable {
        var tell: (@Sendable (Slice<UnsafeRawBufferPointer>) -> Void)?
        var isClosed = false
    }

    /// - Returns: nil when the system has none left.
    init?() {
        descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
        guard descriptor >= 0 else { return nil }
    }

    /// Sets the handler for the read bytes; it must not call back.
    func tell(_ handler: @escaping @Sendable (Slice<UnsafeRawBufferPointer>) -> Void) {
        state.withLock { $0.tell = handler }
    }

    /// Reports all changes before the call, and returns after that.
    func drain() {
        state.withLock { state in
            guard !state.isClosed, let tell = state.tell else { return }
            withUnsafeTemporaryAllocation(byteCount: 4096, alignment: MemoryLayout<inotify_event>.alignment) { buffer in
                while true {
                    let count = read(descriptor, buffer.baseAddress, buffer.count)
                    if count < 0, errno == EINTR { continue }
                    guard count > 0 else { return }
                    tell(UnsafeRawBufferPointer(buffer)[..<count])
                }
            }
        }
    }

    /// Closes the descriptor, which no thread may wait on any more: its number may be reused from now on. Idempotent.
    func close() {
        let isFirst = state.withLock { state in
            defer { state = State(tell: nil, isClosed: true) }
            if !state.isClosed { closeDescriptor(descriptor) }
            return !state.isClosed
        }
        if isFirst { closing.deliver(()) }
    }

    /// Waits for the end. For one task only.
    func closed() async { await closing.value() }
}

/// `close` under a name that the method above does not shadow.
private func closeDescriptor(_ descriptor: Int32) { close(descriptor) }

/// File systems that only this kernel changes, so that it reports all changes: not those of other machines, of a virtual
/// machine's host, of programs (FUSE), or of the kernel itself (`/proc`).
package enum LocalFileSystem {
    /// Unknown types count as remote: their files are checked at an interval.
    private static let types: Set<Substring> = [
        "ext2", "ext3", "ext4", "xfs", "btrfs", "bcachefs", "f2fs", "zfs", "jfs", "reiserfs", "nilfs2", "tmpfs",
        "devtmpfs",
        "ramfs", "rootfs", "overlay", "aufs", "ecryptfs", "ubifs", "jffs2", "squashfs", "erofs", "iso9660", "udf",
        "vfat",
        "msdos", "exfat", "ntfs3", "fuseblk", "hfsplus",
    ]

    /// Returns whether the file and all names that lead to it are on such file systems.
    static func holds(_ chain: LinkChain) -> Bool {
        let table = "/proc/self/mountinfo"
        guard let mounts = try? FileContents.readingNow(table, name: table, patience: nil) else { return true }
        let text = String(decoding: mounts.bytes, as: UTF8.self)
        return (chain.names.keys + [chain.file].compactMap { $0 }).allSatisfy { holds($0, mounts: text) }
    }

    /// Returns whether a path without links is on such a file system, by the lines of `/proc/self/mountinfo`, see proc(5).
    ///
    /// The fifth field is the mount point, the one after the lone dash the type. The device is no help: that of a file on btrfs
    /// is in no line. A path without a mount counts as local.
    package static func holds(_ path: String, mounts: String) -> Bool {
        var best: (length: Int, type: Substring)?
        for line in mounts.split(separator: "\n") {
            let fields = line.split(separator: " ")
            guard fields.count > 4, let dash = fields.firstIndex(of: "-"), fields.indices.contains(dash + 1) else {
                continue
            }
            var point = unescaped(fields[4])
            if point == "/" { point = "" }
            guard path == point || path.hasPrefix(point + "/") || point.isEmpty else { continue }
            // A later mount covers an earlier one at the same point.
            if point.utf8.count >= best?.length ?? 0 { best = (point.utf8.count, fields[dash + 1]) }
        }
        return best.map { types.contains($0.type) } ?? true
    }

    /// Returns a mount point with its octal escapes decoded: space, tab, line feed and backslash.
    private static func unescaped(_ field: Substring) -> String {
        guard field.utf8.contains(UInt8(ascii: "\\")) else { return String(field) }
        var bytes: [UInt8] = []
        var rest = field.utf8[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(3)
            if byte == UInt8(ascii: "\\"), digits.count == 3,
                let code = UInt8(String(decoding: digits, as: UTF8.self), radix: 8)
            {
                bytes.append(code)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
