// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// An nginx instance that forwards each request to a port of 127.0.0.1, with all its fields but the host.
public final class NginxForwarder: Sendable {
    /// The port on which it listens, on 127.0.0.1.
    public let port: UInt16
    private let process: GuardedProcess

    /// Starts the forwarder.
    /// - Throws: ``RigError`` with its log, when it does not start.
    public init(to target: UInt16) async throws {
        let folder = try GuardedProcess.newFolder()
        port = try GuardedProcess.reservePort()
        let configuration = """
            \(getuid() == 0 ? "user root;" : "")
            daemon off;
            worker_processes 1;
            pid \(folder)/pid;
            error_log \(folder)/error.log notice;
            events { worker_connections 256; }
            http {
                access_log off;
                client_body_temp_path \(folder)/body; proxy_temp_path \(folder)/proxy;
                fastcgi_temp_path \(folder)/fastcgi; uwsgi_temp_path \(folder)/uwsgi; scgi_temp_path \(folder)/scgi;
                server {
                    listen 127.0.0.1:\(port);
                    location / { proxy_pass http://127.0.0.1:\(target); }
                }
            }
            """
        try FileDescriptor.write(configuration, to: "\(folder)/nginx.conf")
        process = try await GuardedProcess(
            "nginx",
            ["-p", folder, "-e", "\(folder)/error.log", "-c", "\(folder)/nginx.conf"],
            folder: folder,
            port: port
        )
    }
}
