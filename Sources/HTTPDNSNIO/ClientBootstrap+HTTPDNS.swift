// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if NIO
public import HTTPDNS
public import NIOCore
public import NIOPosix

extension ClientBootstrap {
    /// Connects to a host through a client: by its addresses and policy, its race and its records of endpoints, its time limits,
    /// its proxy and its last resorts, as its own requests do.
    ///
    /// A failed or slow address counts for later requests of the client too, and the other way round. TCP alone: a failure of TLS
    /// in the channel is not reported. The bootstrap's own resolver, connect timeout and local address do not apply.
    /// - Throws: `HTTPDNSClientError` of a connection that could not be made, `CancellationError`, errors of the bootstrap's
    ///   channel initializer.
    public func connect(host: String, port: Int, through client: HTTPDNSClient) async throws -> any Channel {
        let socket = try await client.connectedSocket(to: host, port: UInt16(port: port))
        return try await withConnectedSocket(socket.descriptor).get()
    }
}

extension UInt16 {
    /// - Throws: `HTTPDNSClientError` with code `invalidURL` for a number that is no port.
    init(port: Int) throws(HTTPDNSClientError) {
        guard let port = UInt16(exactly: port) else {
            throw HTTPDNSClientError(code: .invalidURL, phase: .request, message: "\(port) is not a port, 0 to 65535")
        }
        self = port
    }
}
#endif
