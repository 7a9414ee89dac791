// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import BenchmarkOrigin
internal import Foundation

/// BIND with a zone in which every name has an address.
final class BINDServer {
    static let program = "/usr/sbin/named"

    /// Its service over HTTPS.
    let url: String
    let certificate: String
    /// Its port of plain DNS.
    let port: Int32
    private let folder: URL
    private let process = Process()

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("httpdns-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let (port, secure) = (Self.freePort(), Self.freePort())
        self.port = port
        url = "https://127.0.0.1:\(secure)/dns-query"
        certificate = folder.appendingPathComponent("certificate.pem").path
        let key = folder.appendingPathComponent("key.pem").path
        try Process.run(
            URL(fileURLWithPath: "/usr/bin/openssl"),
            arguments: [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
                "-keyout", key, "-out", certificate,
            ]
        ).waitUntilExit()
        let zone =
            "$TTL 600\n@ SOA ns.cold.test. bench.cold.test. 1 60 60 60 600\n  NS ns.cold.test.\n* A 93.184.216.34\n"
            + "*.brief 2 A 93.184.216.34\n"
        try zone.write(to: folder.appendingPathComponent("zone"), atomically: false, encoding: .utf8)
        let settings = """
            tls bench { cert-file "\(certificate)"; key-file "\(key)"; };
            http bench { endpoints { "/dns-query"; }; streams-per-connection 256; };
            options {
                directory "\(folder.path)"; pid-file none; session-keyfile none; managed-keys-directory "\(folder.path)";
                recursion no; listen-on-v6 { none; };
                listen-on port \(port) { 127.0.0.1; };
                listen-on port \(secure) tls bench http bench { 127.0.0.1; };
            };
            controls { };
            zone "cold.test" { type primary; file "zone"; };
            """
        let file = folder.appendingPathComponent("named.conf")
        try settings.write(to: file, atomically: false, encoding: .utf8)
        process.executableURL = URL(fileURLWithPath: Self.program)
        process.arguments = ["-g", "-n", "1", "-c", file.path]
        process.standardError = FileHandle.nullDevice
        try process.run()
        // There is no event to wait for: named tells nobody when it listens.
        while process.isRunning, !Self.listens(port) || !Self.listens(secure) { usleep(10_000) }
        precondition(process.isRunning, "named did not start")
    }

    private static func freePort() -> Int32 {
        var port: Int32 = 0
        let reservation = benchmark_origin_listen("127.0.0.1", &port)
        precondition(reservation >= 0, "nothing can listen on 127.0.0.1")
        close(reservation)
        return port
    }

    private static func listens(_ port: Int32) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return withUnsafeBytes(of: &address) { bytes in
            connect(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count)) == 0
        }
    }

    func stop() {
        process.terminate()
        process.waitUntilExit()
        try? FileManager.default.removeItem(at: folder)
    }
}
