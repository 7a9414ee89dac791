public import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSPrimitives
public import Logging

/// A Unix socket through which operators look into a running client and turn its kill switch: what `resolve-test dump`,
/// `switch` and `watch --socket` speak to.
///
/// Only the process's own user and root get in: the file has mode 0600 from its first moment, and the kernel is asked who
/// connects. A thread of its own waits for them, and costs nothing while nobody does. The client goes on whatever happens
/// here. Docs/Operations.md describes the protocol.
///
/// It holds the client. Dropped without ``shutdown()`` it ends in the background.
public final class ControlSocket: Sendable {
    private struct Ending: Sendable {
        var hasEnded = false
        var waiters: [OneShot<Void>] = []
    }

    /// Where the socket is.
    public let path: String

    private let mailbox: ControlMailbox
    private let ending = EndingBox()

    /// Told when the thread has ended.
    private final class EndingBox: Sendable {
        let state = Lock(Ending())

        func end() {
            let waiters = state.withLock { ending in
                ending.hasEnded = true
                defer { ending.waiters = [] }
                return ending.waiters
            }
            for waiter in waiters { waiter.deliver(()) }
        }
    }

    /// Opens a socket, which is there when this returns. A file at its path is replaced if it is a socket of this user that
    /// nobody listens on, as one that a killed process left behind.
    /// - Parameters:
    ///   - client: Whom it is about.
    ///   - path: Where the socket is to be; its folder must exist, and the path have at most 107 octets.
    ///   - logger: Where refused peers and turns of the kill switch are told; nil means nowhere.
    /// - Throws: ``ControlSocketError``.
    public convenience init(
        client: HTTPDNSClient,
        path: String,
        logger: Logger? = nil
    ) throws(ControlSocketError) {
        try self.init(client: client, path: path, logger: logger, timeSource: SystemTimeSource())
    }

    /// As ``init(client:path:logger:)``, with the clock of watches given.
    package init(
        client: HTTPDNSClient,
        path: String,
        logger: Logger? = nil,
        timeSource: any TimeSource
    ) throws(ControlSocketError) {
        self.path = path
        do {
            mailbox = try ControlMailbox()
        } catch {
            throw .system("no descriptors for the control socket \(path)", path, error)
        }
        let file = try SocketFile(path: path)
        let desk = ControlDesk(client: client, timeSource: timeSource, logger: logger)
        let (mailbox, ending) = (mailbox, ending)
        let isStarted = DetachedThread.start {
            ControlLoop(file, mailbox, desk).run()
            ending.end()
        }
        guard isStarted else {
            file.remove()
            ending.end()
            throw ControlSocketError(
                code: .systemError,
                path: path,
                message: "the system gives no thread for the control socket \(path)",
                hint: "the process may have reached its limit of threads"
            )
        }
    }

    deinit { mailbox.post(.stop) }

    /// Ends all connections, and removes the socket's file. It is gone when this returns. Idempotent, also from several tasks.
    public func shutdown() async {
        mailbox.post(.stop)
        let waiter = OneShot<Void>()
        let hasEnded = ending.state.withLock { ending in
            if !ending.hasEnded { ending.waiters.append(waiter) }
            return ending.hasEnded
        }
        if !hasEnded { await waiter.value() }
    }
}
