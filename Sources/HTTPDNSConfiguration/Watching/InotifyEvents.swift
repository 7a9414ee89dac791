// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNSPrimitives

/// Linux events of the folder that holds a file: a hint that the file has changed, and whether its writer is done.
///
/// The folder is watched because editors move a new file over the old one, which ends all events of the old one. Changes
/// behind links, of folders above and on other machines cause no event: the next check of the file detects those. It uses
/// one descriptor, and no thread without events.
package final class InotifyEvents: FileEvents {
    private let instance: InotifyInstance
    private let source: Lock<Source>

    private struct Source {
        var readable: RunningSource?
        var hasEnded = false
    }

    /// - Parameter path: An absolute path.
    /// - Returns: nil when the system has no inotify instance left (`fs.inotify.max_user_instances`).
    package init?(_ path: String) {
        guard let instance = InotifyInstance(FolderWatch(of: path)) else { return nil }
        self.instance = instance
        source = Lock(Source())
    }

    package func begin(_ handler: @escaping @Sendable (FileEvent) -> Void) {
        instance.tell(handler)
        let running = RunningSource.reading(instance.descriptor) { [instance] in
            instance.drain()
        } close: { [instance] in
            instance.close()
        }
        source.withLock { $0.readable = running }
    }

    package func arm() -> Bool { instance.arm() }

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

/// The inotify watch of a folder, and the meaning of its events for one file in it.
struct FolderWatch {
    private static let goneMask = IN_DELETE_SELF | IN_MOVE_SELF
    /// Writes to a file that lost its name are not reported: its closing has no meaning for the file that has the name now.
    private static let mask =
        IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | IN_MODIFY | IN_CLOSE_WRITE | goneMask
        | IN_EXCL_UNLINK | IN_ONLYDIR

    private let path: String
    private let folder: String
    private let name: String
    private var number: Int32?

    /// - Parameter path: The absolute path of the file.
    init(of path: String) {
        self.path = path
        let slash = path.lastIndex(of: "/") ?? path.startIndex
        folder = slash == path.startIndex ? "/" : String(path[..<slash])
        name = String(path[slash...].drop { $0 == "/" })
    }

    /// Watches the folder that has the path now.
    /// - Returns: Whether it is watched, or does not exist.
    mutating func arm(on descriptor: Int32) -> Bool {
        let number = inotify_add_watch(descriptor, folder, UInt32(bitPattern: Self.mask))
        let isMissing = number < 0 && (errno == ENOENT || errno == ENOTDIR)
        if let former = self.number, former != number { inotify_rm_watch(descriptor, former) }
        self.number = number < 0 ? nil : number
        return number >= 0 || isMissing
    }

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

    /// Returns the meaning of an event for the file; nil when it is unrelated.
    private func event(watch: Int32, mask: UInt32, name: String) -> FileEvent? {
        func has(_ bit: Int32) -> Bool { mask & UInt32(bitPattern: bit) != 0 }
        if has(IN_Q_OVERFLOW) { return .touched }
        // A removed watch still has events in the queue, and reports their end.
        guard watch == number, !has(IN_IGNORED) else { return nil }
        guard name == self.name else {
            // Kubernetes moves another link `..data` into the folder, through which the link of the file leads.
            return has(Self.goneMask) ? .touched : has(IN_MOVED_TO) ? .movedBeside : nil
        }
        // A link leads to a file whose folder is not watched, and which may have a writer.
        if has(IN_MOVED_TO) { return isRegular ? .replaced : .touched }
        if has(IN_MODIFY) { return .modified }
        return has(IN_CLOSE_WRITE) ? .closed : .touched
    }

    private var isRegular: Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }
}

/// The descriptor of an inotify instance, its watch and its pending events.
///
/// Its lock may be held while a file system hangs. So only the watcher's thread and the queue of the descriptor take it,
/// once watching has begun.
final class InotifyInstance: Sendable {
    /// Valid until the instance is closed.
    let descriptor: Int32
    /// Reading and reporting events is one step: they are reported in order. When ``drain()`` returns, they have been reported,
    /// regardless of the reading thread.
    private let state: Lock<State>
    private let closing = OneShot<Void>()

    private struct State: Sendable {
        var watch: FolderWatch
        var tell: (@Sendable (FileEvent) -> Void)?
        var isClosed = false
    }

    /// - Returns: nil when the system has none left.
    init?(_ watch: FolderWatch) {
        state = Lock(State(watch: watch))
        descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
        guard descriptor >= 0 else { return nil }
    }

    /// Sets the handler of events; it must not call back.
    func tell(_ handler: @escaping @Sendable (FileEvent) -> Void) { state.withLock { $0.tell = handler } }

    /// Watches the folder that has the path now.
    /// - Returns: Whether it is watched, or does not exist.
    func arm() -> Bool { state.withLock { $0.isClosed || $0.watch.arm(on: descriptor) } }

    /// Reports all changes before the call, and returns after that.
    func drain() {
        state.withLock { state in
            guard !state.isClosed, let tell = state.tell else { return }
            withUnsafeTemporaryAllocation(byteCount: 4096, alignment: MemoryLayout<inotify_event>.alignment) { buffer in
                while true {
                    let count = read(descriptor, buffer.baseAddress, buffer.count)
                    if count < 0, errno == EINTR { continue }
                    guard count > 0 else { return }
                    for event in state.watch.events(in: UnsafeRawBufferPointer(buffer)[..<count]) { tell(event) }
                }
            }
        }
    }

    /// Closes the descriptor, which no thread may wait on any more: its number may be reused from now on. Idempotent.
    func close() {
        let isFirst = state.withLock { state in
            defer { (state.tell, state.isClosed) = (nil, true) }
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
