// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import Foundation
import ServerRig
import Testing

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

    @Test("The report goes to standard error; the body to standard output or to a file")
    func destinations() async throws {
        let server = try RawServer(.readHead, Self.answer())
        let folder = try TemporaryFolder()
        for arguments in [[], ["-o", "-"]] {
            let standard = try await fetch(server, arguments)
            #expect(standard.status == 0)
            #expect(standard.output == "hello")
            #expect(standard.error.contains("-> 200, HTTP/1.1, 5 bytes, text/plain\n"))
            #expect(standard.error.contains("mapping, fresh, no expiry  --map\n"))
            #expect(standard.error.contains("127.0.0.1:\(server.port)\n"))
        }

        let file = try await fetch(server, ["-o", "\(folder.path)/body.txt"])
        #expect(file.output == "")
        #expect(folder.read("body.txt") == "hello")
        #expect(try folder.names == ["body.txt"])
    }

    @Test(
        "On a terminal the body is discarded, unless -o - asks for it",
        .enabled(if: Command.find("script") != nil),
        arguments: [("", false), ("-o -", true)]
    )
    func terminal(option: String, isShown: Bool) async throws {
        let server = try RawServer(.readHead, Self.answer())
        let line = "\(Program.path) fetch http://one.test:\(server.port)/ --map one.test=127.0.0.1 \(option)"
        let run = try await Command("script", ["-qec", line, "/dev/null"]).run()
        #expect(run.status == 0 && run.output.contains("200, HTTP/1.1, 5 bytes"), "\(run)")
        #expect(run.output.contains("hello") == isShown, "\(run)")
    }

    @Test("With -s there is no report and no error, and -S shows the error")
    func silent() async throws {
        let server = try RawServer(.readHead, Self.answer("404 Not Found"))
        let silent = try await fetch(server, ["-s", "-H", "Host: other.test"])
        #expect(silent.status == 0 && silent.output == "hello" && silent.error == "", "\(silent)")
        let failed = try await fetch(server, ["-sf"])
        #expect(failed.status == 22 && failed.output == "" && failed.error == "", "\(failed)")
        let shown = try await fetch(server, ["-sSf"])
        #expect(shown.status == 22 && shown.error.hasPrefix("resolve-test: the origin responded with status 404"))
        #expect(shown.error.split(separator: "\n").count == 1)
        // What cannot be run is reported in any case.
        #expect(try await fetch(server, ["-s", "--nope"]).error.contains("Unknown option"))
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
        #expect(result.status == 18)
        #expect(result.error.contains("hop 1  http://one.test:\(server.port)/a?b -> 200, HTTP/1.1, 4 bytes\n"))
        #expect(result.error.contains("x failed in body after "), "\(result)")
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
                "tagged", "order", "status", "httpVersion", "tlsVersion", "tlsCipherSuite", "remoteAddress",
                "bodyBytes", "wireBytes", "timings", "hops", "cache", "headerFields",
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
        #expect(result.output.contains("\"hops\" : [\n    {\n"))
        #expect(!result.output.contains("hello"))
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
        #expect(failed.status == 22)
        #expect(failed.error.contains("-> 404, HTTP/1.1"))
        #expect(failed.error.contains("resolve-test: the origin responded with status 404"))
        let withBody = try await fetch(server, ["--fail-with-body"])
        #expect(withBody.status == 22 && withBody.output == "hello")
        let json = try JSONObject(try await fetch(server, ["--fail", "--json"]).error)
        #expect(json["error"]?["exitStatus"] == .integer(22) && json["error"]?["code"] == .text("http-status"))
    }

    @Test("With -L redirects are followed, each hop is shown, and so are dropped fields")
    func redirectFollowed() async throws {
        let second = try RawServer(.readHead, Self.answer())
        let place = "http://127.0.0.1:\(second.port)/x"
        let first = try RawServer { _ in [.readHead, Self.answer("302 Found", "", fields: "Location: \(place)\r\n")] }
        let secrets = ["-L", "-H", "Authorization: Bearer canary", "-H", "Cookie: a=canary"]
        let text = try await fetch(first, secrets)
        #expect(text.status == 0, "\(text.error)")
        #expect(text.error.contains("hop 1  http://one.test:\(first.port)/a?b -> 302 \(place)\n"))
        #expect(text.error.contains("hop 2  \(place) -> 200, HTTP/1.1, 5 bytes, text/plain\n"))
        #expect(text.error.contains("dropped on redirect: Authorization, Cookie"))
        #expect(first.connections[0].text.contains("Bearer canary"))
        #expect(!second.connections[0].text.contains("canary"))
        let json = try JSONObject(try await fetch(first, secrets + ["--json"]).output)
        #expect(json["status"] == .integer(200) && json.names.contains("hops"))
        #expect(!second.text.contains("canary"))
        let trusted = try await fetch(first, secrets + ["--location-trusted"])
        #expect(trusted.status == 0 && second.count(of: "Authorization: Bearer canary") == 1, "\(second.text)")
    }

    @Test("Without -L a redirect is the result, with its body", arguments: [[], ["--max-redirs", "5"]])
    func redirect(arguments: [String]) async throws {
        let server = try RawServer(
            .readHead,
            Self.answer("302 Found", "moved", fields: "Location: https://two.test/x\r\n")
        )
        let result = try await fetch(server, arguments)
        #expect(result.status == 0 && result.output == "moved")
        #expect(result.error.contains("-> 302 https://two.test/x\n"))
        #expect(result.error.contains("the redirect was not followed; -L follows it\n"))
        #expect(result.error.contains("without -L, --max-redirs has no effect") == !arguments.isEmpty)
        #expect(server.connections.count == 1)
    }

    @Test("With --max-redirs 0 and -L a redirect is a failure without a body")
    func noRedirects() async throws {
        let server = try RawServer(.readHead, Self.answer("302 Found", "moved", fields: "Location: /x\r\n"))
        let result = try await fetch(server, ["-L", "--max-redirs", "0"])
        #expect(result.status == 47 && result.output == "", "\(result)")
        #expect(server.connections.count == 1)
    }

    @Test("With -C a file is continued, and a whole response is refused")
    func continued() async throws {
        let server = try RawServer { number in
            let isPart = number == 0
            return [
                .readHead,
                Self.answer(
                    isPart ? "206 Partial Content" : "200 OK",
                    isPart ? "lo" : "hello",
                    fields: isPart ? "Content-Range: bytes 3-4/5\r\n" : ""
                ),
            ]
        }
        let folder = try TemporaryFolder()
        let file = try folder.write("hel", to: "body.txt")
        #expect(try await fetch(server, ["-C", "-", "-o", file]).status == 0)
        #expect(folder.read("body.txt") == "hello")
        #expect(server.connections[0].text.contains("\r\nRange: bytes=3-\r\n"))
        let whole = try await fetch(server, ["-C", "-", "-o", file])
        #expect(whole.status == 33 && whole.error.contains("cannot be continued"), "\(whole)")
        #expect(folder.read("body.txt") == "hello")
        // An empty file begins at its first byte.
        let empty = try folder.write("", to: "empty.txt")
        #expect(try await fetch(server, ["-C", "-", "-o", empty]).status == 0 && folder.read("empty.txt") == "hello")
    }

    @Test("With -v the heads are printed without secrets, and the certificate of the server")
    func trace() async throws {
        let server = try RawServer(.readHead, Self.answer(fields: "Set-Cookie: s=canary\r\n"))
        let result = try await fetch(server, ["-sv", "-u", "me:canary", "-H", "X-A: b"])
        #expect(result.output == "hello" && !result.error.contains("canary"), "\(result)")
        #expect(result.error.contains("> GET /a?b HTTP/1.1\n> Host: one.test:\(server.port)\n"), "\(result)")
        #expect(result.error.contains("> X-A: b\n") && result.error.contains("> Authorization: (redacted)\n"))
        #expect(result.error.contains("< HTTP/1.1 200 OK\n< Content-Type: text/plain\n< Set-Cookie: (redacted)\n"))
        #expect(result.error.contains("* connected to 127.0.0.1:\(server.port)\n"))
        #expect(!result.error.contains("hop 1  http://one.test:\(server.port)/a?b -> "))
    }

    @Test("With --retry a 503 and, if asked for, a refused connection are tried again")
    func retry() async throws {
        let server = try RawServer { number in [.readHead, Self.answer(number == 0 ? "503 Busy" : "200 OK")] }
        let result = try await fetch(server, ["--retry", "2", "--retry-delay", "0.05"])
        #expect(result.status == 0 && result.output == "hello" && server.connections.count == 2, "\(result)")
        let refused = ["fetch", "http://127.0.0.1:1/", "--retry", "1", "--retry-delay", "0.05", "--json"]
        for (more, tries) in [([], 1), (["--retry-connrefused"], 2)] {
            let result = try await Program.run(refused + more)
            #expect(result.status == 7 && result.error.ranges(of: "\"port\":1,").count == tries, "\(result)")
        }
    }

    /// 65 redirects and 70 refusals: the record of the call has 128 of its 136 hops.
    @Test("The connections of all hops are counted, and hops left out are named")
    func manyHops() async throws {
        let server = try RawServer { number in
            let status = number < 65 ? "302 Found" : number < 135 ? "503 Busy" : "200 OK"
            return [.readHead, Self.answer(status, fields: number < 65 ? "Location: /\(number)\r\n" : "")]
        }
        let options = ["-L", "--max-redirs", "100", "--retry", "100", "--retry-delay", "0.001"]
        let result = try await fetch(server, options + ["-w", " %{num_redirects} %{num_connects}"])
        #expect(result.status == 0 && result.output == "hello 65 136" && server.connections.count == 136)
        #expect(result.error.contains("\nhop 64 http://one.test:\(server.port)/62 -> 302 /63\n"), "\(result.error)")
        #expect(result.error.contains("\n       8 hops left out\nhop 73 http://one.test:"))
        #expect(result.error.contains("\nhop 136 http://one.test:"))
        #expect(try await fetch(server, ["--json"]).error.contains("hopsLeftOut") == false)
    }

    @Test("With --limit-rate a body takes its time")
    func limitedRate() async throws {
        let server = try RawServer(.readHead, Self.answer("200 OK", String(repeating: "x", count: 200)))
        let start = ContinuousClock.now
        let result = try await fetch(server, ["--limit-rate", "40"])
        #expect(result.status == 0 && result.output.count == 200)
        let elapsed = start.duration(to: .now)
        #expect(elapsed > .seconds(4) && elapsed < .seconds(100), "\(elapsed)")
    }

    @Test("With --unix-socket the request goes through the socket")
    func unixSocket() async throws {
        let folder = try TemporaryFolder()
        let server = try RawServer(unixSocket: folder.path("s")) { _ in [.readHead, Self.answer()] }
        let result = try await Program.run(["fetch", "-s", "one.test/a", "--unix-socket", folder.path("s")])
        #expect(result.status == 0 && result.output == "hello", "\(result)")
        #expect(server.text.hasPrefix("GET /a HTTP/1.1\r\nHost: one.test\r\n"))
    }

    @Test("With --connect-timeout an address that does not answer is given up")
    func connectTimeout() async throws {
        let hole = try BlackHole()
        let url = "http://\(hole.address):\(hole.port)/"
        let result = try await Program.run(["fetch", url, "--connect-timeout", "0.3"])
        #expect(result.status == 28 && result.error.contains("--connect-timeout"), "\(result)")
        // The default is 5 s.
        #expect(result.error.contains("no TCP connection within 300 ms"), "\(result)")
    }

    @Test(
        "Contradicting options and bad values are refused, and nothing is sent",
        arguments: [
            ["-I", "-d", "a"], ["-F", "a=b", "-d", "c"], ["-T", "/dev/null", "-d", "a"], ["-4", "-6"],
            ["-o", "a", "-O"],
            ["-C", "5", "-r", "0-1"], ["-C", "x"], ["-u", "me"], ["-b", "cookies.txt"], ["-e", "http://a.test;auto"],
            ["-F", "nothing"], ["-F", "a=@b;headers=c"], ["--limit-rate", "fast"], ["--max-redirs", "101", "-L"],
            ["--retry", "-1"], ["--resolve", "one.test"], ["--connect-to", "one.test"], ["--tls-max", "1.1"],
            ["--proto", "htps"], ["--http1.1", "--http2"], ["-x", "ftp://a.test"], ["-H", "Host;"],
            ["--pinnedpubkey", "x"],
            ["--json", "-w", "x"], ["--json", "-D", "-"], ["-X", "G T"], ["--connect-to", "a.test:80:b.test:81"],
        ]
    )
    func refused(arguments: [String]) async throws {
        let server = try RawServer(.hang)
        let result = try await fetch(server, arguments)
        #expect(result.status == 2 && result.output == "", "\(result)")
        #expect(server.connections.isEmpty)
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
        #expect(result.status == 28)
        let error: JSONObject? = try JSONObject(result.error)["error"]
        #expect(error?["code"] == .text("timed-out") && error?["exitStatus"] == .integer(28))
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
        #expect(result.status == (isBroken ? 18 : 7))
        #expect(result.error.contains("x failed in \(isBroken ? "body" : "connect") after "), "\(result)")
        #expect(folder.read("a.har")?.contains(isBroken ? "connection-lost/body" : "connect-failed/connect") == true)
        #expect(folder.read("a.html")?.contains(isBroken ? "<b>connection-lost</b>" : "<b>connect-failed</b>") == true)
    }

    @Test("With --fail the files are written, and the status is a failure")
    func trafficFilesWithFail() async throws {
        let server = try RawServer(.readHead, Self.answer("404 Not Found"))
        let folder = try TemporaryFolder()
        let result = try await fetch(server, ["--fail", "--har", folder.path("a.har")])
        #expect(result.status == 22 && folder.read("a.har")?.contains("\"status\":404") == true)
    }

    @Test("A file that cannot be written is an error before the request", arguments: ["--har", "--report"])
    func unwritableTrafficFile(option: String) async throws {
        let server = try RawServer(.readHead, Self.answer())
        let folder = try TemporaryFolder()
        let old = try folder.write("old", to: "old")
        for (arguments, status, message) in [
            ([option, folder.path("none/a")], 23, "\(option) \(folder.path("none/a")): No such file or directory"),
            ([option, folder.path], 23, "\(option) \(folder.path) is a directory"),
            ([option, ""], 2, "\(option) has no value"), ([option, "-"], 2, "\(option) - is not possible"),
            (["-o", old, option, old], 2, "\(option) \(old) is the file of another option too"),
        ] as [([String], Int32, String)] {
            let result = try await fetch(server, arguments)
            #expect(result.status == status && result.error.contains(message), "\(result.error)")
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
#endif
