// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// HAProxy as a clear-text server on a free port of 127.0.0.1: it responds to each request with 200.
public final class HAProxyServer: Sendable {
    /// The port, on 127.0.0.1.
    public let port: UInt16
    private let process: GuardedProcess

    /// Starts the server.
    /// - Parameter settings: Lines of its `defaults` section, such as `timeout http-request 1s`.
    /// - Throws: ``RigError`` with its output, when it does not start.
    public init(settings: [String]) async throws {
        let folder = try GuardedProcess.newFolder()
        port = try GuardedProcess.reservePort()
        let lines =
            [
                "global", "maxconn 2000", "defaults", "mode http", "timeout connect 2s", "timeout client 60s",
                "timeout server 60s",
            ] + settings + [
                "frontend origin", "bind 127.0.0.1:\(port)",
                "http-request return status 200 content-type text/plain string haproxy",
            ]
        try FileDescriptor.write(lines.joined(separator: "\n") + "\n", to: "\(folder)/haproxy.cfg")
        // In the foreground (-db).
        process = try await GuardedProcess(
            "haproxy",
            ["-db", "-f", "\(folder)/haproxy.cfg"],
            folder: folder,
            port: port
        )
    }
}
