// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// A client connection to a service's control socket.
///
/// For one task at a time. Unread replies of the service wait in the kernel: the service drops a peer that does not read, and
/// no memory is used here.
package final class ControlCall: Sendable {
    private let path: String
    private let descriptor: Int32
    /// Reads and writes may block: they run on a dedicated thread.
    private let work = SerialWork()
    private let input = Lock(Input())

    private struct Input: Sendable {
        /// The bytes that were read after the last line.
        var rest: [UInt8] = []
        /// The length of its part without a line feed.
        var searched = 0
    }

    private static let chunk = 64 * 1024

    /// Connects.
    /// - Throws: ``ControlCallError``.
    package init(path: String) throws(ControlCallError) {
        self.path = path
        guard let address = UnixSocketAddress(path: path) else {
            throw .invalidPath(path, limit: UnixSocketAddress.maximumPath)
        }
        var status = stat()
        guard stat(path, &status) == 0 else { throw .unreachable(path, errno) }
        guard status.st_mode & S_IFMT == S_IFSOCK else { throw .notSocket(path) }
        do {
            descriptor = try UnixSocketAddress.newSocket(isBlocking: true)
        } catch {
            throw .unreachable(path, error.number)
        }
        do {
            try address.connect(descriptor)
        } catch {
            // The deinitializer closes the descriptor, since all properties have their values.
            throw .unreachable(path, error.number)
        }
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
                    // The service's last reply may have the reason that it closed the connection.
                    return
                } else if errno != EINTR {
                    throw ControlCallError.lost(path)
                }
            }
        }
    }

    /// Returns the next reply of the service; nil after the last one.
    /// - Throws: ``ControlCallError`` for data outside of the protocol, and for a fault from the service; `CancellationError`,
    ///   after which the connection cannot be used.
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

    /// Sends a request, and waits for its reply.
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
            // A blocked read returns without data.
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
