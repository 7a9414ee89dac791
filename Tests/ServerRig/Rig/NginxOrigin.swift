// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// An nginx instance with HTTP/2 that keeps its connections for a given number of requests.
///
/// It reads each request to its end, responds with 200 and logs the request's method and its field `X-Number`.
public final class NginxOrigin: Sendable {
    /// A request that the origin processed.
    public struct Request: Hashable, Sendable {
        /// Its method.
        public let method: String
        /// The field `X-Number`.
        public let number: Int
        /// The number of the connection that carried it.
        public let connection: Int
    }

    /// The TLS parameters of a request's connection, as nginx negotiated them.
    public struct Negotiation: Hashable, Sendable {
        /// The version, such as `TLSv1.3`.
        public let version: String
        /// OpenSSL's name of the cipher suite.
        public let cipher: String
        /// OpenSSL's name of the curve, such as `X25519`.
        public let curve: String
    }

    /// The port, on 127.0.0.1.
    public let port: UInt16
    private let process: GuardedProcess
    private let accessLog: LogFile
    private let errorLog: LogFile
    private let tlsLog: LogFile

    /// Starts the origin.
    /// - Parameters:
    ///   - rig: The rig that has the certificate, which is valid for `one.test`; `nil`: HTTP/2 in clear text.
    ///   - requestsPerConnection: The number of requests after which it sends GOAWAY (`keepalive_requests`).
    ///   - streams: The number of concurrent streams that it allows on a connection (`http2_max_concurrent_streams`).
    ///   - milliseconds: The duration of each response.
    ///   - speaksHTTP2: Whether it offers HTTP/2; otherwise only HTTP/1.1.
    ///   - tlsDirectives: nginx's directives about TLS, such as `ssl_protocols TLSv1.3;`.
    /// - Throws: ``RigError`` with its log, when it does not start.
    public init(
        _ rig: ServerRig?,
        requestsPerConnection: Int = 1000,
        streams: Int = 128,
        milliseconds: Int = 0,
        speaksHTTP2: Bool = true,
        tlsDirectives: String = ""
    ) async throws {
        let folder = try GuardedProcess.newFolder()
        port = try GuardedProcess.reservePort()
        let tls = rig.map {
            """
            ssl_certificate \($0.certificateFile("good.pem"));
                    ssl_certificate_key \($0.certificateFile("good.key"));
                    \(tlsDirectives)
            """
        }
        let sleep = milliseconds > 0 ? "ngx.sleep(\(Double(milliseconds) / 1_000))" : ""
        let configuration = """
            \(getuid() == 0 ? "user root;" : "")
            load_module /usr/lib/nginx/modules/ndk_http_module.so;
            load_module /usr/lib/nginx/modules/ngx_http_lua_module.so;
            daemon off;
            worker_processes 1;
            pid \(folder)/pid;
            error_log \(folder)/error.log notice;
            events { worker_connections 4096; }
            http {
                client_body_temp_path \(folder)/body; proxy_temp_path \(folder)/proxy;
                fastcgi_temp_path \(folder)/fastcgi; uwsgi_temp_path \(folder)/uwsgi; scgi_temp_path \(folder)/scgi;
                log_format numbers '$request_method $http_x_number $connection';
                access_log \(folder)/access.log numbers;
                log_format tls '$ssl_protocol $ssl_cipher $ssl_curve';
                access_log \(folder)/tls.log tls;
                keepalive_requests \(requestsPerConnection);
                ssl_session_cache shared:sessions:1m;
                server {
                    listen 127.0.0.1:\(port) \(tls == nil ? "" : "ssl") \(speaksHTTP2 ? "http2" : "");
                    http2_max_concurrent_streams \(streams);
                    \(tls ?? "")
                    location / { content_by_lua_block { ngx.req.read_body() \(sleep) ngx.print("ok") } }
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
        accessLog = LogFile(path: "\(folder)/access.log")
        errorLog = LogFile(path: "\(folder)/error.log")
        tlsLog = LogFile(path: "\(folder)/tls.log")
    }

    /// Returns the requests that it has processed so far.
    public func requests() throws -> [Request] {
        try accessLog.lines(since: .beginning).compactMap { line in
            let words = line.split(separator: " ")
            guard words.count == 3, let number = Int(words[1]), let connection = Int(words[2]) else { return nil }
            return Request(method: String(words[0]), number: number, connection: connection)
        }
    }

    /// Returns the TLS parameters of the requests that it has processed so far.
    public func negotiations() throws -> [Negotiation] {
        try tlsLog.lines(since: .beginning).compactMap { line in
            let words = line.split(separator: " ").map(String.init)
            guard words.count == 3 else { return nil }
            return Negotiation(version: words[0], cipher: words[1], curve: words[2])
        }
    }

    /// Runs `nginx -s reload`, and returns when new processes have taken over. The old ones end their connections.
    public func reload() async throws {
        let began = try startedProcesses()
        let text = String(
            decoding: FileDescriptor(try checked("open pid", open("\(process.folder)/pid", O_RDONLY | O_CLOEXEC)))
                .contents(),
            as: UTF8.self
        )
        guard let number = pid_t(text.prefix { $0.isNumber }) else { throw RigError("nginx has no process: \(text)") }
        try checked("kill", kill(number, SIGHUP))
        let isDone = try await watch(errorLog.path, within: .seconds(60)) { [self] in
            try startedProcesses() > began ? true : nil
        }
        guard isDone == true else { throw RigError("nginx did not reload: \(errorLog.tail(5))") }
    }

    private func startedProcesses() throws -> Int {
        try errorLog.lines(since: .beginning).count { $0.contains("start worker process ") }
    }
}
