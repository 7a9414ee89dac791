// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Foundation

/// nginx in a temporary folder, on loopback addresses that no name leads to.
final class Origin: Sendable {
    /// Known to no resolver.
    static let host = "bench.test"
    static let addresses = ["127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"]

    /// The authority of the certificate.
    let certificateFile: String
    /// A client's settings for this server, without HTTP/2.
    let settingsFile: String
    private let folder: URL
    private let ports: [Int]
    private let process = Process()

    /// The URL of a file, by the way to it.
    /// - Parameter host: The origin's name, or one of its addresses.
    func url(_ wire: Scenario.Wire, _ host: String, _ resource: Scenario.Resource) -> String {
        switch wire {
        case .http1: "http://\(host):\(ports[0])/\(resource.rawValue)"
        case .http1TLS: "https://\(host):\(ports[1])/\(resource.rawValue)"
        case .http2TLS: "https://\(host):\(ports[2])/\(resource.rawValue)"
        case .http1TLSClosing: "https://\(host):\(ports[3])/\(resource.rawValue)"
        case .http1Closing: "http://\(host):\(ports[4])/\(resource.rawValue)"
        }
    }

    /// The path of a file that it serves.
    func path(of resource: Scenario.Resource) -> String { folder.appendingPathComponent(resource.rawValue).path }

    /// Starts it and waits until it answers.
    /// - Throws: ``BenchError`` that says what is missing or what nginx said.
    static func start(on cores: Cores) throws -> Origin {
        let paths = ["/usr/sbin/nginx", "/usr/bin/nginx"]
        guard let nginx = paths.first(where: FileManager.default.isExecutableFile(atPath:)) else {
            throw BenchError("nginx is not installed: apt-get install nginx-light openssl")
        }
        let origin = try Origin()
        do {
            try origin.writeFiles()
            let command = [nginx, "-p", origin.folder.path, "-c", "nginx.conf", "-e", "error.log"]
            try origin.launch(cores.bind(command, to: cores.origin))
        } catch {
            origin.stop()
            throw error
        }
        return origin
    }

    private func launch(_ command: [String]) throws {
        process.executableURL = URL(fileURLWithPath: command[0])
        process.arguments = Array(command.dropFirst())
        process.standardError = FileHandle.nullDevice
        try process.run()
        // There is no event to wait for: nginx tells nobody when it listens.
        let deadline = ContinuousClock.now + .seconds(10)
        while process.isRunning, ContinuousClock.now < deadline {
            if Ports.answers(Self.addresses[0], ports[0]) { return }
            usleep(10_000)
        }
        let log = try? String(contentsOf: folder.appendingPathComponent("error.log"), encoding: .utf8)
        throw BenchError("nginx does not listen: \(log ?? "it left no log")")
    }

    private init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("httpdns-bench-\(UUID().uuidString)")
        certificateFile = folder.appendingPathComponent("certificate.pem").path
        settingsFile = folder.appendingPathComponent("client.yaml").path
        ports = try Ports.takeFree(5)
    }

    private func writeFiles() throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for resource in [Scenario.Resource.small, .cacheable, .large] {
            let path = path(of: resource)
            // Without blocks on the disk.
            guard FileManager.default.createFile(atPath: path, contents: nil), truncate(path, resource.bytes) == 0
            else {
                throw BenchError("\(path) cannot be written")
            }
        }
        try configurationText.write(to: folder.appendingPathComponent("nginx.conf"), atomically: true, encoding: .utf8)
        try settingsText.write(toFile: settingsFile, atomically: true, encoding: .utf8)
        try Child.run([
            "/usr/bin/openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-days", "2", "-subj", "/CN=\(Self.host)",
            "-addext", "subjectAltName=DNS:\(Self.host)",
            "-keyout", folder.appendingPathComponent("key.pem").path, "-out", certificateFile,
        ])
    }

    private var settingsText: String {
        """
        version: 1
        mappings: { \(Self.host): [\(Self.addresses.joined(separator: ", "))] }
        client: { versions: 1.1, ca_file: certificate.pem }
        """
    }

    private var configurationText: String {
        let listen = Self.addresses.map { address in
            """
                    listen \(address):\(ports[0]);
                    listen \(address):\(ports[1]) ssl;
                    listen \(address):\(ports[2]) ssl http2;
            """
        }
        let closing = Self.addresses.map { address in
            """
                    listen \(address):\(ports[3]) ssl;
                    listen \(address):\(ports[4]);
            """
        }
        // As root, workers would become nobody, who may not read the temporary folder.
        return """
            \(getuid() == 0 ? "user root;" : "")
            worker_processes 1;
            worker_rlimit_nofile 16384;
            daemon off;
            pid nginx.pid;
            events { worker_connections 8192; }
            http {
                access_log off;
                keepalive_requests 1000000000;
                keepalive_time 24h;
                open_file_cache max=16;
                client_body_temp_path temp;
                proxy_temp_path temp;
                fastcgi_temp_path temp;
                uwsgi_temp_path temp;
                scgi_temp_path temp;
                sendfile on;
                ssl_certificate certificate.pem;
                ssl_certificate_key key.pem;
                ssl_protocols TLSv1.2 TLSv1.3;
                ssl_session_cache shared:sessions:4m;
                root .;
                # A POST to a file is refused with 405; it is answered as a GET of the file is.
                error_page 405 =200 $uri;
                default_type application/octet-stream;
                server {
            \(listen.joined(separator: "\n"))
                    location = /\(Scenario.Resource.cacheable.rawValue) { expires 1h; }
                    location = /\(Scenario.Resource.answer.rawValue) {
                        # The whole body is read before the response is asked for.
                        client_max_body_size 0;
                        client_body_buffer_size 1m;
                        proxy_pass http://\(Self.addresses[0]):\(ports[0])/\(Scenario.Resource.small.rawValue);
                        proxy_method GET;
                        proxy_pass_request_body off;
                        proxy_set_header Content-Length "";
                    }
                }
                server {
            \(closing.joined(separator: "\n"))
                    keepalive_timeout 0;
                }
            }
            """
    }

    /// Stops nginx and removes its folder. May be called twice.
    func stop() {
        if process.isRunning {
            process.terminate()
            process.waitUntilExit()
        }
        try? FileManager.default.removeItem(at: folder)
    }
}
