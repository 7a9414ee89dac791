internal import Foundation

/// nginx in a temporary folder, on loopback addresses that no name leads to.
final class Origin: Sendable {
    /// Known to no resolver.
    static let host = "bench.test"
    static let addresses = ["127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"]
    static let bodyBytes = 1024

    /// The authority of the certificate.
    let certificateFile: String
    private let folder: URL
    private let ports: [Int]

    /// The URL of the file, by the way to it.
    func url(_ wire: Scenario.Wire) -> String {
        switch wire {
        case .http1: "http://\(Self.host):\(ports[0])/1k"
        case .http1TLS: "https://\(Self.host):\(ports[1])/1k"
        case .http2TLS: "https://\(Self.host):\(ports[2])/1k"
        }
    }

    /// Starts it. When this returns its ports are bound.
    /// - Throws: ``BenchError`` that says what is missing or what nginx said.
    static func start(on cores: Cores) throws -> Origin {
        let nginx = ["/usr/sbin/nginx", "/usr/bin/nginx"].first(where: FileManager.default.isExecutableFile(atPath:))
        guard let nginx else { throw BenchError("nginx is not installed: apt-get install nginx-light openssl") }
        let origin = try Origin()
        do {
            try origin.writeFiles()
            // nginx binds its ports before it goes to the background, so there is nothing to wait for.
            let command = [nginx, "-p", origin.folder.path, "-c", "nginx.conf", "-e", "error.log"]
            try Child.run(cores.bind(command, to: cores.origin))
        } catch {
            origin.stop()
            throw error
        }
        return origin
    }

    private init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("httpdns-bench-\(UUID().uuidString)")
        certificateFile = folder.appendingPathComponent("certificate.pem").path
        ports = try FreePorts.take(3)
    }

    private func writeFiles() throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data(repeating: UInt8(ascii: "x"), count: Self.bodyBytes).write(to: folder.appendingPathComponent("1k"))
        try configurationText.write(to: folder.appendingPathComponent("nginx.conf"), atomically: true, encoding: .utf8)
        try Child.run([
            "/usr/bin/openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-days", "2", "-subj", "/CN=\(Self.host)", "-addext", "subjectAltName=DNS:\(Self.host)",
            "-keyout", folder.appendingPathComponent("key.pem").path, "-out", certificateFile,
        ])
    }

    private var configurationText: String {
        let listen = Self.addresses.map { address in
            """
                    listen \(address):\(ports[0]);
                    listen \(address):\(ports[1]) ssl;
                    listen \(address):\(ports[2]) ssl http2;
            """
        }
        // As root, workers would become nobody, who may not read the temporary folder.
        return """
            \(getuid() == 0 ? "user root;" : "")
            worker_processes 1;
            worker_rlimit_nofile 16384;
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
                server {
            \(listen.joined(separator: "\n"))
                    ssl_certificate certificate.pem;
                    ssl_certificate_key key.pem;
                    root .;
                    default_type application/octet-stream;
                }
            }
            """
    }

    /// Stops nginx and removes its folder. May be called twice.
    func stop() {
        let file = folder.appendingPathComponent("nginx.pid")
        let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
        if let process = pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines)) { kill(process, SIGTERM) }
        try? FileManager.default.removeItem(at: folder)
    }
}
