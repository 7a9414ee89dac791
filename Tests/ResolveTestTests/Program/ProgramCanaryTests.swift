// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import Foundation
import HTTPDNS
import HTTPDNSControl
import HTTPDNSMonitor
import ServerRig
import Testing

/// A call that sends and receives a secret at every place where one may be. Only the URL that the user typed is shown with its
/// query and fragment, in the report on it.
struct ProgramCanaryTests {
    /// The places of the secrets. The secret of a place is `canary-` and its index.
    private static let places = [
        "user information", "typed query item", "fragment", "Authorization", "Cookie", "X-Api-Key", "Referer", "form",
        "Location", "path parameter of a Location", "Set-Cookie of a redirect", "Set-Cookie", "X-Auth-Token",
        "JSON of a response", "Location that is not followed",
    ]

    private static func secret(_ place: String) -> String {
        places.firstIndex(of: place).map { "canary-\($0)-z" } ?? "unknown place"
    }

    private static var form: String { "user=a&password=\(secret("form"))" }

    /// The options of the call.
    private static var options: [String] {
        [
            "--map", "one.test=127.0.0.1", "-H", "Authorization: Bearer \(secret("Authorization"))", "-H",
            "Cookie: c=\(secret("Cookie"))", "-H", "X-Api-Key: \(secret("X-Api-Key"))", "-H",
            "Referer: http://two.test/?token=\(secret("Referer"))", "-d", form,
        ]
    }

    private static func url(_ server: RawServer) -> String {
        "http://user:\(secret("user information"))@one.test:\(server.port)/a?b=c&sig=\(secret("typed query item"))"
            + "#\(secret("fragment"))"
    }

    /// A server that redirects each second connection, and answers the others, or breaks them.
    private static func server(_ end: String = "answer") throws -> RawServer {
        let close = "Connection: close\r\n"
        let location =
            "/next;jsessionid=\(secret("path parameter of a Location"))?token=\(secret("Location"))&d=e"
        let redirect = RawServer.Step.respond(
            "",
            status: "307 Temporary Redirect",
            fields: "Location: \(location)\r\nSet-Cookie: t=\(secret("Set-Cookie of a redirect"))\r\n\(close)"
        )
        let fields = "Set-Cookie: s=\(secret("Set-Cookie"))\r\nX-Auth-Token: \(secret("X-Auth-Token"))\r\n\(close)"
        let answer: [RawServer.Step] =
            switch end {
            case "break": [.reset]
            case "redirect":
                [
                    .respond(
                        "",
                        status: "302 Found",
                        fields: fields + "Location: /x?token=\(secret("Location that is not followed"))\r\n"
                    )
                ]
            default:
                [
                    .respond(
                        "{\"access_token\": \"\(secret("JSON of a response"))\"}",
                        fields: fields + "Content-Type: application/json\r\n"
                    )
                ]
            }
        return try RawServer { number in
            [.readHead, .read(form.utf8.count)] + (number.isMultiple(of: 2) ? [redirect] : answer)
        }
    }

    /// Expects no secret in any text.
    /// - Parameter typed: The texts that may have the URL as the user typed it.
    private func expect(noSecretIn texts: [String: String], typed: Set<String> = []) {
        for place in Self.places {
            let found = texts.filter { $0.value.contains(Self.secret(place)) }.map(\.key)
            let isTyped = place == "typed query item" || place == "fragment"
            #expect(isTyped ? typed.isSuperset(of: found) : found == [], "\(place): \(found)")
        }
    }

    @Test(
        "No secret of a call is in the outputs of fetch, but that of the typed URL",
        arguments: ["answer", "break", "redirect"]
    )
    func fetch(end: String) async throws {
        let server = try Self.server(end)
        let folder = try TemporaryFolder()
        var texts: [String: String] = [:]
        let limit = ["-L", "-o", "/dev/null"] + (end == "redirect" ? ["--max-redirs", "1"] : [])
        let status: [String: Int32] = ["answer": 0, "break": 56, "redirect": 47]
        for more in [
            ["--json"], ["-v"], [], ["--har", folder.path("a.har"), "--report", folder.path("a.html"), "--json"],
        ] {
            let run = try await Program.run(["fetch", Self.url(server)] + Self.options + limit + more)
            #expect(run.status == status[end], "\(run)")
            (texts["output \(more)"], texts["error \(more)"]) = (run.output, run.error)
        }
        let typed = Set(texts.keys)
        (texts["HAR"], texts["page"]) = (folder.read("a.har"), folder.read("a.html"))
        #expect(texts["HAR"] != nil && texts["page"] != nil)
        expect(noSecretIn: texts, typed: typed)
        // What is around the secrets is there, and they were sent.
        #expect(texts["HAR"]?.contains("token=(redacted)&d=e") == true)
        if end == "answer" {
            #expect(texts["output [\"--json\"]"]?.contains("token=(redacted)&d=e") == true)
            #expect(texts["error [\"-v\"]"]?.contains("token=(redacted)&d=e") == true)
        }
        for place in ["Authorization", "Cookie", "X-Api-Key", "Referer", "form", "Location", "typed query item"] {
            #expect(server.connections.map(\.text).joined().contains(Self.secret(place)), "\(place)")
        }
    }

    @Test(
        "A secret of a curl line without fetch is in no output",
        arguments: [
            ["-usesame:canary"], ["-u", "a:canary"], ["--user=a:canary"], ["--oauth2-bearer=canary"],
            ["--oauth2-bearer", "canary"], ["-Ua:canary"], ["--proxy-user=a:canary"],
            ["-HAuthorization: Bearer canary"],
            ["--header=Cookie: c=canary"], ["-dpassword=canary"], ["--unknown=canary"], ["-ycanary"],
        ],
        [[], ["resolve"], ["explain"], ["bench"], ["watch"]]
    )
    func withoutFetch(option: [String], command: [String]) async throws {
        // Port 1 is closed, for options that bench has.
        let url = command == ["resolve"] || command == ["watch"] ? "one.test" : "http://one.test:1/"
        let map = ["--map", "one.test=127.0.0.1"]
        for order in [option + [url] + map, [url] + option + map, [url] + map + option] {
            for more in [[], ["--json"]] {
                let run = try await Program.run(command + order + more + (command == ["bench"] ? ["-n", "1"] : []))
                #expect(run.status != 0, "\(run)")
                #expect(!(run.output + run.error).contains("canary"), "\(run)")
            }
        }
    }

    @Test("The URL of a redirect that is not followed has no secret")
    func notFollowed() async throws {
        let server = try Self.server()
        let run = try await Program.run(["fetch", Self.url(server)] + Self.options)
        #expect(run.status == 0 && run.error.contains("the redirect was not followed; -L follows it"), "\(run)")
        expect(noSecretIn: ["text": run.error], typed: ["text"])
        #expect(server.connections.count == 1)
    }

    @Test(
        "No secret of the requests of bench is in its outputs, but that of the typed URL",
        arguments: [[], ["--json"]]
    )
    func bench(more: [String]) async throws {
        let server = try Self.server()
        let run = try await Program.run(
            ["bench", Self.url(server), "-n", "4", "-c", "1", "--warm-up", "0s"] + Self.options + more
        )
        #expect(run.status == 0 && server.count(of: "POST /a") == 4, "\(run)")
        expect(noSecretIn: ["output": run.output, "error": run.error], typed: ["output"])
    }

    @Test("No secret of the calls of a service is in the outputs of monitor")
    func monitor() async throws {
        let server = try Self.server()
        let folder = try TemporaryFolder()
        var settings = HTTPDNSTrafficMonitor.Settings()
        (settings.requestBodyLimit, settings.responseBodyLimit) = (.kibibytes(4), .kibibytes(4))
        let monitor = try HTTPDNSTrafficMonitor(settings)
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.mappings = [try HTTPDNSMapping.Key("one.test"): .addresses(["127.0.0.1"])]
        configuration.allowsCleartextCredentials = true
        let client = try await HTTPDNSClient(configuration: configuration)
        monitor.start(on: client)
        let socket = try HTTPDNSControlSocket(client: client, path: folder.path("s"), monitor: monitor)
        var request = HTTPDNSClient.Request(method: .post, url: Self.url(server), body: .text(Self.form))
        request.headerFields = [
            .contentType: "application/x-www-form-urlencoded", .authorization: "Bearer \(Self.secret("Authorization"))",
            .cookie: "c=\(Self.secret("Cookie"))", .referer: "http://two.test/?token=\(Self.secret("Referer"))",
        ]
        request.headerFields[.init("X-Api-Key")!] = Self.secret("X-Api-Key")
        _ = try await client.execute(request).body.collect(upTo: .kibibytes(4))
        var texts: [String: String] = [:]
        let number = try #require(monitor.records.first).callID
        for more in [[], ["--json"], ["--id", "\(number)"], ["--id", "\(number)", "--json"]] {
            let run = try await Program.run(["monitor", "--socket", socket.path] + more)
            #expect(run.status == 0 && run.output.contains("sig=(redacted)"), "\(run)")
            texts["\(more)"] = run.output + run.error
        }
        #expect(
            texts["[\"--id\", \"\(number)\", \"--json\"]"]?.contains("password=(redacted)") == true,
            "the bodies are there"
        )
        expect(noSecretIn: texts)
        await socket.shutdown()
        try await client.shutdown()
    }
}
#endif
