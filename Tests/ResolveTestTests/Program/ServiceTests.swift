// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import Foundation
import HTTPDNS
import HTTPDNSControl
import HTTPDNSTesting
import ServerRig
import Testing

/// `dump`, `switch` and `watch --socket` against a service, which here is the test itself.
struct ServiceTests {
    /// A client with a control socket: `img.test` is cached, `map.test` mapped by the settings, `new.test` by the program.
    private struct Service {
        let folder: TemporaryFolder
        let provider: HTTPDNSScriptedProvider
        let client: HTTPDNSClient
        let socket: HTTPDNSControlSocket

        init() async throws {
            folder = try TemporaryFolder()
            provider = HTTPDNSScriptedProvider(name: "backup")
            let answer = HTTPDNSProviderAnswer.addresses(
                [HTTPDNSAddress(v4: 203, 0, 113, 7), HTTPDNSAddress(v4: 203, 0, 113, 8)],
                timeToLive: .seconds(3600)
            )
            provider.answer(.answer(answer), for: try HTTPDNSName("img.test"))
            var configuration = HTTPDNSClient.Configuration()
            configuration.resolver.providers = [provider]
            // A busy machine must not end a query before it is answered.
            configuration.resolver.timeLimit = .seconds(60)
            configuration.resolver.attemptLimit = .seconds(60)
            configuration.resolver.routes = [
                HTTPDNSRoute(try .init("*.test"), .providers(["backup"], fallback: .system))
            ]
            configuration.resolver.mappings = [try HTTPDNSMapping.Key("map.test"): .addresses(["203.0.113.9"])]
            configuration.resolver.families = .v4
            (configuration.connections.maximumPerHost, configuration.connections.queueWait) = (64, .seconds(2))
            client = try await HTTPDNSClient(configuration: configuration)
            try client.mappings.apply { $0["new.test"] = .addresses(["203.0.113.10:8443"]) }
            _ = try await client.resolve("img.test")
            socket = try HTTPDNSControlSocket(client: client, path: "\(folder.path)/s")
        }
    }

    private static func settled(_ text: String) -> String {
        text.withoutTimes.replacing(/libcurl [0-9.]+ \([^)]*\)/, with: "libcurl N").replacing(
            /up [0-9.]+ s/,
            with: "up N s"
        )
        .replacing(/[0-9.]+ s old/, with: "N s old").replacing(/off for [0-9.]+ s/, with: "off for N s")
        .replacing(/[0-9,]+ bytes/, with: "N bytes").replacing(/[0-9.]+ (s|min) left/, with: "N left")
    }

    @Test("The command dump shows the service's state")
    func dump() async throws {
        let service = try await Service()
        let run = try await Program.run(["dump", "--socket", service.socket.path])
        #expect(run.status == 0 && run.error.isEmpty)
        #expect(
            Self.settled(run.output)
                == """
                service    0.1.0, libcurl N   up N s
                switch     ON
                mappings   generation 2 (file 1, program 1)   2 rules
                cache      1 of 4,096 answers   N bytes of 8,388,608
                queries    hits 0   misses 1   stale 0   failures out of the cache 0   changes 0
                requests   0 in flight   0 open connections
                limits     resolving 60 s   stale 60 min   in flight 16,384   idle connections 1,024
                queue      0 waiting of 4,096   connections 64 for a host   at most 2 s

                providers
                  backup  provider  healthy  -  0 in flight  1 queries

                routes
                  *.test  backup  fallback system  1 fresh

                mappings
                  map.test  203.0.113.9         settings
                  new.test  203.0.113.10:8443   program

                answers
                  img.test  203.0.113.7 203.0.113.8  backup  N left  N s old

                """.replacing("8443   program", with: "8443  program").replacing(
                    "9         settings",
                    with: "9        settings"
                )
        )
        await service.socket.shutdown()
    }

    @Test("The command dump names the rule that one of the program replaces")
    func replacedRule() async throws {
        let service = try await Service()
        try service.client.mappings.apply { $0["map.test"] = .addresses(["203.0.113.11"]) }
        let run = try await Program.run(["dump", "map.test", "new.test", "--socket", service.socket.path])
        #expect(run.status == 0 && run.error.isEmpty)
        #expect(run.output.contains(/map\.test +203\.0\.113\.11 +program \(replaces settings\)\n/), "\(run)")
        #expect(run.output.contains(/new\.test +203\.0\.113\.10:8443 +program\n/), "\(run)")
        await service.socket.shutdown()
    }

    @Test("The JSON of dump is the client's diagnostics, limited by names and a number")
    func json() async throws {
        let service = try await Service()
        let run = try await Program.run(["dump", "--json"], environment: ["HTTPDNS_SOCKET": service.socket.path])
        let diagnostics = try JSONDecoder().decode(HTTPDNSClient.Status.self, from: Data(run.output.utf8))
        #expect(diagnostics.cache.answers.map(\.host) == ["img.test"])
        #expect(diagnostics.mappings == service.client.status().mappings)
        let few = try await Program.run(["dump", "new.test", "--json", "--limit", "1", "--socket", service.socket.path])
        let chosen = try JSONDecoder().decode(HTTPDNSClient.Status.self, from: Data(few.output.utf8))
        #expect(chosen.cache.answers.isEmpty && chosen.mappings.rules.map(\.key) == ["new.test"])
        await service.socket.shutdown()
    }

    @Test("The command switch turns off and on, for all or a route, and shows the state")
    func killSwitch() async throws {
        let service = try await Service()
        func turn(_ arguments: String...) async throws -> (String, Int32) {
            let run = try await Program.run(["switch"] + arguments + ["--socket", service.socket.path])
            return (Self.settled(run.output), run.status)
        }
        #expect(try await turn("off") == ("switch  OFF\n  everything off for N s, by socket\n", 0))
        #expect(!service.client.killSwitch.isOn)
        #expect(try await turn("on") == ("switch  ON\n", 0))
        #expect(
            try await turn("off", "--route", "*.test") == (
                "switch  ON, but for routes\n  *.test off for N s, by socket\n", 0
            )
        )
        #expect(service.client.killSwitch.entries.map(\.scope) == [.route(try HTTPDNSRoute.Pattern("*.test"))])
        #expect(try await turn("on", "--route", "*.test") == ("switch  ON\n", 0))
        await service.socket.shutdown()
    }

    @Test("A pattern without a route is refused with a list of the routes")
    func unknownRoute() async throws {
        let service = try await Service()
        func turn(_ arguments: String...) async throws -> CommandResult {
            try await Program.run(["switch"] + arguments + ["--socket", service.socket.path])
        }
        let typo = try await turn("off", "--route", "*.tset")
        #expect(typo.status == 1 && typo.output.isEmpty)
        #expect(typo.error.hasSuffix("refused: no route has the pattern \"*.tset\" (routes are: *.test)\n"), "\(typo)")
        #expect(service.client.killSwitch.entries.isEmpty)
        var settings = HTTPDNSClient.Configuration()
        settings.resolver.providers = [service.provider]
        settings.resolver.routes = try ["*.test", "img.test", "*.shop.test"].map {
            HTTPDNSRoute(try .init($0), .providers(["backup"], fallback: .system))
        }
        try await service.client.reload(settings)
        let off = try await turn("off", "--route", "*.test")
        #expect(
            Self.settled(off.output) == """
                switch  ON, but for routes
                  *.test off for N s, by socket
                  img.test stays on: its route is more specific
                  *.shop.test stays on: its route is more specific

                """
        )
        #expect(try await turn("off", "--route", "img.test").status == 0)
        let json = try await turn("off", "--route", "*.test", "--json")
        #expect(json.output.contains("\"staysOn\":[\"*.shop.test\"]"), "\(json)")
        // What is off can be taken back after its route is gone.
        settings.resolver.routes.removeAll()
        try await service.client.reload(settings)
        #expect(try await turn("on", "--route", "img.test").status == 0)
        #expect(try await turn("on", "--route", "img.test").status == 1)
        await service.socket.shutdown()
    }

    @Test("A name that the environment has off stays off, and the failure says so")
    func stillOff() async throws {
        let service = try await Service()
        service.client.killSwitch.turnOff(by: .environment)
        let run = try await Program.run(["switch", "on", "--socket", service.socket.path])
        #expect(run.status == 1)
        #expect(
            run.error
                == "resolve-test: everything is still turned off by the environment variable HTTPDNS_DISABLED "
                + "(switch on undoes only an off of the socket or of the program; change it there)\n"
        )
        let json = try await Program.run(["switch", "off", "--json", "--socket", service.socket.path])
        #expect(try JSONObject(json.output)["isOn"] == .bool(false) || json.output.contains("\"isOn\":false"))
        await service.socket.shutdown()
    }

    @Test("The command watch --socket prints states and events of the service by line")
    func watch() async throws {
        let service = try await Service()
        let run = try await Program.run(
            ["watch", "--socket", service.socket.path, "--json", "--count", "1"]
        )
        #expect(run.status == 0, "\(run)")
        let states = try run.output.split(separator: "\n").map { try JSONObject(String($0)) }
        #expect(
            states.map { $0.texts("addresses") } == [
                ["203.0.113.7", "203.0.113.8"], ["203.0.113.9"], ["203.0.113.10:8443"],
            ]
        )
        #expect(states.first?["host"] == .text("img.test") && states.first?["provider"] == .text("backup"))
        let one = try await Program.run(["watch", "map.test", "--socket", service.socket.path, "--count", "1"])
        #expect(one.output.hasSuffix("state                 map.test   203.0.113.9   mapping   no expiry\n"), "\(one)")
        await service.socket.shutdown()
    }

    @Test("A watch reports the end of its service")
    func hungUp() async throws {
        let service = try await Service()
        let output = try service.folder.write("", to: "output")
        let shell = "exec \"$0\" \"$@\" > \(output)"
        async let run = Program.shell(shell, ["watch", "--socket", service.socket.path, "--json"])
        while service.client.resolver.listenerCount == 0, !Task.isCancelled { await Task.yield() }
        await service.socket.shutdown()
        let ended = try await run
        #expect(ended.status == 1)
        #expect(ended.error.contains("\"code\":\"connection-lost\""), "\(ended)")
    }

    @Test("An unusable socket is reported in one line, with advice")
    func failures() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("text", to: "file")
        func error(_ arguments: String..., environment: [String: String] = [:]) async throws -> (String, Int32) {
            let run = try await Program.run(arguments, environment: environment)
            #expect(run.output.isEmpty)
            return (run.error.replacing(folder.path, with: "DIR"), run.status)
        }
        let missing = try await error("dump", "--socket", "\(folder.path)/none")
        #expect(
            missing == (
                "resolve-test: there is no socket DIR/none (the service does not run, or it opened no HTTPDNSControlSocket there)\n",
                1
            )
        )
        let none = try await error("dump", "--socket", file)
        #expect(
            none == (
                "resolve-test: DIR/file is not a socket (--socket takes the path of a running service's control socket)\n",
                2
            )
        )
        let unnamed = try await error("switch", "off")
        #expect(
            unnamed == (
                "resolve-test: no service is given: neither --socket PATH nor HTTPDNS_SOCKET is set (PATH is the control "
                    + "socket of the service)\n", 2
            )
        )
        var service: Service? = try await Service()
        let path = try #require(service?.socket.path)
        rename(path, "\(folder.path)/left")
        await service?.socket.shutdown()
        service = nil
        let left = try await error("watch", environment: ["HTTPDNS_SOCKET": "\(folder.path)/left"])
        #expect(
            left == (
                "resolve-test: no process listens on DIR/left (the service that created it has ended; the next one replaces it)\n",
                1
            )
        )
        #expect(try await error("watch").0.contains("or give --socket PATH to watch a running service"))
        #expect(try await error("dump", "--limit", "2001", "--socket", file).1 == 2)
        #expect(try await error("switch", "maybe", "--socket", file).1 == 2)
    }

    @Test(
        "A user without permission to open the socket gets an error that says so",
        .enabled(if: geteuid() == 0 && FileManager.default.isExecutableFile(atPath: "/usr/sbin/runuser"))
    )
    func notPermitted() async throws {
        let service = try await Service()
        chmod(service.folder.path, 0o711)
        let run = try await Program.asNobody(["dump", "--socket", service.socket.path])
        #expect(run.status == 1)
        #expect(
            run.error.contains("cannot be opened: permission denied (run as the service's user, or as root)"),
            "\(run)"
        )
        await service.socket.shutdown()
    }
}
#endif
