// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

/// A provider whose answers stop, are changed, or never were answers: through the whole client and through the program.
@Suite("A broken provider", .serialized)
struct BrokenProviderTests {
    private static let host = "cut.broken.test"
    private static let reply = DNSReply(host: host, address: [127, 0, 0, 2])

    private func settings(_ server: RawServer) throws -> HTTPDNSClient.Configuration {
        var configuration = HTTPDNSClient.Configuration()
        let url = "http://127.0.0.1:\(server.port)/dns-query"
        var service = HTTPDNSDoHProvider.Configuration(name: "broken", url: url)
        service.answerScope = .loopback
        configuration.resolver.providers = [try HTTPDNSDoHProvider(service)]
        configuration.resolver.routes = [HTTPDNSRoute(.any, .providers(["broken"], fallback: .off))]
        configuration.resolver.families = .v4
        configuration.makePatient()
        return configuration
    }

    /// What the client makes of an answer.
    private func outcome(of answer: [UInt8]) async throws -> Result<[String], HTTPDNSClientError> {
        let server = try RawServer(.readHead, .send(answer))
        defer { server.stop() }
        let client = try await HTTPDNSClient(configuration: settings(server))
        let result: Result<[String], HTTPDNSClientError>
        do {
            let rewritten = try await client.rewrite("https://\(Self.host)/")
            result = .success(rewritten.addresses.map(\.address.description))
        } catch let error as HTTPDNSClientError {
            result = .failure(error)
        }
        try await client.shutdown()
        // One question, and at most one more where the connection ended without an answer.
        #expect((1...2).contains(server.connections.count))
        return result
    }

    private func expectTyped(_ result: Result<[String], HTTPDNSClientError>, _ what: String) {
        guard case .failure(let error) = result else {
            Issue.record("\(what): \(result)")
            return
        }
        #expect(error.code == .resolveFailed && error.phase == .resolve, "\(what): \(error)")
        #expect(error.host == Self.host && error.requestMayHaveBeenSent == false, "\(what)")
        let text = "\(error)"
        #expect(text.contains(Self.host) && text.contains("broken") && text.contains("127.0.0.1:"), "\(text)")
        #expect(!text.contains("\n") && text.utf8.count < 1_000, "\(text)")
    }

    @Test("The uncut answer resolves, so that the cuts below prove something")
    func whole() async throws {
        #expect(try await outcome(of: Self.reply.http).get() == ["127.0.0.2"])
    }

    @Test("A response cut after any byte of its head or body is a typed error")
    func cutOnTheWire() async throws {
        let bytes = Self.reply.http
        for count in 0..<bytes.count {
            expectTyped(try await outcome(of: Array(bytes.prefix(count))), "\(count) of \(bytes.count) bytes")
        }
    }

    static let answers: [(String, [UInt8])] = [
        ("nothing", []),
        ("not HTTP", Array("SSH-2.0-OpenSSH_9.2\r\n".utf8)),
        ("a TLS alert", [0x15, 3, 1, 0, 2, 2, 40]),
        ("zeros", Array(repeating: 0, count: 4096)),
        ("a page", Array("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\n<html".utf8)),
        ("no type", Array("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello".utf8)),
        ("503", Array("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n".utf8)),
        ("a redirect", Array("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n".utf8)),
        ("204", Array("HTTP/1.1 204 No Content\r\n\r\n".utf8)),
        (
            "megabytes",
            DNSReply.http(Array(repeating: 0xc0, count: 4 << 20))
        ),
        (
            "a length that lies", DNSReply.http(DNSReply(host: host, address: [127, 0, 0, 2]).message, length: 1 << 40)
        ),
        (
            "two lengths",
            Array(
                "HTTP/1.1 200 OK\r\nContent-Type: application/dns-message\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"
                    .utf8
            )
        ),
        ("another name's answer", DNSReply(host: "cut.broken.text", address: [127, 0, 0, 2]).http),
        ("a head without end", Array("HTTP/1.1 200 OK\r\n".utf8) + Array(repeating: UInt8(ascii: "x"), count: 1 << 20)),
        (
            "a thousand interim heads",
            Array(String(repeating: "HTTP/1.1 103 Early\r\nX: y\r\n\r\n", count: 1000).utf8)
        ),
    ]

    @Test("A response that is no DNS answer at all is a typed error", arguments: answers)
    func noAnswer(what: String, answer: [UInt8]) async throws {
        expectTyped(try await outcome(of: answer), what)
    }

    @Test("A silent provider is a time-out of the resolving, within the request's deadline")
    func silent() async throws {
        let server = try RawServer(.readHead, .hang)
        try await withClient(settings(server)) { client in
            let error = try await refusal {
                _ = try await client.get("https://\(Self.host)/") { $0.timeouts.total = .milliseconds(300) }
            }
            #expect(error.code == .timedOut && error.host == Self.host, "\(error)")
            #expect(error.requestMayHaveBeenSent == false && error.limit != nil)
            #expect(error.phase == .resolve || error.phase == .total)
        }
    }

    @Test("The program reports each broken answer on one line, with curl's status 6")
    func program() async throws {
        let bytes = Self.reply.http
        let cuts = [0, 10, 40, bytes.count - Self.reply.message.count, bytes.count - 20, bytes.count - 1]
        for answer in cuts.map({ Array(bytes.prefix($0)) }) + Self.answers.map(\.1) {
            let server = try RawServer(.readHead, .send(answer))
            defer { server.stop() }
            let flags = ["--doh", "http://127.0.0.1:\(server.port)/dns-query", "--family", "v4"]
            let result = try await Command.resolveTest(["fetch", "-sS", "https://\(Self.host)/"] + flags).run()
            #expect(result.status == 6 && result.output == "", "\(result)")
            #expect(result.error.hasPrefix("resolve-test: ") && result.error.contains(Self.host), "\(result)")
            #expect(result.error.split(separator: "\n").count == 1, "\(result)")
        }
    }
}
