// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Dispatch
internal import Glibc
internal import HTTPDNSPrimitives

/// An event of the system for a watched file. It is a hint: a change may cause none.
package enum FileEvent: Hashable, Sendable {
    /// Another regular file was moved into place. It is complete.
    case replaced
    /// The file was written to: its writer has it open.
    case modified
    /// A writer has closed it.
    case closed
    /// Another change of the name: it, a link or its folder was created, removed or replaced, or events were lost. The next
    /// check shows what it is.
    case touched
}

/// The inotify watch of the folder that holds a file.
///
/// The folder is watched because editors move a new file over the old one, which ends all events of the old one. Changes
/// behind links, of folders above and on other machines cause no event: the next check of the file detects those. It uses
/// one descriptor, and no thread without events.
final class FolderWatch: Sendable {
    private static let goneMask = IN_DELETE_SELF | IN_MOVE_SELF
    /// Writes to a file that lost its name are not reported: its closing has no meaning for the file that has the name now.
    private static let mask =
        IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | IN_MODIFY | IN_CLOSE_WRITE | goneMask
        | IN_EXCL_UNLINK | IN_ONLYDIR

    private struct State {
        /// The number of the watch; nil without one.
        var number: Int32?
        /// Whether a watch may exist whose number is not known yet.
        var isArming = false
        var events: [FileEvent] = []
        /// Whether the last event was a write.
        var isBeingWritten = false
        var source: RunningSource?
        var hasBegun = false
    }

    private let folder: String
    private let name: String
    private let descriptor: Int32
    private let state = Lock(State())
    private let closing = OneShot<Void>()

    /// - Parameter path: The absolute path of the file.
    /// - Returns: nil when the system has no inotify instance left (`fs.inotify.max_user_instances`).
    init?(of path: String) {
        let slash = path.lastIndex(of: "/") ?? path.startIndex
        folder = slash == path.startIndex ? "/" : String(path[..<slash])
        name = String(path[slash...].drop { $0 == "/" })
        descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
        guard descriptor >= 0 else { return nil }
    }

    /// Calls `wake` when the file may have changed, from now until the end. Call it once.
    func begin(_ wake: @escaping @Sendable () -> Void) {
        let source = RunningSource.reading(descriptor) { [self] in
            if receive() { wake() }
        } close: { [descriptor, closing] in
            close(descriptor)
            closing.deliver(())
        }
        state.withLock { ($0.source, $0.hasBegun) = (source, true) }
    }

    /// Watches the folder that has the path now, which may be another. It may block.
    /// - Parameter add: inotify_add_watch(2).
    /// - Returns: Whether it is watched, or does not exist.
    func arm(_ add: (Int32, UnsafePointer<CChar>, UInt32) -> Int32 = inotify_add_watch) -> Bool {
        state.withLock { $0.isArming = true }
        let number = add(descriptor, folder, UInt32(bitPattern: Self.mask))
        let isMissing = number < 0 && (errno == ENOENT || errno == ENOTDIR)
        let former = state.withLock { state in
            defer { (state.number, state.isArming) = (number < 0 ? nil : number, false) }
            return state.number
        }
        if let former, former != number { inotify_rm_watch(descriptor, former) }
        return number >= 0 || isMissing
    }

    /// Takes the events for all changes until now.
    func takeEvents() -> [FileEvent] {
        _ = receive()
        return state.withLock { state in
            defer { state.events = [] }
            return state.events
        }
    }

    /// Stops watching, and returns when nothing of it is left.
    func end() async {
        guard let source = state.withLock({ $0.source.take() }) else { return }
        source.cancel()
        await closing.value()
    }

    // A source keeps this object until its end, and closes the descriptor itself.
    deinit { if !state.withLock({ $0.hasBegun }) { close(descriptor) } }

    /// Reads the pending events. That never blocks, and is one step with their order.
    /// - Returns: Whether the file should be checked.
    private func receive() -> Bool {
        state.withLock { state in
            var isNews = false
            withUnsafeTemporaryAllocation(byteCount: 4096, alignment: MemoryLayout<inotify_event>.alignment) { buffer in
                while true {
                    let count = read(descriptor, buffer.baseAddress, buffer.count)
                    if count < 0, errno == EINTR { continue }
                    guard count > 0 else { return }
                    if receive(UnsafeRawBufferPointer(buffer)[..<count], &state) { isNews = true }
                }
            }
            return isNews
        }
    }

    /// Keeps the events in bytes from inotify (inotify(7)): number of the watch, mask, cookie, length of the name, and the name
    /// with zeros after it.
    private func receive(_ bytes: Slice<UnsafeRawBufferPointer>, _ state: inout State) -> Bool {
        var isNews = false
        let header = MemoryLayout<inotify_event>.size
        var offset = bytes.startIndex
        while offset + header <= bytes.endIndex {
            let event = bytes.base.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
            let end = offset + header + Int(event.len)
            guard end <= bytes.endIndex else { break }
            let name = String(decoding: bytes.base[(offset + header)..<end].prefix { $0 != 0 }, as: UTF8.self)
            offset = end
            func has(_ bit: Int32) -> Bool { event.mask & UInt32(bitPattern: bit) != 0 }
            // A removed watch still has events in the queue, and reports their end.
            let isOwn = event.wd == state.number || state.isArming
            guard has(IN_Q_OVERFLOW) || isOwn && !has(IN_IGNORED) else { continue }
            let isOfFolder = has(IN_Q_OVERFLOW) || has(Self.goneMask)
            guard isOfFolder || name == self.name, !has(IN_ATTRIB) else {
                // Kubernetes moves another link `..data` into the folder, through which the link of the file leads. Permissions
                // say nothing about the content.
                isNews = isNews || has(IN_MOVED_TO) || name == self.name
                continue
            }
            let kind: FileEvent =
                isOfFolder
                ? .touched
                : has(IN_MOVED_TO) ? .replaced : has(IN_MODIFY) ? .modified : has(IN_CLOSE_WRITE) ? .closed : .touched
            // A writer writes many times; the first write leads to a check.
            isNews = isNews || kind != .modified || !state.isBeingWritten
            state.isBeingWritten = kind == .modified
            if state.events.last != kind { state.events.append(kind) }
        }
        return isNews
    }
}

/// A running dispatch source that any owner may end.
///
/// Sharing is safe: after `init` only `cancel` is called on it, which may be called from any thread
/// (dispatch_source_create(3)). Dispatch's own types are not marked as Sendable.
final class RunningSource: @unchecked Sendable {
    private let source: any DispatchSourceProtocol

    private init(_ source: any DispatchSourceProtocol, _ handler: @escaping @Sendable () -> Void) {
        self.source = source
        source.setEventHandler(handler: DispatchWorkItem(block: handler))
    }

    /// Calls `handler` whenever there are bytes to read.
    /// - Parameter close: Called once, after the last call of `handler`, to close the descriptor.
    static func reading(
        _ descriptor: Int32,
        _ handler: @escaping @Sendable () -> Void,
        close: @escaping @Sendable () -> Void
    ) -> RunningSource {
        let queue = DispatchQueue(label: "httpdns.configuration.events")
        let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        source.setCancelHandler(handler: DispatchWorkItem(block: close))
        let running = RunningSource(source, handler)
        source.resume()
        return running
    }

    /// Calls `handler` whenever the process receives SIGHUP. While the source exists, the signal does not end the process.
    static func hangUp(_ handler: @escaping @Sendable () -> Void) -> RunningSource {
        let queue = DispatchQueue(label: "httpdns.configuration.signals")
        let source = DispatchSource.makeSignalSource(signal: SIGHUP, queue: queue)
        let running = RunningSource(source, handler)
        source.resume()
        return running
    }

    /// Ends its calls, without waiting for a running one. Idempotent.
    func cancel() { source.cancel() }

    deinit { cancel() }
}
