// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNSCurl
import HTTPDNSMessages
import HTTPDNSPrimitives
import HTTPDNSTesting
import ServerRig
import Testing

@testable import HTTPDNSCore

@Suite(
    "DNS over TLS",
    .enabled(if: ServerRig.isAvailable([.bind])),
    .enabled(if: Command.find("/usr/bin/python3") != nil),
    .timeLimit(.minutes(1))
)
struct DNSOverTLSTests {
    private func provider(
        _ rig: ServerRig,
        _ ports: [UInt16],
        v6: Bool = false,
        name: String? = nil,
        authority: String? = nil
    ) throws -> HTTPDNSDNSProvider {
        let address = v6 ? HTTPDNSAddress(family: .v6, high: 0, low: 1) : HTTPDNSAddress(v4: 127, 0, 0, 1)
        let servers = ports.map { HTTPDNSEndpoint(address: address, port: $0) }
        var configuration = HTTPDNSDNSProvider.Configuration(name: "dot", servers: .addresses(servers))
        configuration.transport = .tls
        configuration.trustRoots = .file(authority ?? rig.certificateAuthorityFile)
        configuration.tlsName = try name.map { try HTTPDNSName($0) }
        return try HTTPDNSDNSProvider(configuration)
    }

    private func query(_ name: String, limit: Duration = .seconds(40)) throws -> HTTPDNSProviderQuery {
        HTTPDNSProviderQuery(host: try HTTPDNSName(name), families: .v4, timeLimit: limit)
    }

    private func error(_ provider: HTTPDNSDNSProvider, _ query: HTTPDNSProviderQuery) async throws
        -> HTTPDNSProviderError
    {
        let error = await #expect(throws: HTTPDNSProviderError.self) { _ = try await provider.resolve(query) }
        await provider.shutdown()
        return try #require(error)
    }

    @Test("The certificate has the name or the server's address, and a known authority")
    func certificates() async throws {
        let rig = try await ServerRig.shared()
        for name in [nil, "doh.test"] {
            let provider = try provider(rig, [rig.dotPort], name: name)
            #expect(try await provider.resolve(query("two.test")).v4?.error == nil)
            await provider.shutdown()
        }
        let name = try await error(try provider(rig, [rig.dotPort], name: "other.test"), query("two.test"))
        #expect(name.code == .unreachable && name.message.contains("is not valid for other.test"), "\(name)")
        let authority = try await error(
            try provider(rig, [rig.dotPort], name: "doh.test", authority: rig.otherCertificateAuthorityFile),
            query("two.test")
        )
        #expect(authority.message.contains("is not valid for doh.test"), "\(authority)")
        let missing = try await error(try provider(rig, [rig.dotPort], authority: "/nowhere.pem"), query("two.test"))
        #expect(missing.message.contains("/nowhere.pem"), "\(missing)")
    }

    @Test("A hundred queries at once share one connection")
    func shares() async throws {
        let rig = try await ServerRig.shared()
        let server = try TLSNameServer(rig)
        let provider = try provider(rig, [server.port])
        try await withThrowingTaskGroup { tasks in
            for number in 0..<100 { tasks.addTask { try await provider.resolve(query("plain\(number).test")).v4 } }
            for try await answer in tasks { #expect(answer == TLSNameServer.answer) }
        }
        #expect(server.log == ["open"])
        await provider.shutdown()
    }

    @Test("Queries are padded, and answers count in any order and in any pieces")
    func order() async throws {
        let rig = try await ServerRig.shared()
        let server = try TLSNameServer(rig)
        let provider = try provider(rig, [server.port])
        async let first = provider.resolve(query("held.test"))
        async let second = provider.resolve(query("held-too.test"))
        let answers = try await [first.v4, second.v4]
        #expect(answers == [TLSNameServer.answer, TLSNameServer.answer])
        #expect(try await provider.resolve(query("drip.test")).v4 == TLSNameServer.answer)
        await provider.shutdown()
        #expect(server.log == ["open"] && server.lengths.allSatisfy { $0 % 128 == 0 }, "\(server.lengths)")
    }

    @Test("A kept connection that the server has closed is no failure")
    func idleClose() async throws {
        let rig = try await ServerRig.shared()
        let server = try TLSNameServer(rig)
        let provider = try provider(rig, [server.port])
        for _ in 0..<5 { #expect(try await provider.resolve(query("closes.test")).v4 == TLSNameServer.answer) }
        #expect((2...5).contains(server.log.count))
        await provider.shutdown()
    }

    @Test(
        "A server that closes without an answer, or sends another one, fails",
        arguments: ["rude.test", "wrong.test"]
    )
    func bad(_ name: String) async throws {
        let rig = try await ServerRig.shared()
        let server = try TLSNameServer(rig)
        let error = try await error(try provider(rig, [server.port]), query(name))
        #expect(error.code == (name == "rude.test" ? .unreachable : .badResponse), "\(error)")
        let provider = try provider(rig, [server.port, rig.dotPort])
        _ = try await provider.resolve(query(name)).v4
        await provider.shutdown()
    }

    @Test("A connection is closed after ten seconds without a query")
    func closesIdle() async throws {
        let rig = try await ServerRig.shared()
        let server = try TLSNameServer(rig)
        let endpoint = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 1), port: server.port)
        var configuration = HTTPDNSDNSProvider.Configuration(name: "dot", servers: .addresses([endpoint]))
        (configuration.transport, configuration.trustRoots) = (.tls, .file(rig.certificateAuthorityFile))
        let clock = HTTPDNSManualClock()
        let provider = try HTTPDNSDNSProvider(configuration, time: clock)
        for (seconds, opened) in [(0, 1), (9, 1), (9, 1), (11, 2)] as [(Int, Int)] {
            clock.advance(by: .seconds(seconds))
            while server.ends < opened - 1 { try await Task.sleep(for: .milliseconds(2)) }
            #expect(try await provider.resolve(query("plain.test")).v4 == TLSNameServer.answer)
            #expect(server.log.count == opened, "\(seconds)")
        }
        await provider.shutdown()
    }

    @Test("A closed port, and one that speaks no TLS, lead to the next server")
    func next() async throws {
        let rig = try await ServerRig.shared()
        for port in [1, rig.dnsPort] {
            let provider = try provider(rig, [port, rig.dotPort])
            #expect(try await provider.resolve(query("two.test")).v4?.error == nil)
            await provider.shutdown()
        }
        let error = try await error(try provider(rig, [1]), query("two.test"))
        #expect(error.message == "127.0.0.1:1: Connection refused", "\(error)")
    }

    @Test("A silent server has its share of the time, and its connection is given up")
    func silent() async throws {
        let rig = try await ServerRig.shared()
        let server = try TLSNameServer(rig)
        let provider = try provider(rig, [server.port])
        for _ in 0..<2 {
            let error = await #expect(throws: HTTPDNSProviderError.self) {
                _ = try await provider.resolve(query("silent.test", limit: .milliseconds(500)))
            }
            #expect(error?.code == .timedOut, "\(String(describing: error))")
        }
        #expect(server.log == ["open", "open"])
        await provider.shutdown()
    }

    @Test(
        "A shutdown ends the query in flight, later ones, and the thread",
        .enabled(if: ServerRig.hasProcessForItself)
    )
    func shutsDown() async throws {
        let rig = try await ServerRig.shared()
        let server = try TLSNameServer(rig)
        let provider = try provider(rig, [server.port])
        async let pending = error(provider, query("silent.test"))
        while server.log.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
        await provider.shutdown()
        let code = try await pending.code
        #expect(code == .shutDown)
        #expect(try await error(provider, query("plain.test")).code == .shutDown)
        func threads() -> Int {
            let folder = "/proc/self/task"
            let names = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [])
                .compactMap { try? String(contentsOfFile: "\(folder)/\($0)/comm", encoding: .utf8) }
            return names.count { $0.hasPrefix("httpdns-tls") }
        }
        while threads() > 0 { try await Task.sleep(for: .milliseconds(5)) }
    }

    @Test("A server is asked at its IPv6 address, which its certificate has")
    func v6() async throws {
        let rig = try await ServerRig.shared()
        guard rig.hasIPv6 else { return }
        let provider = try provider(rig, [rig.dotPort], v6: true)
        #expect(try await provider.resolve(query("two.test")).v4?.error == nil)
        await provider.shutdown()
    }
}

/// A name server over TLS in Python, whose behavior is the first label of the name. It writes each connection and the length of each query
/// down.
private final class TLSNameServer {
    static let answer = HTTPDNSProviderAnswer.Family.addresses(
        [HTTPDNSAddress(v4: 192, 0, 2, 1)],
        timeToLive: .seconds(60),
        canonicalName: nil
    )

    private static let script = #"""
        import os, socket, ssl, struct, sys, threading
        certificate, log = sys.argv[1:3]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate + ".pem", certificate + ".key")
        listener = socket.socket(); listener.bind(("127.0.0.1", 0)); listener.listen(16)
        def note(text):
            with open(log, "a") as file: print(text, file=file)
        def exactly(connection, count):
            data = b""
            while len(data) < count:
                part = connection.recv(count - len(data))
                if not part: raise EOFError
                data += part
            return data
        def serve(connection):
            held = []
            try:
                connection = context.wrap_socket(connection, server_side=True)
                note("open")
                while True:
                    q = exactly(connection, struct.unpack(">H", exactly(connection, 2))[0])
                    note(len(q))
                    at = 12
                    while q[at]: at += q[at] + 1
                    mode = q[13:13 + q[12]].decode()
                    r = q[:2] + struct.pack(">HHHHH", 0x8180, 1, 1, 0, 0) + q[12:at + 5] + b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc0\0\2\1"
                    if mode == "wrong": r = r[:13] + b"x" + r[14:]
                    r = struct.pack(">H", len(r)) + r
                    if mode == "silent": continue
                    if mode == "rude": break
                    if mode.startswith("held"):
                        held.append(r)
                        if len(held) == 2: connection.sendall(held[1] + held[0])
                    elif mode == "drip":
                        for byte in r: connection.sendall(bytes([byte]))
                    else: connection.sendall(r)
                    if mode == "closes": break
            except (OSError, EOFError): note("end")
            connection.close()
        with open(log + ".port.new", "w") as file: file.write(str(listener.getsockname()[1]))
        os.rename(log + ".port.new", log + ".port")
        def accept():
            while True: threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
        threading.Thread(target=accept, daemon=True).start()
        # Until the test ends.
        sys.stdin.read()
        """#

    let port: UInt16
    private let folder: TemporaryFolder
    private let process = Process()
    private let input = Pipe()

    init(_ rig: ServerRig) throws {
        folder = try TemporaryFolder()
        let log = folder.path("log")
        process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
        let certificate = rig.certificateFile("doh.pem").dropLast(4)
        process.arguments = ["-c", Self.script, String(certificate), log]
        process.standardInput = input
        try process.run()
        var text: String?
        while text == nil, process.isRunning {
            text = try? String(contentsOfFile: log + ".port", encoding: .utf8)
            usleep(5_000)
        }
        port = try #require(text.flatMap { UInt16($0) })
    }

    deinit { try? input.fileHandleForWriting.close() }

    private var lines: [String] {
        let text = (try? String(contentsOfFile: folder.path("log"), encoding: .utf8)) ?? ""
        return text.split(separator: "\n").map(String.init)
    }

    /// A word for each connection.
    var log: [String] { lines.filter { $0 == "open" } }
    /// The number of connections that the client has closed.
    var ends: Int { lines.count { $0 == "end" } }
    /// The lengths of the queries.
    var lengths: [Int] { lines.compactMap { Int($0) } }
}
