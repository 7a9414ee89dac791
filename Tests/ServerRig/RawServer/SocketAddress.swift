// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// An address and port in the form of the socket calls.
struct SocketAddress {
    private var storage = sockaddr_storage()
    private var length: socklen_t
    private let text: String

    init(_ address: String, _ port: UInt16) throws {
        text = "\(address) port \(port)"
        var v4 = sockaddr_in()
        var v6 = sockaddr_in6()
        if inet_pton(AF_INET, address, &v4.sin_addr) == 1 {
            v4.sin_family = sa_family_t(AF_INET)
            v4.sin_port = port.bigEndian
            length = socklen_t(MemoryLayout.size(ofValue: v4))
            withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: v4, as: sockaddr_in.self) }
        } else if inet_pton(AF_INET6, address, &v6.sin6_addr) == 1 {
            v6.sin6_family = sa_family_t(AF_INET6)
            v6.sin6_port = port.bigEndian
            length = socklen_t(MemoryLayout.size(ofValue: v6))
            withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: v6, as: sockaddr_in6.self) }
        } else {
            throw RigError("\(address) is not an address")
        }
    }

    /// Creates the address of a Unix socket.
    init(unixSocket path: String) throws {
        text = path
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let room = MemoryLayout.size(ofValue: address.sun_path)
        guard path.utf8.count < room else { throw RigError("\(path) is longer than \(room - 1) bytes") }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        length = socklen_t(MemoryLayout.size(ofValue: address))
        withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: address, as: sockaddr_un.self) }
    }

    private func newSocket() throws -> FileDescriptor {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        return FileDescriptor(try checked("socket", socket(Int32(storage.ss_family), type, 0)))
    }

    private func withPointer(_ body: (UnsafePointer<sockaddr>) -> Int32) -> Int32 {
        withUnsafePointer(to: storage) { $0.withMemoryRebound(to: sockaddr.self, capacity: 1, body) }
    }

    /// Returns a socket that owns its port until it is closed. A port that the system chose at `bind` becomes free for other
    /// tests' servers once the socket refuses connections (`shutdown`). So the port is bound by its number.
    func listeningSocket(backlog: Int32) throws -> FileDescriptor {
        let chosen = try boundSocket()
        var address = self
        guard address.take(port: try SocketAddress.port(of: chosen)) else { return try listening(chosen, backlog) }
        return try withExtendedLifetime(chosen) { try listening(address.boundSocket(), backlog) }
    }

    /// - Returns: Whether another socket can be bound to the port too; false for a Unix socket, which has no port.
    private mutating func take(port: UInt16) -> Bool {
        guard storage.ss_family != sa_family_t(AF_UNIX) else { return false }
        // The port is at the same offset in both families (sin_port, sin6_port).
        withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: port.bigEndian, toByteOffset: 2, as: UInt16.self) }
        return true
    }

    private func boundSocket() throws -> FileDescriptor {
        let socket = try newSocket()
        allowOthers(at: socket)
        try bind(socket)
        return socket
    }

    /// Returns a socket that is bound, which fails where another one is. Afterwards it leaves the port to sockets that listen
    /// with SO_REUSEADDR (socket(7)), as servers do.
    func reservation() throws -> FileDescriptor {
        let socket = try newSocket()
        try bind(socket)
        allowOthers(at: socket)
        return socket
    }

    private func bind(_ socket: FileDescriptor) throws {
        try checked("bind \(text)", withPointer { Glibc.bind(socket.number, $0, length) })
    }

    private func allowOthers(at socket: FileDescriptor) {
        var one: Int32 = 1
        setsockopt(socket.number, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout.size(ofValue: one)))
    }

    private func listening(_ socket: FileDescriptor, _ backlog: Int32) throws -> FileDescriptor {
        try checked("listen on \(text)", listen(socket.number, backlog))
        return socket
    }

    /// Returns a socket that has begun to connect.
    func connectingSocket() throws -> FileDescriptor {
        let socket = try newSocket()
        let result = withPointer { connect(socket.number, $0, length) }
        guard result == 0 || errno == EINPROGRESS else { throw SystemCallError("connect to \(text)") }
        return socket
    }

    static func port(of socket: FileDescriptor) throws -> UInt16 {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout.size(ofValue: storage))
        let result = withUnsafeMutablePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket.number, $0, &length) }
        }
        try checked("getsockname", result)
        // The port is at the same offset in both families (sin_port, sin6_port).
        return withUnsafeBytes(of: storage) { UInt16(bigEndian: $0.load(fromByteOffset: 2, as: UInt16.self)) }
    }
}
