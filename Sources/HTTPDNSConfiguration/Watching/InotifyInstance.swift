internal import Glibc
internal import HTTPDNSCore
internal import HTTPDNSPrimitives

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
