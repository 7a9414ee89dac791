// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import Foundation
import HTTPDNSCore
import HTTPDNSMessages
import ServerRig
import Testing

@testable import resolve_test

/// `resolve HOST HTTPS` against services that follow a script.
struct HTTPSRecordTests {
    /// A DNS message in response to `one.test HTTPS`, with records of these data.
    private static func message(_ records: [[UInt8]]) -> [UInt8] {
        let question: [UInt8] = [3] + Array("one".utf8) + [4] + Array("test".utf8) + [0, 0, 65, 0, 1]
        return [0, 0, 0x81, 0x80, 0, 1, 0, UInt8(records.count), 0, 0, 0, 0] + question
            + records.flatMap { [0xc0, 12, 0, 65, 0, 1, 0, 0, 0, 60, 0, UInt8($0.count)] + $0 }
    }

    /// Priority 1, target the root: `alpn="h2"`, and a port of one octet.
    private static let good: [UInt8] = [0, 1, 0, 0, 1, 0, 3, 2, 0x68, 0x32]
    private static let malformed: [UInt8] = [0, 1, 0, 0, 3, 0, 1, 9]

    private static func service(_ message: [UInt8]) throws -> RawServer {
        let head =
            "HTTP/1.1 200 OK\r\nContent-Type: application/dns-message\r\nContent-Length: \(message.count)\r\n"
            + "Connection: close\r\n\r\n"
        return try RawServer { _ in [.readHead, .send(Array(head.utf8) + message)] }
    }

    private static func url(_ server: RawServer) -> String { "http://127.0.0.1:\(server.port)/dns-query" }

    /// Returns the query in the first request of a service.
    private static func query(_ server: RawServer) throws -> [UInt8] {
        let text = try #require(server.connections.first?.text.firstMatch(of: /dns=([\w-]+)/)).1
            .replacing("-", with: "+").replacing("_", with: "/")
        let padding = String(repeating: "=", count: (4 - text.count % 4) % 4)
        return Array(try #require(Data(base64Encoded: text + padding)))
    }

    private static func file(_ servers: [RawServer], _ more: String, in folder: TemporaryFolder) throws -> String {
        let providers = servers.enumerated().map { "p\($0): { kind: doh, url: \"\(url($1))\" }" }
        let names = servers.indices.map { "p\($0)" }.joined(separator: ", ")
        return try folder.write(
            """
            version: 1
            providers: { \(providers.joined(separator: ", ")) }
            routes: { "*": { providers: [\(names)], client_subnet: 203.0.113.99/32 } }
            \(more)
            """,
            to: "httpdns.yaml"
        )
    }

    @Test(
        "The queried name begins with a port other than 443",
        arguments: [
            ("one.test", [3] + Array("one".utf8)), ("one.test:443", [3] + Array("one".utf8)),
            ("one.test:8443", [5] + Array("_8443".utf8) + [6] + Array("_https".utf8) + [3] + Array("one".utf8)),
        ] as [(String, [UInt8])]
    )
    func port(host: String, name: [UInt8]) async throws {
        let server = try Self.service(Self.message([]))
        let run = try await Program.run([host, "HTTPS", "@\(Self.url(server))"])
        #expect(run.status == 1, "\(run)")
        #expect(try Array(Self.query(server)[12..<(12 + name.count)]) == name)
    }

    @Test("The client network of the route is sent as for addresses: 24 bits of IPv4")
    func subnet() async throws {
        let server = try Self.service(Self.message([Self.good]))
        let folder = try TemporaryFolder()
        let run = try await Program.run(["one.test", "HTTPS", "--config", try Self.file([server], "", in: folder)])
        #expect(run.status == 0 && run.output.hasPrefix("one.test.  60  IN  HTTPS  1 . alpn=\"h2\"\n; "), "\(run)")
        // EDNS option 8 with 7 octets: family 1, prefix 24, scope 0, and three octets of the address.
        let option: [UInt8] = [0, 8, 0, 7, 0, 1, 24, 0, 203, 0, 113]
        let query = try Self.query(server)
        #expect(query.indices.contains { query[$0...].starts(with: option) }, "\(query)")
    }

    @Test("All services of a route share one time limit, and each has its own")
    func limits() async throws {
        let servers = [try RawServer(.hang), try RawServer(.hang), try RawServer(.hang)]
        let folder = try TemporaryFolder()
        let file = try Self.file(servers, "resolver: { time_limit: 1s, attempt_limit: 600ms }", in: folder)
        let run = try await Program.run(["one.test", "HTTPS", "--json", "--config", file])
        // The start of the program is not measured.
        let seconds = run.error.matches(of: /"seconds":([0-9.]+)/).compactMap { Double($0.1) }.reduce(0, +)
        #expect(run.status == 1 && seconds > 0.9 && seconds < 10, "\(run)")
        #expect(servers.map(\.connections.isEmpty) == [false, false, true])
        let error = try #require(try JSONObject(run.error)["error"] as JSONObject?)
        #expect(error["reason"] == .text("providers-failed") && run.error.contains("\"provider\":\"p0\""), "\(run)")
        #expect(run.error.contains("\"provider\":\"p1\"") && !run.error.contains("\"provider\":\"p2\""), "\(run)")
    }

    @Test("A service that failed before the answer is shown, and with -v after a failure")
    func failedServices() async throws {
        let server = try Self.service(Self.message([Self.good]))
        let dead = "@http://127.0.0.1:1/dns-query"
        let text = try await Program.run(["one.test", "HTTPS", dead, "@\(Self.url(server))"])
        #expect(text.status == 0 && text.output.contains("\n; doh: ") && text.error == "", "\(text)")
        let json = try await Program.run(["one.test", "HTTPS", "--json", dead, "@\(Self.url(server))"])
        #expect(json.output.contains("\"failedProviders\":[{\"failure\":\"") && json.output.contains("\"doh-2\""))
        let failed = try await Program.run(["one.test", "HTTPS", dead, "-v"])
        #expect(failed.status == 1 && failed.error.contains("\n  doh: "), "\(failed)")
    }

    @Test("A malformed record is an error and not data")
    func malformed() async throws {
        let server = try Self.service(Self.message([Self.good, Self.malformed]))
        let line = ["one.test", "HTTPS", "@\(Self.url(server))"]
        let text = try await Program.run(line)
        #expect(text.status == 1 && text.error.contains("a record is malformed: "), "\(text)")
        #expect(
            text.output.hasPrefix(
                """
                one.test.  60  IN  HTTPS  1 . alpn="h2"
                one.test.  60  IN  HTTPS  \\# 8 0001000003000109
                ; one.test. HTTPS: malformed:\(" ")
                """
            ),
            "\(text)"
        )
        let short = try await Program.run(line + ["+short"])
        #expect(short.status == 1 && short.output == "1 . alpn=\"h2\"\n", "\(short)")
        let json = try await Program.run(line + ["--json"])
        #expect(json.status == 1 && json.error.contains("\"malformed-record\""), "\(json)")
        #expect(
            json.output.contains("0001000003000109\",\"malformed\":\"") && json.output.contains("\"malformed\":null")
        )
    }

    @Test("The text of HTTPS records is that of its file")
    func golden() throws {
        let question = DNSQuestion(name: try #require(DNSName(presentation: "one.test.")), type: .https)
        func answer(_ data: [[UInt8]]) throws -> RecordReply {
            RecordReply(
                response: try PresentedResponse(parsing: Self.message(data), to: question),
                server: HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 192, 0, 2, 53), port: 443),
                transport: nil
            )
        }
        var found = RecordReport.Row(host: try HostArgument("one.test"), type: .https)
        found.answer = try answer([Self.good, Self.malformed])
        found.failedAttempts = [.init(provider: "ali", failure: "503", elapsed: .milliseconds(12))]
        found.provider = "doh"
        var missing = RecordReport.Row(host: try HostArgument("one.test"), type: .https)
        missing.answer = try answer([])
        missing.provider = ServerArgument.providerName
        missing.failure = missing.failure("no-records", "one.test has none")
        var failed = RecordReport.Row(host: try HostArgument("two.test"), type: .txt)
        failed.failure = failed.failure("providers-failed", "no answer")
        try Golden.check("records") { RecordReport.text([found, missing, failed], width: $0.width) }
    }
}
#endif
