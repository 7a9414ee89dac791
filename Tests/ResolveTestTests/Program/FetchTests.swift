// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import ServerRig
import Testing

@Suite("Resolve-test fetch against a scripted server")
struct FetchTests {
    private static func answer(_ status: String = "200 OK", _ body: String = "hello", fields: String = "")
        -> RawServer.Step
    {
        .respond(body, status: status, fields: "Content-Type: text/plain\r\n\(fields)")
    }

    private func fetch(_ server: RawServer, _ arguments: [String], input: String = "") async throws -> CommandResult {
        try await Program.run(
            ["fetch", "http://one.test:\(server.port)/a?b", "--map", "one.test=127.0.0.1"] + arguments,
            input: input
        )
    }

    @Test("The report goes to standard error; the body nowhere, to stdout or to a file")
    func destinations() async throws {
        let server = try RawServer(.readHead, Self.answer())
        let folder = try TemporaryFolder()
        let nowhere = try await fetch(server, [])
        #expect(nowhere.status == 0)
        #expect(nowhere.output == "")
        #expect(nowhere.error.contains("-> 200, HTTP/1.1, 5 bytes, text/plain\n"))
        #expect(nowhere.error.contains("mapping, fresh, no expiry  --map\n"))
        #expect(nowhere.error.contains("127.0.0.1:\(server.port)\n"))

        let standard = try await fetch(server, ["-o", "-"])
        #expect(standard.output == "hello")

        let file = try await fetch(server, ["-o", "\(folder.path)/body.txt"])
        #expect(file.output == "")
        #expect(folder.read("body.txt") == "hello")
        #expect(try folder.names == ["body.txt"])
    }

    @Test("A body that breaks off leaves the old file and no half one")
    func brokenOff() async throws {
        let server = try RawServer(
            .readHead,
            .sendText("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"),
            .shutdownSending,
            .readToEnd
        )
        let folder = try TemporaryFolder()
        let file = try folder.write("old", to: "body.txt")
        let result = try await fetch(server, ["-o", file])
        #expect(result.status == 1)
        #expect(result.error.split(separator: "\n").count == 1)
        #expect(folder.read("body.txt") == "old")
        #expect(try folder.names == ["body.txt"])
    }

    @Test("The flag --include prints the head before the body")
    func include() async throws {
        let server = try RawServer(.readHead, Self.answer(fields: "X-Evil: \u{1B}[2J\r\n"))
        let result = try await fetch(server, ["--include", "-o", "-"])
        #expect(
            result.output == """
                HTTP/1.1 200 OK
                Content-Type: text/plain
                X-Evil: \\u{1b}[2J
                Content-Length: 5

                hello
                """
        )
    }

    @Test("The flag --json prints one object with every key, and nothing else")
    func json() async throws {
        let server = try RawServer(.readHead, Self.answer())
        let result = try await fetch(server, ["--json"])
        #expect(result.status == 0)
        #expect(result.error == "")
        let json = try JSONObject(result.output)
        #expect(
            json.names == [
                "originalURL", "addressURL", "host", "serverName", "resolveEntry", "addresses", "source", "provider",
                "cached", "stale", "ageSeconds", "timeToLiveSeconds", "generation", "location", "failedProviders",
                "tagged", "status", "httpVersion", "tlsVersion", "tlsCipherSuite", "remoteAddress",
                "bodyBytes", "wireBytes", "timings",
            ]
        )
        #expect(json["host"] == .text("one.test:\(server.port)"))
        #expect(json["resolveEntry"] == .text("one.test:\(server.port):127.0.0.1"))
        #expect(json["addressURL"] == .text("http://127.0.0.1:\(server.port)/a?b"))
        #expect(json["remoteAddress"] == .text("127.0.0.1"))
        #expect(json["serverName"] == .null)
        #expect(json["tlsVersion"] == .null && json["tlsCipherSuite"] == .null)
        #expect(json["bodyBytes"] == .integer(5))
        #expect(json["status"] == .integer(200))
        let timings: JSONObject? = json["timings"]
        #expect(timings?.names == ["resolve", "connect", "tls", "firstByte", "total"])
        #expect(timings?["tls"] == .null)
        #expect(!result.output.contains(".invalid"))
    }

    @Test("The flag -d posts a form as curl does, unless -X and -H change that")
    func data() async throws {
        let server = try RawServer(.readHead, .read(3), Self.answer())
        _ = try await fetch(server, ["-d", "a=1"])
        _ = try await fetch(server, ["--data-binary", "@-", "-X", "PUT", "-H", "Content-Type: text/x"], input: "x\ny")
        let texts = server.connections.map(\.text)
        #expect(texts.first?.hasPrefix("POST /a?b HTTP/1.1\r\nHost: one.test:\(server.port)\r\n") == true)
        #expect(texts.first?.contains("Content-Type: application/x-www-form-urlencoded\r\n") == true)
        #expect(texts.first?.hasSuffix("\r\n\r\na=1") == true)
        #expect(texts.last?.hasPrefix("PUT /a?b HTTP/1.1\r\n") == true)
        #expect(texts.last?.contains("Content-Type: text/x\r\n") == true)
        #expect(texts.last?.hasSuffix("\r\n\r\nx\ny") == true)
    }

    @Test("An empty -d is a POST with an empty body")
    func emptyData() async throws {
        let server = try RawServer(.readHead, Self.answer())
        #expect(try await fetch(server, ["-d", ""]).status == 0)
        let text = try #require(server.connections.first?.text)
        #expect(text.hasPrefix("POST "))
        #expect(text.lowercased().contains("content-length: 0\r\n"))
    }

    @Test("The flag -H Host replaces the Host on the wire and in the JSON")
    func host() async throws {
        let server = try RawServer(.readHead, Self.answer())
        let result = try await fetch(server, ["-H", "Host: other.test", "--json"])
        #expect(server.connections.first?.text.contains("\r\nHost: other.test\r\n") == true)
        #expect(try JSONObject(result.output)["host"] == .text("other.test"))
    }

    @Test("A status of 400 or more fails only with --fail, and the report is still shown")
    func fail() async throws {
        let server = try RawServer(.readHead, Self.answer("404 Not Found"))
        #expect(try await fetch(server, []).status == 0)
        let folder = try TemporaryFolder()
        let file = try folder.write("old", to: "body.txt")
        let failed = try await fetch(server, ["--fail", "-o", file])
        #expect(folder.read("body.txt") == "old")
        #expect(try folder.names == ["body.txt"])
        #expect(failed.status == 1)
        #expect(failed.error.contains("-> 404, HTTP/1.1"))
        #expect(failed.error.contains("resolve-test: the origin responded with status 404"))
    }

    @Test("A redirect is followed, with a hop per request, and dropped fields are shown")
    func redirectFollowed() async throws {
        let second = try RawServer(.readHead, Self.answer())
        let place = "http://127.0.0.1:\(second.port)/x"
        let first = try RawServer { _ in [.readHead, Self.answer("302 Found", "", fields: "Location: \(place)\r\n")] }
        let secrets = ["-H", "Authorization: Bearer canary", "-H", "Cookie: a=canary"]
        let text = try await fetch(first, secrets)
        #expect(text.status == 0, "\(text.error)")
        #expect(text.error.contains("hop 1  http://one.test:\(first.port)/a?b -> 302 \(place)\n"))
        #expect(text.error.contains("hop 2  \(place) -> 200, HTTP/1.1, 5 bytes, text/plain\n"))
        #expect(text.error.contains("dropped on redirect: Authorization, Cookie"))
        #expect(first.connections[0].text.contains("Bearer canary"))
        #expect(!second.connections[0].text.contains("canary"))
        let json = try JSONObject(try await fetch(first, secrets + ["--json"]).output)
        #expect(json["status"] == .integer(200) && json.names.contains("hops"))
    }

    @Test("With --max-redirects 0 a redirect is shown, not followed")
    func redirect() async throws {
        let server = try RawServer(.readHead, Self.answer("302 Found", "", fields: "Location: https://two.test/x\r\n"))
        let result = try await fetch(server, ["--max-redirects", "0"])
        #expect(result.status == 0)
        #expect(result.error.contains("-> 302 https://two.test/x\n"))
        #expect(result.error.contains("the redirect was not followed: resolve-test fetch https://two.test/x\n"))
        #expect(server.connections.count == 1)
    }

    @Test("With --cache a response is stored, and its source and age are shown")
    func cache() async throws {
        let folder = try TemporaryFolder()
        let tag = "ETag: \"1\"\r\n"
        let server = try RawServer { number in
            let fields = "Cache-Control: max-age=3600\r\n\(tag)"
            return [
                .readHead,
                number == 0 ? Self.answer(fields: fields) : Self.answer("304 Not Modified", "", fields: fields),
            ]
        }
        let arguments = ["--cache", folder.path("cache")]
        #expect(try await fetch(server, arguments).error.contains("response cache: miss"))
        let hit = try await fetch(server, arguments + ["-o", "-"])
        #expect(hit.output == "hello" && hit.error.contains("response cache: hit, age "))
        #expect(server.connections.count == 1)
        let json = try JSONObject(try await fetch(server, arguments + ["--json"]).output)
        #expect(json["status"] == .integer(200) && json["cache"]?["source"] == .text("hit"))
        let validated = try await fetch(server, arguments + ["-H", "Cache-Control: no-cache"])
        #expect(validated.error.contains("response cache: validated"))
        let refused = try await fetch(server, ["--cache", "/tmp"])
        #expect(refused.status == 2 && refused.error.contains("--cache: the cache folder"))
    }

    @Test("The flag --max-time ends a hanging request and names the limit")
    func limit() async throws {
        let server = try RawServer(.readHead, .hang)
        let result = try await fetch(server, ["--max-time", "0.2", "--json"])
        #expect(result.status == 1)
        #expect(try JSONObject(result.error)["error"]?["code"] == .text("timed-out"))
    }

    @Test("A reader that goes away ends the program quietly")
    func closedPipe() async throws {
        let chunk = [UInt8](repeating: UInt8(ascii: "x"), count: 65_536)
        let server = try RawServer(
            .readHead,
            .sendText("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n"),
            .repeatForever([.send(chunk)])
        )
        let script = "\"$0\" fetch http://one.test:\(server.port)/ --map one.test=127.0.0.1 -o - | head -c 3"
        let result = try await Command("bash", ["-c", "set -o pipefail; \(script)", Program.path]).run()
        #expect(result.output == "xxx")
        #expect(result.error == "")
        #expect(result.status == 128 + SIGPIPE)
    }

    @Test("Ctrl-C cancels, leaves no half file, and exits with 130")
    func interrupted() async throws {
        let sent = Gate()
        let server = try RawServer(
            .readHead,
            .sendText("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"),
            .open(sent),
            .hang
        )
        let folder = try TemporaryFolder()
        let script = "echo $$ > \(folder.path)/pid; exec \"$0\" fetch http://one.test:\(server.port)/ "
        async let result = Command(
            "sh",
            ["-c", script + "--map one.test=127.0.0.1 -o \(folder.path)/body", Program.path]
        ).run()
        await sent.passage()
        let text = try #require(folder.read("pid")).trimmingCharacters(in: .whitespacesAndNewlines)
        kill(try #require(pid_t(text)), SIGINT)
        #expect(try await result.status == 130)
        #expect(try folder.names == ["pid"])
        try await server.awaitConnections { $0.first?.isClosedByClient == true }
    }

    @Test("The files of --har and --report have the call, and only this user can read them")
    func trafficFiles() async throws {
        let server = try RawServer(.readHead, Self.answer())
        let folder = try TemporaryFolder()
        let files = ["--har", folder.path("a.har"), "--report", folder.path("a.html"), "-o", folder.path("body")]
        let result = try await fetch(server, files + ["-H", "Authorization: Bearer canary-1"])
        #expect(result.status == 0 && result.output == "")
        #expect(try folder.names.sorted() == ["a.har", "a.html", "body"])
        let (har, page) = (folder.read("a.har") ?? "", folder.read("a.html") ?? "")
        #expect(har.contains("\"text\":\"hello\"") && har.contains("one.test:\(server.port)/a?b"))
        #expect(page.hasPrefix("<!DOCTYPE html>") && page.contains("<pre>hello</pre>") && page.hasSuffix("</html>\n"))
        #expect(!har.contains("canary") && !page.contains("canary") && page.contains("(redacted)"))
        for name in ["a.har", "a.html"] {
            let attributes = try FileManager.default.attributesOfItem(atPath: folder.path(name))
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
    }

    @Test("The files are written for a failed call too, which keeps its exit status", arguments: [false, true])
    func trafficFilesOfFailure(isBroken: Bool) async throws {
        let server = try RawServer(
            .readHead,
            .sendText("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"),
            .shutdownSending,
            .readToEnd
        )
        let folder = try TemporaryFolder()
        let target = isBroken ? "127.0.0.1:\(server.port)" : "127.0.0.1:1"
        let result = try await Program.run([
            "fetch", "http://one.test/a", "--map", "one.test=\(target)", "--har", folder.path("a.har"),
            "--report", folder.path("a.html"),
        ])
        #expect(result.status == 1 && result.error.split(separator: "\n").count == 1)
        #expect(folder.read("a.har")?.contains(isBroken ? "connection-lost/body" : "connect-failed/connect") == true)
        #expect(folder.read("a.html")?.contains(isBroken ? "<b>connection-lost</b>" : "<b>connect-failed</b>") == true)
    }

    @Test("With --fail the files are written, and the status is a failure")
    func trafficFilesWithFail() async throws {
        let server = try RawServer(.readHead, Self.answer("404 Not Found"))
        let folder = try TemporaryFolder()
        let result = try await fetch(server, ["--fail", "--har", folder.path("a.har")])
        #expect(result.status == 1 && folder.read("a.har")?.contains("\"status\":404") == true)
    }

    @Test("A file that cannot be written is an error before the request", arguments: ["--har", "--report"])
    func unwritableTrafficFile(option: String) async throws {
        let server = try RawServer(.readHead, Self.answer())
        let folder = try TemporaryFolder()
        let old = try folder.write("old", to: "old")
        for (arguments, message) in [
            ([option, folder.path("none/a")], "\(option) \(folder.path("none/a")): No such file or directory"),
            ([option, folder.path], "\(option) \(folder.path) is a directory"),
            ([option, ""], "\(option) has no value"), ([option, "-"], "\(option) - is not possible"),
            (["-o", old, option, old], "\(option) \(old) is the file of another option too"),
        ] {
            let result = try await fetch(server, arguments)
            #expect(result.status == 2 && result.error.contains(message), "\(result.error)")
        }
        #expect(server.connections.isEmpty && folder.read("old") == "old")
        #expect(try folder.names == ["old"])
    }

    @Test("With -v the waterfall follows the report, in ASCII unless the locale has UTF-8")
    func waterfall() async throws {
        let server = try RawServer(.readHead, Self.answer(fields: "X-Evil: \u{1B}[2J\r\n"))
        let arguments = ["fetch", "http://one.test:\(server.port)/a?b", "--map", "one.test=127.0.0.1"]
        let ascii = try await Program.run(arguments + ["-v"], environment: ["LC_ALL": "C"])
        let story = "       127.0.0.1:\(server.port) answered over HTTP/1.1 on a new connection.\n"
        #expect(ascii.error.contains("GET http://one.test:\(server.port)/a?b -> 200, ") && ascii.error.contains(story))
        #expect(ascii.error.utf8.allSatisfy { $0 == 0x0a || (0x20...0x7e).contains($0) })
        let blocks = try await Program.run(arguments + ["-v"], environment: ["LC_ALL": "C.UTF-8"])
        #expect(blocks.error.contains("█ first byte"))
        let brief = try await Program.run(arguments, environment: ["LC_ALL": "C"])
        #expect(ascii.error.contains("w first byte  b receive\n") && !brief.error.contains("b receive"))
    }
}
