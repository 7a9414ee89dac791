// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import Foundation
import Testing

@testable import ServerRig

/// `bench` against a scripted server. The times are the server's, and limits on them are wide.
struct BenchTests {
    private func bench(_ server: RawServer, _ arguments: [String]) async throws -> CommandResult {
        try await Program.run(
            ["bench", "http://one.test:\(server.port)/a", "--map", "one.test=127.0.0.1", "--warm-up", "0s"] + arguments
        )
    }

    private func seconds(_ object: JSONObject?, _ name: String) throws -> Double {
        switch object?[name] as JSONObject.Value? {
        case .integer(let number): return Double(number)
        case .number(let number): return number
        default: throw RigError("\(name) is no number")
        }
    }

    /// One request in 400 stalls. In a closed loop no request is sent meanwhile, and only the maximum shows the stall.
    @Test("A stall of the server is in the p99 of an open loop, not only in the maximum")
    func coordinatedOmission() async throws {
        func stalling() throws -> RawServer {
            try RawServer { connection in
                connection == 0
                    ? [.readHead, .pause(.seconds(1)), .respond("hello"), .serve("hello")] : [.serve("hello")]
            }
        }
        let closed = try await bench(try stalling(), ["-c", "1", "-n", "400", "--json"])
        let open = try await bench(try stalling(), ["-c", "1", "-n", "400", "--rate", "100", "--json"])
        #expect(closed.status == 0 && open.status == 0, "\(closed) \(open)")
        let closedSide: JSONObject? = try JSONObject(closed.output)["client"]
        let openSide: JSONObject? = try JSONObject(open.output)["client"]
        #expect(closedSide?["requests"] == .integer(400) && openSide?["requests"] == .integer(400))
        for side in [closedSide, openSide] { #expect(try seconds(side?["latencySeconds"], "max") >= 1) }
        #expect(try seconds(closedSide?["latencySeconds"], "p99") < 0.5)
        #expect(try seconds(openSide?["latencySeconds"], "p99") > 0.5)
    }

    @Test("A rate is kept, and what it could not begin is counted")
    func rate() async throws {
        let server = try RawServer(.serve("hello"))
        let run = try await bench(server, ["--rate", "200", "-z", "2s", "--json"])
        #expect(run.status == 0, "\(run)")
        let side: JSONObject? = try JSONObject(run.output)["client"]
        let (sent, unsent) = (try seconds(side, "requests"), try seconds(side, "unsent"))
        #expect(sent + unsent == 400)
        // A busy machine begins fewer, and never more.
        #expect(sent > 40)
        let rate = try seconds(side, "requestsPerSecond")
        #expect(rate <= 200 && rate > 20, "\(rate)")
        #expect(Double(server.count(of: "GET /a ")) == sent)
    }

    @Test("Statuses count, whatever they are, and a request without a response is exit 1")
    func failures() async throws {
        let refusing = try RawServer(.serve("no", status: "503 Service Unavailable"))
        let refused = try await bench(refusing, ["-n", "20", "-c", "2"])
        #expect(refused.status == 0 && refused.output.contains("responses    503: 20\n"), "\(refused)")

        let breaking = try RawServer { connection in
            connection % 2 == 0
                ? [.readHead, .respond("hello")] : [.readHead, .sendText("HTTP/1.1 200 OK\r\n"), .reset]
        }
        let broken = try await bench(breaking, ["-n", "20", "-c", "1"])
        #expect(broken.status == 1)
        #expect(broken.output.contains("responses    200: "), "\(broken)")
        #expect(broken.output.contains(/failures     [a-z-]+: [0-9]+/), "\(broken)")
        #expect(
            broken.error.contains(/resolve-test: [0-9]+ of 20 requests had no response \(the first: .+\)/),
            "\(broken)"
        )
    }

    @Test("A server that never answers ends the load soon")
    func dead() async throws {
        let server = try RawServer(.readHead, .reset)
        let run = try await bench(server, ["-c", "4", "-z", "60s", "-X", "POST", "-d", "a=1"])
        #expect(run.status == 1 && run.output.isEmpty)
        #expect(run.error.contains("the request to one.test:\(server.port) failed"), "\(run)")
        #expect(server.connections.count <= 20)
    }

    @Test("The load goes to the named host alone, and no redirect is followed")
    func redirects() async throws {
        let other = try RawServer(.serve("hello"))
        let server = try RawServer(
            .serve("", status: "302 Found", fields: "Location: http://127.0.0.1:\(other.port)/\r\n")
        )
        let run = try await bench(server, ["-n", "5", "-c", "1", "-H", "X-One: 1"])
        #expect(run.status == 0 && run.output.contains("responses    302: 5\n"), "\(run)")
        #expect(
            run.error.hasPrefix("note: loading one.test:\(server.port) with at most 1 requests in flight: 5 requests\n")
        )
        #expect(other.connections.isEmpty && server.count(of: "X-One: 1\r\n") == 5)
    }

    /// The file asks for retries and a second sending of slow requests.
    @Test("Each request is sent once, whatever the file says about retries and hedging")
    func sentOnce() async throws {
        let server = try RawServer(
            .repeatForever([
                .readHead, .pause(.milliseconds(50)), .respond("no", status: "503 Service Unavailable"),
            ])
        )
        let folder = try TemporaryFolder()
        let file = try folder.write(
            """
            version: 1
            mappings:
              one.test: [127.0.0.1, 127.0.0.2]
            client:
              retries: { limit: 3, statuses: [503], delay: 1ms }
              connections: { hedge_after: 10ms }
            """,
            to: "httpdns.yaml"
        )
        let other = try RawServer(address: "127.0.0.2", port: server.port) { _ in
            [.repeatForever([.readHead, .respond("hello")])]
        }
        let run = try await Program.run([
            "bench", "http://one.test:\(server.port)/a", "--config", file, "-n", "20", "-c", "2", "--warm-up", "0s",
        ])
        #expect(run.status == 0, "\(run)")
        #expect(server.count(of: "GET /a") + other.count(of: "GET /a") == 20)
    }

    @Test("Ctrl-C ends the load and prints what was measured")
    func interrupted() async throws {
        let server = try RawServer(.serve("hello"))
        let folder = try TemporaryFolder()
        let line = "echo $$ > \(folder.path)/pid; exec \"$0\" \"$@\""
        async let run = Program.shell(
            line,
            ["bench", "http://127.0.0.1:\(server.port)/", "-z", "600s", "-c", "2", "--warm-up", "0s", "--json"]
        )
        try await server.awaitConnections { connections in
            connections.reduce(0) { $0 + $1.text.ranges(of: "GET / ").count } >= 20
        }
        kill(try #require(folder.read("pid").flatMap { Int32($0.dropLast()) }), SIGINT)
        let ended = try await run
        #expect(ended.status == 130 && ended.error.isEmpty, "\(ended)")
        let json = try JSONObject(ended.output)
        #expect(json["interrupted"] == .bool(true) || ended.output.contains(#""interrupted" : true"#))
        #expect(try seconds(json["client"], "responses") >= 10)
        #expect(try seconds(json["client"], "elapsedSeconds") < 599)
    }

    @Test("A load that needs more sockets than the process may have is refused")
    func openFiles() async throws {
        let server = try RawServer(.serve("hello"))
        let arguments = ["bench", "http://127.0.0.1:\(server.port)/", "-n", "300", "--warm-up", "0s", "-c"]
        // The soft limit is raised, the hard one is not.
        let raised = try await Program.shell("ulimit -Sn 80; exec \"$0\" \"$@\"", arguments + ["100"])
        #expect(raised.status == 0, "\(raised)")
        let refused = try await Program.shell("ulimit -n 200; exec \"$0\" \"$@\"", arguments + ["100"])
        #expect(refused.status == 2 && refused.output.isEmpty)
        #expect(refused.error.contains("may need 264 open files, and the limit of the process is 200"), "\(refused)")
    }

    @Test(
        "A load beyond the limits, or without sense, is refused before anything is sent",
        arguments: [
            ("-c 0", "-c 0 is out of range; allowed: 1 to 1000 requests in flight"),
            ("-c 1001", "run several processes"),
            ("-n 0", "-n 0 is out of range"), ("--rate 0", "--rate is out of range"),
            ("--rate nan", "--rate is out of range"),
            ("--rate 2000000", "--rate is out of range"), ("-z 0s", "-z \"0s\" is out of range"),
            ("-z 5", "did you mean 5s?"), ("--warm-up 1d", "--warm-up"), ("--against dns", "'--against <system>'"),
            ("-X (", "is not a method"),
        ]
    )
    func refused(arguments: String, message: String) async throws {
        let server = try RawServer(.serve("hello"))
        let run = try await bench(server, arguments.split(separator: " ").map(String.init))
        #expect(run.status == 2 && run.output.isEmpty)
        #expect(run.error.contains(message), "\(run)")
        #expect(server.connections.isEmpty)
    }
}

/// `bench` against nginx, whose log has every request.
@Suite("Resolve-test bench against nginx", .enabled(if: ServerRig.isAvailable([.nginx, .bind, .compiler])))
struct BenchOverTheWireTests {
    @Test("The requests of a closed loop are those in the server's log", arguments: [[], ["--http1.1"]])
    func counts(version: [String]) async throws {
        let rig = try await ServerRig.shared()
        let (mark, name) = (rig.accessLogMark(), "bench\(version.count).wild.test")
        let run = try await Program.run(
            [
                "bench", "https://\(name):\(rig.tlsPort)/health", "--map", "\(name)=127.0.0.2", "-n", "300", "-c", "8",
                "--warm-up", "0s", "--cacert", rig.certificateAuthorityFile, "--json",
            ] + version
        )
        #expect(run.status == 0, "\(run)")
        let lines = try await rig.awaitAccessLog(since: mark, count: 300) { $0.sni == name }
        #expect(lines.count == 300)
        let side: JSONObject? = try JSONObject(run.output)["client"]
        #expect(side?["requests"] == .integer(300) && side?["responses"] == .integer(300))
        #expect(side?["bytes"] == .integer(lines.reduce(0) { $0 + $1.bodySent }))
        #expect(side?["connectionsOpened"] == .integer(Set(lines.map(\.connection)).count))
        #expect(Set(lines.map(\.protocol)) == [version.isEmpty ? "HTTP/2.0" : "HTTP/1.1"])
    }

    @Test("The load against the system resolver is the same, and takes turns")
    func against() async throws {
        let rig = try await ServerRig.shared()
        let (mark, name) = (rig.accessLogMark(), "bench-against.wild.test")
        let command = Program.command([
            "bench", "https://\(name):\(rig.tlsPort)/health", "--map", "\(name)=127.0.0.2", "-n", "200", "-c", "4",
            "--warm-up", "100ms", "--against", "system", "--cacert", rig.certificateAuthorityFile, "--json",
        ])
        let run = try await SystemAnswers.shared().run(command, answering: [name: ["127.0.0.3"]])
        #expect(run.status == 0, "\(run)")
        let json = try JSONObject(run.output)
        let (client, system, ratio): (JSONObject?, JSONObject?, JSONObject?) = (
            json["client"], json["system"], json["ratio"]
        )
        #expect(client?["source"] == .text("mapping") && system?["source"] == .text("system"))
        #expect(client?["requests"] == .integer(200) && system?["requests"] == .integer(200))
        for (side, address) in [(client, "127.0.0.2"), (system, "127.0.0.3")] {
            let addresses: JSONObject? = side?["addresses"]
            #expect(addresses?.names == ["\(address):\(rig.tlsPort)"])
            guard case .integer(let warmUp)? = side?["warmUpRequests"] as JSONObject.Value? else {
                Issue.record("\(run)")
                continue
            }
            #expect(warmUp > 0)
            let lines = try await rig.awaitAccessLog(since: mark, count: 200 + warmUp) {
                $0.sni == name && $0.address == address
            }
            #expect(lines.count == 200 + warmUp)
        }
        // Two turns of warming up, and ten of each client. Lines at the border of two turns may be in any order.
        let order = try rig.accessLog(since: mark).filter { $0.sni == name }.map(\.address)
        let turns = zip(order, order.dropFirst()).filter { $0 != $1 }.count
        #expect(turns >= 15, "\(turns)")
        let rates: JSONObject? = ratio?["requestsPerSecond"]
        #expect(rates?.names == ["maximum", "minimum", "value"])
    }
}
#endif
