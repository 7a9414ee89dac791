// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import Foundation
import HTTPDNS
import HTTPDNSControl
import HTTPDNSMonitor
import Testing

@testable import ServerRig

/// `monitor --socket` against a service, which here is the test itself.
struct MonitorCommandTests {
    private static let canaries = ["query-s3same", "field-s3same", "cookie-s3same", "user-s3same", "answer-s3same"]

    /// A client whose calls a monitor records. Each call has a connection, and the response of its number.
    private struct Service {
        let folder: TemporaryFolder
        let server: RawServer
        let client: HTTPDNSClient
        let monitor: HTTPDNSTrafficMonitor
        let socket: HTTPDNSControlSocket

        /// - Parameters:
        ///   - isRecorded: Whether the socket gets the monitor.
        ///   - bodyLimit: The most bytes of a response body that the monitor stores.
        init(isRecorded: Bool = true, bodyLimit: HTTPDNSByteCount = .bytes(0), _ answers: [RawServer.Step]...)
            async throws
        {
            var settings = HTTPDNSTrafficMonitor.Settings()
            settings.responseBodyLimit = bodyLimit
            monitor = try HTTPDNSTrafficMonitor(settings)
            folder = try TemporaryFolder()
            server = try RawServer { connection in
                [.readHead]
                    + (connection < answers.count
                        ? answers[connection] : [.respond("more", fields: "Connection: close\r\n")])
            }
            var configuration = HTTPDNSClient.Configuration()
            configuration.allowsCleartextCredentials = true
            configuration.resolver.mappings = [
                try HTTPDNSMapping.Key("img.test"): .addresses(["127.0.0.1"]),
                try HTTPDNSMapping.Key("other.test"): .addresses(["127.0.0.1"]),
            ]
            client = try await HTTPDNSClient(configuration: configuration)
            monitor.start(on: client)
            socket = try HTTPDNSControlSocket(
                client: client,
                path: "\(folder.path)/s",
                monitor: isRecorded ? monitor : nil
            )
        }

        func get(_ path: String, host: String = "img.test") async throws {
            var request = HTTPDNSClient.Request(url: "http://user:user-s3same@\(host):\(server.port)\(path)")
            request.headerFields[.init("X-Api-Key")!] = "field-s3same"
            request.headerFields[.cookie] = "session=cookie-s3same"
            let response = try await client.execute(request)
            for try await _ in response.body {}
        }

        func run(_ arguments: [String]) async throws -> CommandResult {
            try await Program.run(["monitor", "--socket", socket.path] + arguments, environment: ["LC_ALL": "C"])
        }

        /// Returns the numbers of the calls that the program prints.
        func numbers(_ arguments: [String]) async throws -> [Int] {
            let run = try await run(arguments + ["--json"])
            guard run.status == 0 else { throw RigError("\(run)") }
            return try run.output.split(separator: "\n").map {
                guard case .integer(let number)? = try JSONObject(String($0))["callID"] as JSONObject.Value? else {
                    return -1
                }
                return number
            }
        }
    }

    private static func answer(_ status: String, fields: String = "") -> [RawServer.Step] {
        [.respond("hello", status: status, fields: "Connection: close\r\n\(fields)")]
    }

    /// A good call, one with 404, a redirect, a slow one, and one that fails.
    private func service() async throws -> Service {
        let service = try await Service(
            Self.answer("200 OK", fields: "Set-Cookie: a=answer-s3same\r\nX-Evil: \u{1B}[2J\r\n"),
            Self.answer("404 Not Found"),
            Self.answer("302 Found", fields: "Location: /b\r\n"),
            Self.answer("200 OK"),
            [.pause(.milliseconds(300))] + Self.answer("200 OK"),
            [.sendText("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"), .shutdownSending, .readToEnd]
        )
        try await service.get("/a?token=query-s3same")
        try await service.get("/missing")
        try await service.get("/redirect")
        try await service.get("/slow", host: "other.test")
        await #expect(throws: HTTPDNSClientError.self) { try await service.get("/broken") }
        return service
    }

    private func settled(_ text: String, _ service: Service) -> String {
        text.replacing(":\(service.server.port)", with: ":PORT").replacing(/[0-9]+(\.[0-9]+)? (ms|s) +/, with: "N ms  ")
            .replacing(/[0-9]{2}:[0-9]{2}:[0-9]{2}/, with: "HH:MM:SS").replacing(/[#][0-9]+ +/, with: "#N  ")
            .replacing(/[ ]{3,}/, with: "  ")
    }

    @Test("The last calls have a line each, with status or error, hops and source")
    func list() async throws {
        let service = try await service()
        let run = try await service.run([])
        #expect(run.status == 0 && run.error.isEmpty, "\(run)")
        #expect(
            settled(run.output, service) == """
                HH:MM:SS  #N  GET  200  N ms  1 hop  mapping 127.0.0.1:PORT  http://img.test:PORT/a?token=(redacted)
                HH:MM:SS  #N  GET  404  N ms  1 hop  mapping 127.0.0.1:PORT  http://img.test:PORT/missing
                HH:MM:SS  #N  GET  200  N ms  2 hops  mapping 127.0.0.1:PORT  http://img.test:PORT/redirect
                HH:MM:SS  #N  GET  200  N ms  1 hop  mapping 127.0.0.1:PORT  http://other.test:PORT/slow
                HH:MM:SS  #N  GET  connection-lost/body  N ms  1 hop  mapping 127.0.0.1:PORT  http://img.test:PORT/broken

                """
        )
        await service.socket.shutdown()
    }

    @Test("Filters select calls by host, status, failure, duration and number")
    func filters() async throws {
        let service = try await service()
        let all = service.monitor.records.map { Int($0.callID) }
        #expect(all.count == 5)
        #expect(try await service.numbers([]) == all)
        #expect(try await service.numbers(["--limit", "2"]) == Array(all.suffix(2)))
        #expect(try await service.numbers(["--host", "other.test"]) == [all[3]])
        #expect(try await service.numbers(["--host", "*.test", "--status", "4xx"]) == [all[1]])
        #expect(try await service.numbers(["--status", "200"]) == [all[0], all[2], all[3], all[4]])
        #expect(try await service.numbers(["--failed"]) == [all[4]])
        // A busy machine may make others slow as well.
        #expect(try await service.numbers(["--slower-than", "290ms"]).contains(all[3]))
        #expect(try await service.numbers(["--slower-than", "1h"]) == [])
        #expect(try await service.numbers(["--id", "\(all[2])"]) == [all[2]])
        await service.socket.shutdown()
    }

    @Test("One call is shown with hops, phases, addresses and header fields")
    func detail() async throws {
        let service = try await service()
        let number = service.monitor.records[2].callID
        let run = try await service.run(["--id", "\(number)"])
        #expect(run.status == 0, "\(run)")
        let bar = /^(hop [0-9]) {2}[ .a-z]{40} [0-9.]+ m?s/.anchorsMatchLineEndings()
        let text = settled(
            run.output.replacing(bar) { "\($0.1)  BAR N ms" }.replacing(#/, [0-9.]+ m?s, /#, with: ", N ms, "),
            service
        )
        #expect(
            text == """
                ok #N  HH:MM:SS
                GET http://img.test:PORT/redirect -> 200, N ms, 5 B, 1 redirect
                hop 1  BAR N ms  302
                  Mapping "img.test" named the address of img.test.
                  127.0.0.1:PORT answered over HTTP/1.1 on a new connection.
                hop 2  BAR N ms  200
                  Mapping "img.test" named the address of img.test.
                  127.0.0.1:PORT answered over HTTP/1.1 on a new connection.
                  r resolve  . blocked  e earlier attempts  c connect  t TLS  w first byte  b receive
                hop 1  bytes  request head 206  request body 0  response head 74  response body 5
                  request  X-Api-Key: (redacted)
                  request  Cookie: (redacted)
                  response  Connection: close
                  response  Location: /b
                  response  Content-Length: 5
                hop 2  bytes  request head 199  request body 0  response head 57  response body 5  decoded 5
                  request  X-Api-Key: (redacted)
                  request  Cookie: (redacted)
                  request  Authorization: (redacted)
                  response  Connection: close
                  response  Content-Length: 5

                """
        )
        await service.socket.shutdown()
    }

    @Test("The JSON is the records of the monitor, one for each line")
    func json() async throws {
        let service = try await service()
        let run = try await service.run(["--json"])
        let records = try run.output.split(separator: "\n").map {
            try JSONDecoder().decode(HTTPDNSTrafficMonitor.Record.self, from: Data($0.utf8))
        }
        #expect(records == service.monitor.records)
        await service.socket.shutdown()
    }

    @Test("No secret and no control code of a server is in any output")
    func secrets() async throws {
        let service = try await service()
        var outputs: [String] = []
        for more in [[], ["--json"]] {
            outputs.append(try await service.run(more).output)
            for record in service.monitor.records {
                outputs.append(try await service.run(["--id", "\(record.callID)"] + more).output)
            }
        }
        let text = outputs.joined()
        #expect(text.contains("X-Evil: ") && text.contains("Set-Cookie: "))
        for canary in Self.canaries { #expect(!text.contains(canary), "\(canary)") }
        #expect(!text.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" || (0x7f..<0xa0).contains($0.value) })
        await service.socket.shutdown()
    }

    @Test("With --follow, new calls are printed until Ctrl-C")
    func follow() async throws {
        let service = try await service()
        let output = try service.folder.write("", to: "output")
        let shell = "echo $$ > \(service.folder.path)/pid; exec \"$0\" \"$@\" > \(output)"
        async let run = Program.shell(
            shell,
            [
                "monitor", "--socket", service.socket.path, "--follow", "--interval", "200ms", "--limit", "2", "--host",
                "img.test", "--json",
            ]
        )
        let folder = service.folder
        @Sendable func lines() -> Int { folder.read("output")?.split(separator: "\n").count ?? 0 }
        _ = try await watch(output, within: .seconds(120)) { lines() >= 2 ? true : nil }
        for path in ["/1", "/2", "/3", "/4", "/5"] { try await service.get(path) }
        try await service.get("/6", host: "other.test")
        try await service.get("/7")
        _ = try await watch(output, within: .seconds(120)) { lines() >= 8 ? true : nil }
        kill(try #require(service.folder.read("pid").flatMap { Int32($0.dropLast()) }), SIGINT)
        #expect(try await run.status == 130)
        let urls = try (service.folder.read("output") ?? "").split(separator: "\n").map { line in
            try JSONObject(String(line))["url"] as JSONObject.Value?
        }
        #expect(
            urls
                == ["/redirect", "/broken", "/1", "/2", "/3", "/4", "/5", "/7"].map {
                    .text("http://img.test:\(service.server.port)\($0)")
                }
        )
        await service.socket.shutdown()
    }

    /// The bodies of the last 20 calls have more bytes than a reply may have.
    @Test("Stored bodies are in the record of one call alone, and fill no reply")
    func bodies() async throws {
        let body = String(repeating: "a", count: 512 << 10)
        let answer: [RawServer.Step] = [.respond(body, fields: "Connection: close\r\nContent-Type: text/plain\r\n")]
        let service = try await Service(bodyLimit: .mebibytes(1), answer)
        let server = try RawServer { _ in [.readHead] + answer }
        for number in 0..<20 {
            let response = try await service.client.get("http://img.test:\(server.port)/\(number)")
            for try await _ in response.body {}
        }
        #expect(service.monitor.records.count == 20)
        let all = try await service.run(["--json"])
        #expect(all.status == 0 && all.error.isEmpty && all.output.split(separator: "\n").count == 20, "\(all.error)")
        #expect(!all.output.contains("aaaa"))
        let one = try await service.run(["--json", "--id", "\(service.monitor.records[19].callID)"])
        #expect(one.status == 0 && one.output.contains(body))
        await service.socket.shutdown()
    }

    /// A scripted service without a record, which gets two calls between the first and the second request of the program.
    @Test("With --follow, all calls after an empty reply are asked for")
    func followFromNothing() async throws {
        let service = try await service()
        let folder = try TemporaryFolder()
        @Sendable func line(_ records: [HTTPDNSTrafficMonitor.Record], last: UInt64?) -> [UInt8] {
            var reply = ControlReply(to: "records")
            reply.records = ControlReply.Records(calls: records, last: last, stored: records.count)
            return reply.line
        }
        @Sendable func request(after: UInt64?) -> [UInt8] {
            var selection = RecordSelection(limit: 20)
            selection.after = after
            return ControlRequest(.records(selection)).line
        }
        let records = service.monitor.records
        let path = folder.path("s")
        let scripted = try RawServer(unixSocket: path) { _ in
            [
                .read(request(after: nil).count), .send(line([], last: nil)), .read(request(after: 0).count),
                .send(line(records, last: records.last?.callID)), .readToEnd,
            ]
        }
        async let run = Program.shell(
            "echo $$ > \(folder.path)/pid; exec \"$0\" \"$@\"",
            ["monitor", "--socket", path, "--follow", "--interval", "200ms", "--json"]
        )
        // It continues behind the last call.
        let last = String(decoding: request(after: records.last?.callID), as: UTF8.self)
        try await scripted.awaitConnections { $0.contains { $0.text.hasSuffix(last) } }
        let text = scripted.connections.map(\.text).joined()
        #expect(text.hasPrefix(String(decoding: request(after: nil) + request(after: 0), as: UTF8.self)), "\(text)")
        kill(try #require(folder.read("pid").flatMap { Int32($0.dropLast()) }), SIGINT)
        let ended = try await run
        #expect(ended.status == 130 && ended.output.split(separator: "\n").count == records.count, "\(ended)")
        await service.socket.shutdown()
    }

    @Test("A missing call, a missing monitor and bad options are clear errors")
    func failures() async throws {
        let service = try await Service(Self.answer("200 OK"))
        try await service.get("/a")
        let unknown = try await service.run(["--id", "999999999"])
        #expect(unknown.status == 1 && unknown.output.isEmpty)
        #expect(unknown.error.contains("the service has no record of call 999999999"), "\(unknown)")
        #expect(try await service.run(["--status", "teapot"]).status == 2)
        #expect(try await service.run(["--limit", "0"]).status == 2)
        #expect(try await service.run(["--slower-than", "5"]).status == 2)
        #expect(try await service.run(["--id", "1", "--follow"]).status == 2)
        #expect(try await service.run(["--host", "a b"]).status == 2)
        await service.socket.shutdown()
        let bare = try await Service(isRecorded: false, Self.answer("200 OK"))
        let none = try await bare.run([])
        #expect(
            none.status == 1 && none.error.contains("the service records no calls for its control socket"),
            "\(none)"
        )
        let json = try await bare.run(["--json"])
        #expect(json.error.contains(#""code":"no-monitor""#))
        await bare.socket.shutdown()
    }
}
#endif
