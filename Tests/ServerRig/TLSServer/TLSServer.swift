// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// A TLS server with `openssl s_server` on a port of its own, for TLS settings that nginx does not support. It responds to each
/// request with a page.
public final class TLSServer: Sendable {
    /// The port.
    public let port: UInt16
    private let child: ChildProcess
    private let error: FileDescriptor

    /// Starts the server.
    /// - Parameters:
    ///   - certificate: The name of a file of ``ServerRig/certificateFile(_:)`` without `.pem`; other certificates in it are also sent.
    ///   - key: The same for its key, if it is not that of the certificate.
    ///   - options: Further options, such as `-tls1_2`.
    ///   - address: The address to listen on.
    ///   - port: The port; 0 lets the system choose.
    /// - Throws: ``RigError`` with its output, when it does not start.
    public init(
        certificate: String = "good",
        key: String? = nil,
        options: [String] = [],
        address: String = "127.0.0.1",
        port: UInt16 = 0
    ) async throws {
        guard let program = Command.find("openssl") else { throw RigError("openssl is not installed") }
        let rig = try await ServerRig.shared()
        let chain = rig.certificateFile("\(certificate).pem")
        let output = try FileDescriptor.unnamedFile()
        let error = try FileDescriptor.unnamedFile()
        let arguments =
            [
                "s_server", "-accept", "\(address):\(port)", "-www", "-cert", chain, "-key",
                rig.certificateFile("\(key ?? certificate).key"), "-cert_chain", chain,
            ]
        let child = try ChildProcess(
            program,
            arguments + options,
            input: try FileDescriptor.unnamedFile(),
            output: output,
            error: error
        )
        self.child = child
        self.error = error
        self.port = try await onBlockingThread {
            let deadline = ContinuousClock.now + .seconds(120)
            while ContinuousClock.now < deadline, child.exitStatus == nil {
                // `ACCEPT 127.0.0.1:40123` reports that it is ready; with a given port it is `ACCEPT`.
                let text = String(decoding: output.contents(), as: UTF8.self)
                for line in text.split(separator: "\n") where line.hasPrefix("ACCEPT") {
                    if port > 0 { return port }
                    if let port = line.split(separator: ":").last.flatMap({ UInt16($0) }) { return port }
                }
                usleep(2_000)
            }
            child.send(SIGKILL)
            throw RigError("openssl s_server did not begin: \(String(decoding: error.contents(), as: UTF8.self))")
        }
    }

    /// The server's output about its connections so far, if its options request it (`-state`, `-verify 1`).
    public var report: String { String(decoding: error.contents(), as: UTF8.self) }

    deinit {
        child.send(SIGKILL)
        _ = child.waitForExit(within: .seconds(5))
    }
}
