// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// A TLS relay with `openssl s_server` in front of a clear-text server, for bytes inside TLS that follow a script. It accepts
/// one connection after the other, and carries all of them on one connection to that server.
public final class TLSRelay: Sendable {
    /// The port, on 127.0.0.1.
    public let port: UInt16
    private let child: ChildProcess

    /// Starts the relay.
    /// - Parameters:
    ///   - server: The port of the server, on 127.0.0.1.
    ///   - certificate: The name of a file of ``ServerRig/certificateFile(_:)`` without `.pem`; other certificates in it are also sent.
    ///   - protocols: The protocols for ALPN, such as `h2`.
    ///   - options: Further options of `openssl s_server`, such as `-tls1_2`.
    /// - Throws: ``RigError`` with its output, when it does not start.
    public init(
        to server: UInt16,
        certificate: String = "good",
        protocols: String,
        options: [String] = []
    ) async throws {
        guard let program = Command.find("openssl") else { throw RigError("openssl is not installed") }
        let rig = try await ServerRig.shared()
        let chain = rig.certificateFile("\(certificate).pem")
        let upstream = try SocketAddress("127.0.0.1", server).connectingSocket()
        // A program that is not written for sockets reads and writes it.
        var poll = pollfd(fd: upstream.number, events: Int16(POLLOUT), revents: 0)
        guard Glibc.poll(&poll, 1, 30_000) == 1, fcntl(upstream.number, F_SETFL, 0) == 0 else {
            throw RigError("no connection to port \(server)")
        }
        // In quiet mode it does not report the port that the system chose.
        let port = try GuardedProcess.reservePort()
        self.port = port
        let error = try FileDescriptor.unnamedFile()
        let child = try ChildProcess(
            program,
            [
                "s_server", "-accept", "127.0.0.1:\(port)", "-quiet", "-alpn", protocols, "-cert", chain, "-key",
                rig.certificateFile("\(certificate).key"), "-cert_chain", chain,
            ] + options,
            input: upstream,
            output: upstream,
            error: error
        )
        self.child = child
        try await onBlockingThread {
            let deadline = ContinuousClock.now + .seconds(120)
            while ContinuousClock.now < deadline, child.exitStatus == nil {
                if SocketTable.isListening(on: port) { return }
                usleep(2_000)
            }
            child.send(SIGKILL)
            throw RigError("openssl s_server did not begin: \(String(decoding: error.contents(), as: UTF8.self))")
        }
    }

    deinit {
        child.send(SIGKILL)
        _ = child.waitForExit(within: .seconds(5))
    }
}
