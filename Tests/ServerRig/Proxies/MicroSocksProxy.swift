// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// microsocks as a SOCKS 5 proxy on a free port of 127.0.0.1.
public final class MicroSocksProxy: Sendable {
    /// The port, on 127.0.0.1.
    public let port: UInt16
    private let process: GuardedProcess

    /// Starts the proxy.
    /// - Parameters:
    ///   - login: The required login; `nil`: none.
    ///   - hosts: The names that it knows, and their addresses.
    /// - Throws: ``RigError`` with its output, when it does not start.
    public init(login: SquidProxy.Login? = nil, hosts: [String: String] = [:]) async throws {
        port = try GuardedProcess.reservePort()
        var arguments = ["-i", "127.0.0.1", "-p", "\(port)"]
        if let login { arguments += ["-u", login.user, "-P", login.password] }
        process = try await GuardedProcess(
            "microsocks",
            arguments,
            folder: try GuardedProcess.newFolder(),
            port: port,
            environment: try await SystemAnswers.shared().environment(answering: hosts.mapValues { [$0] })
        )
    }
}
