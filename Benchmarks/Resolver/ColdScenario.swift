// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import BenchmarkOrigin
internal import Foundation
internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPTypes
internal import Synchronization

/// The figures of names that are resolved for the first time, over DoH.
struct ColdFigures: Codable, Sendable {
    /// Microseconds of processor time of the whole process for a name, with one and with 64 lookups in flight: medians.
    var alone: Double
    var many: Double
    /// The same for two requests of a client to the same server with the question of one name, 64 pairs in flight.
    var requests: Double

    /// A name is two requests over HTTP/2.
    var ratio: Double { many / requests }
}

/// Names that no cache knows, from BIND over one HTTP/2 connection, beside the two requests that each of them is.
enum ColdScenario {
    private static let count = 2000

    /// - Returns: Nil without BIND.
    static func run(rounds: Int) async throws -> ColdFigures? {
        guard FileManager.default.isExecutableFile(atPath: DoHServer.program) else {
            print("\ncold is left out: there is no \(DoHServer.program)")
            return nil
        }
        let server = try DoHServer()
        defer { server.stop() }
        var service = HTTPDNSDoHProvider.Configuration(name: "doh", url: server.url)
        service.trustRoots = .file(server.certificate)
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.providers = [try HTTPDNSDoHProvider(service)]
        configuration.resolver.routes = [HTTPDNSRoute(.any, .providers(["doh"], fallback: .off))]
        configuration.trustRoots = .file(server.certificate)
        let client = try await HTTPDNSClient(configuration: configuration)
        let number = Number()
        // The question for an address of a.cold.test, as RFC 8484 section 4.1.1 has it in a URL.
        let request = HTTPDNSClient.Request(url: "\(server.url)?dns=AAABAAABAAAAAAAAAWEEY29sZAR0ZXN0AAABAAE")
        var (alone, many, requests): ([Double], [Double], [Double]) = ([], [], [])
        for round in 0...rounds {
            let times = [
                try await time(count / 10, inFlight: 1) { try await resolve(number.next(), by: client) },
                try await time(count, inFlight: 64) { try await resolve(number.next(), by: client) },
                try await time(count, inFlight: 64) {
                    async let first = read(request, by: client)
                    async let second = read(request, by: client)
                    _ = try await (first, second)
                },
            ]
            // The first round opens connections.
            guard round > 0 else { continue }
            alone.append(times[0])
            many.append(times[1])
            requests.append(times[2])
        }
        try await client.shutdown()
        return ColdFigures(alone: alone.median, many: many.median, requests: requests.median)
    }

    private static func resolve(_ number: Int, by client: HTTPDNSClient) async throws {
        let answer = try await client.resolve("n\(number).cold.test")
        precondition(answer.source == .provider && !answer.isCached, "a name was known before: \(answer)")
    }

    private static func read(_ request: HTTPDNSClient.Request, by client: HTTPDNSClient) async throws {
        let response = try await client.execute(request)
        let body = try await response.body.collect()
        precondition(response.status == .ok && response.version == .http2 && body.count > 12, "\(response.status)")
    }

    /// - Returns: The microseconds of processor time of one.
    private static func time(
        _ count: Int,
        inFlight: Int,
        _ work: @escaping @Sendable () async throws -> Void
    ) async throws -> Double {
        let start = processorSeconds()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<inFlight { group.addTask { for _ in 0..<(count / inFlight) { try await work() } } }
            try await group.waitForAll()
        }
        return (processorSeconds() - start) * 1e6 / Double(count / inFlight * inFlight)
    }
}

/// A number that no other call gets.
private final class Number: Sendable {
    private let last = Atomic(0)

    func next() -> Int { last.wrappingAdd(1, ordering: .relaxed).newValue }
}

/// BIND as a DoH server in a temporary folder, with a wildcard.
private final class DoHServer {
    static let program = "/usr/sbin/named"

    let url: String
    let certificate: String
    private let folder: URL
    private let process = Process()

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("httpdns-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var port: Int32 = 0
        let reservation = benchmark_origin_listen("127.0.0.1", &port)
        precondition(reservation >= 0, "nothing can listen on 127.0.0.1")
        close(reservation)
        url = "https://127.0.0.1:\(port)/dns-query"
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
        try zone.write(to: folder.appendingPathComponent("zone"), atomically: false, encoding: .utf8)
        let settings = """
            tls bench { cert-file "\(certificate)"; key-file "\(key)"; };
            http bench { endpoints { "/dns-query"; }; streams-per-connection 256; };
            options {
                directory "\(folder.path)"; pid-file none; session-keyfile none; managed-keys-directory "\(folder.path)";
                recursion no; listen-on-v6 { none; };
                listen-on port \(port) tls bench http bench { 127.0.0.1; };
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
        while process.isRunning, !Self.listens(port) { usleep(10_000) }
        precondition(process.isRunning, "named did not start")
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
