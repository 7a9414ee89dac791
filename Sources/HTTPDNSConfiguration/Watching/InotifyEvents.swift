internal import Glibc
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
    /// - Returns: nil when the system has no inotify instance left (`fs.inotify.max_user_instances`), or the file is on a file
    ///   system that others change without this system's knowledge.
    package init?(_ path: String) {
        guard !RemoteFileSystem.holds(path) else { return nil }
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
            if again == chain { return true }
            chain = again
        }
        // The path changes faster than it can be watched: further events will arrive.
        return true
    }

    package func end() {
        source.withLock { source in
            guard !source.hasEnded else { return }
            source.hasEnded = true
            // Cancelling does not wait; the handler runs on the source's queue.
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
