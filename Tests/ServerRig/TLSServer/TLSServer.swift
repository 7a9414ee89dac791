internal import Glibc

/// `openssl s_server` on a port of its own: TLS in shapes that nginx does not take. To each request it answers with a page.
public final class TLSServer: Sendable {
    /// The port.
    public let port: UInt16
    private let child: ChildProcess
    private let error: FileDescriptor

    /// Starts it.
    /// - Parameters:
    ///   - certificate: The PEM file of its certificate; what else is in it is sent along.
    ///   - key: The PEM file of its key.
    ///   - options: More of its options, such as `-tls1_2`.
    ///   - address: Where it listens.
    ///   - port: The port; 0 lets the system choose.
    /// - Throws: ``RigError`` with what it said, when it does not begin.
    public init(
        certificate: String,
        key: String,
        options: [String] = [],
        address: String = "127.0.0.1",
        port: UInt16 = 0
    ) async throws {
        guard let program = Command.find("openssl") else { throw RigError("openssl is not installed") }
        let output = try FileDescriptor.unnamedFile()
        let error = try FileDescriptor.unnamedFile()
        let arguments =
            [
                "s_server", "-accept", "\(address):\(port)", "-www", "-cert", certificate, "-key", key, "-cert_chain",
                certificate,
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
            let deadline = ContinuousClock.now + .seconds(30)
            while ContinuousClock.now < deadline, child.exitStatus == nil {
                // `ACCEPT 127.0.0.1:40123` is its word for being ready, `ACCEPT` where it was given the port.
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

    /// What it told of its connections so far, where its options ask for that (`-state`, `-verify 1`).
    public var report: String { String(decoding: error.contents(), as: UTF8.self) }

    deinit {
        child.send(SIGKILL)
        _ = child.waitForExit(within: .seconds(5))
    }
}
