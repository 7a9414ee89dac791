// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// httpbin on a free port of 127.0.0.1, in clear text. `/digest-auth/QOP/USER/PASSWORD/ALGORITHM` asks for Digest with MD5 or
/// SHA-256, and with `auth` or `auth-int`.
public final class HTTPBinServer: Sendable {
    /// The port, on 127.0.0.1.
    public let port: UInt16
    private let process: GuardedProcess

    /// Debian's interpreter: another one in the path does not have Debian's packages.
    static let interpreter = "/usr/bin/python3"
    static let package = "/usr/lib/python3/dist-packages/httpbin/core.py"

    private static let program = """
        import sys
        from httpbin import app
        from werkzeug.serving import run_simple
        run_simple('127.0.0.1', int(sys.argv[1]), app, threaded=True)
        """

    /// Starts the server.
    /// - Throws: ``RigError`` with its output, when it does not start.
    public init() async throws {
        port = try GuardedProcess.reservePort()
        process = try await GuardedProcess(
            HTTPBinServer.interpreter,
            ["-c", HTTPBinServer.program, "\(port)"],
            folder: try GuardedProcess.newFolder(),
            port: port
        )
    }
}
