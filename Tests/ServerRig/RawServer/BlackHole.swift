// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// An address and port where connecting neither succeeds nor fails: the kernel drops every SYN, because the queue of a listener
/// without accept calls is full. It is useful for connect deadlines and for the race of addresses.
public final class BlackHole: Sendable {
    /// The address.
    public let address: String
    /// The port.
    public let port: UInt16
    private let listener: FileDescriptor
    private let fillers: [FileDescriptor]

    /// Opens the listener and fills its queue.
    /// - Parameters:
    ///   - address: A loopback address.
    ///   - port: The port; 0 lets the system choose.
    /// - Throws: ``SystemCallError``, or ``RigError`` when the kernel still accepts connections.
    public init(address: String = "127.0.0.1", port: UInt16 = 0) throws {
        self.address = address
        listener = try SocketAddress(address, port).listeningSocket(backlog: 0)
        self.port = try SocketAddress.port(of: listener)
        var fillers: [FileDescriptor] = []
        for _ in 0..<16 {
            let filler = try SocketAddress(address, self.port).connectingSocket()
            fillers.append(filler)
            var descriptors = [pollfd(fd: filler.number, events: Int16(POLLOUT), revents: 0)]
            // On loopback an accepted connection is established before `connect` returns.
            if poll(&descriptors, 1, 250) == 0 {
                self.fillers = fillers
                return
            }
        }
        throw RigError("16 connections went into the queue of a listener with backlog 0")
    }
}
