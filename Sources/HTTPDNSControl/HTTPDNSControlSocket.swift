// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNS
internal import HTTPDNSCore
public import HTTPDNSMonitor
internal import HTTPDNSPrimitives
public import Logging

/// A Unix socket through which operators inspect a running client and turn its kill switch.
///
/// `resolve-test dump`, `monitor`, `switch` and `watch --socket` connect to it. Only the process's own user and root are admitted: the
/// file has mode 0600 from the moment it is created, and the kernel reports the user of each peer. A dedicated thread waits
/// for connections and uses no CPU time while there are none. Failures of the socket do not affect the client.
/// Docs/Operations/ControlProtocol.md describes the protocol.
///
/// The socket keeps a reference to the client and to the monitor. If it is released without ``shutdown()``, it shuts down in the background.
public final class HTTPDNSControlSocket: Sendable {
    private struct Ending: Sendable {
        var hasEnded = false
        var waiters: [OneShot<Void>] = []
    }

    /// The path of the socket.
    public let path: String

    private let mailbox: ControlMailbox
    private let ending = EndingBox()

    /// Delivered when the thread has ended.
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

    /// Opens a socket. Peers can connect when this returns.
    ///
    /// An existing file at the path is replaced if it is a socket of this user without a listener, as a killed process leaves
    /// behind.
    /// - Parameters:
    ///   - client: The client to inspect and switch.
    ///   - path: The path of the socket. Its folder must exist, and the path must have at most 107 bytes.
    ///   - monitor: The monitor whose redacted records peers may read; nil for none. It is neither started nor stopped.
    ///   - logger: The logger for refused peers and for turns of the kill switch; nil disables logging.
    /// - Throws: ``HTTPDNSControlSocketError``.
    public convenience init(
        client: HTTPDNSClient,
        path: String,
        monitor: HTTPDNSTrafficMonitor? = nil,
        logger: Logger? = nil
    ) throws(HTTPDNSControlSocketError) {
        try self.init(client: client, path: path, monitor: monitor, logger: logger, timeSource: SystemTimeSource())
    }

    /// Opens a socket as ``init(client:path:monitor:logger:)`` does, with a given clock for watches.
    package init(
        client: HTTPDNSClient,
        path: String,
        monitor: HTTPDNSTrafficMonitor? = nil,
        logger: Logger? = nil,
        timeSource: any TimeSource
    ) throws(HTTPDNSControlSocketError) {
        self.path = path
        let file: SocketFile
        do throws(SystemErrorNumber) {
            mailbox = try ControlMailbox()
        } catch {
            throw .init(.system("no descriptors for the control socket \(path)", path, error))
        }
        do {
            file = try SocketFile(path: path)
        } catch {
            throw .init(error)
        }
        let desk = ControlRequestHandler(client: client, monitor: monitor, timeSource: timeSource, logger: logger)
        let (mailbox, ending) = (mailbox, ending)
        let isStarted = DetachedThread.start {
            ControlLoop(file, mailbox, desk).run()
            ending.end()
        }
        guard isStarted else {
            file.remove()
            ending.end()
            throw HTTPDNSControlSocketError(
                code: .systemError,
                path: path,
                message: "the system gives no thread for the control socket \(path)",
                hint: "the process may have reached its limit of threads"
            )
        }
    }

    deinit { mailbox.post(.stop) }

    /// Ends all connections and removes the socket's file.
    ///
    /// The file is gone when this returns. Idempotent, also from several tasks.
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

/// An error that prevented a control socket from opening.
///
/// Its description has one line.
public struct HTTPDNSControlSocketError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure. More kinds may be added.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// A short identifier from a bounded set.
        public let description: String

        /// The path is empty, contains a NUL, or is longer than the system allows (107 bytes on Linux).
        public static let invalidPath = Code(description: "invalid-path")
        /// Another process listens on the path.
        public static let inUse = Code(description: "in-use")
        /// The file at the path is not a socket of this user. It is left unchanged.
        public static let occupied = Code(description: "occupied")
        /// A system call failed. The message has the system's error text.
        public static let systemError = Code(description: "system-error")
    }

    /// The kind of failure.
    public var code: Code
    /// The path as it was given.
    public var path: String
    /// The failure, with the path.
    public var message: String
    /// The suggested action.
    public var hint: String?

    /// One line: message and hint.
    public var description: String { hint.map { "\(message) (\($0))" } ?? message }
}

extension HTTPDNSControlSocketError {
    init(_ error: SocketFileError) {
        self.init(
            code: Code(description: error.code.rawValue),
            path: error.path,
            message: error.message,
            hint: error.hint
        )
    }
}
