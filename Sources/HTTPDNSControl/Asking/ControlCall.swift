internal import HTTPDNSCore
internal import HTTPDNSPrimitives

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// A connection to a service's control socket, from the side of who asks.
///
/// For one task at a time. What the service says waits in the kernel until it is asked for, so that one who does not read
/// is dropped by the service, and holds nothing here.
package final class ControlCall: Sendable {
    private let path: String
    private let descriptor: Int32
    /// Reading and writing may block: it is done on a thread of its own.
    private let work = SerialWork()
    private let input = Lock(Input())

    private struct Input: Sendable {
        /// What was read behind the last line.
        var rest: [UInt8] = []
        /// How much of it has no line feed.
        var searched = 0
    }

    private static let chunk = 64 * 1024

    /// Connects.
    /// - Throws: ``ControlCallError``.
    package init(path: String) throws(ControlCallError) {
        self.path = path
        guard let address = SocketAddress(path: path) else {
            throw .invalidPath(path, limit: SocketAddress.maximumPath)
        }
        var status = stat()
        guard stat(path, &status) == 0 else { throw .unreachable(path, errno) }
        guard status.st_mode & S_IFMT == S_IFSOCK else { throw .notSocket(path) }
        do {
            descriptor = try SocketAddress.newSocket(isBlocking: true)
        } catch {
            throw .unreachable(path, error.number)
        }
        do {
            try address.connect(descriptor)
        } catch {
            close(descriptor)
            throw .unreachable(path, error.number)
        }
        #if canImport(Darwin)
        var one: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &one, socklen_t(MemoryLayout.size(ofValue: one)))
        #endif
    }

    deinit { close(descriptor) }

    /// Sends a request.
    /// - Throws: ``ControlCallError`` when the service has ended; `CancellationError`.
    package func send(_ request: ControlRequest) async throws {
        let line = request.line
        try await run { [self] in
            var sent = 0
            while sent < line.count {
                let count = SocketOctets.write(line[sent...], to: descriptor)
                if count >= 0 {
                    sent += count
                } else if errno == EPIPE || errno == ECONNRESET {
                    // Why it hung up may stand in what it said.
                    return
                } else if errno != EINTR {
                    throw ControlCallError.lost(path)
                }
            }
        }
    }

    /// What the service says next; nil when it says nothing more.
    /// - Throws: ``ControlCallError`` for what is not of the protocol, and for a fault, which the service has said;
    ///   `CancellationError`, after which the connection is of no use.
    package func next() async throws -> ControlReply? {
        guard let line = try await run({ [self] in try nextLine() }) else { return nil }
        let reply: ControlReply
        do {
            reply = try ControlReply(line: line)
        } catch {
            throw ControlCallError.notUnderstood(path)
        }
        if let fault = reply.error { throw ControlCallError.refused(fault, path) }
        return reply
    }

    /// Sends a request, and waits for what is said to it.
    /// - Throws: As ``send(_:)`` and ``next()``.
    package func ask(_ request: ControlRequest) async throws -> ControlReply {
        try await send(request)
        while let reply = try await next() {
            if reply.command == request.word { return reply }
        }
        throw ControlCallError.lost(path)
    }

    private func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withTaskCancellationHandler {
            try await work.run(body)
        } onCancel: {
            // Whoever reads comes back with nothing.
            shutdown(descriptor, Int32(SHUT_RDWR))
        }
    }

    private func nextLine() throws(ControlCallError) -> [UInt8]? {
        var (rest, searched) = input.withLock { ($0.rest, $0.searched) }
        var buffer = [UInt8](repeating: 0, count: ControlCall.chunk)
        while true {
            if let end = rest[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                let line = Array(rest[..<end])
                let left = Array(rest[(end + 1)...])
                input.withLock { $0 = Input(rest: left) }
                return line
            }
            searched = rest.count
            guard rest.count <= ControlProtocol.maximumReply + ControlCall.chunk else { throw .notUnderstood(path) }
            let count = read(descriptor, &buffer, buffer.count)
            if count > 0 {
                rest += buffer[..<count]
            } else if count == 0 || errno != EINTR {
                guard rest.isEmpty else { throw .lost(path) }
                return nil
            }
        }
    }
}
