// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import Foundation
import ServerRig
import Testing

/// The bytes on the wire, and responses that no real server sends. A RawServer shows them, and sends them.
@Suite("Requests of curl and of fetch", .enabled(if: Command.find("curl") != nil))
struct CurlRequestsTests {
    private static let programs = ["curl", "'\(Program.path)' fetch"]

    private func run(_ program: String, _ line: String, in folder: TemporaryFolder) async throws -> CommandResult {
        let environment = ["http_proxy": "", "all_proxy": "", "no_proxy": "", "HOME": folder.path]
        return try await Command("sh", ["-c", "cd '\(folder.path)' && \(program) \(line)"], environment: environment)
            .run()
    }

    /// The lines of a request head without those that only curl sends.
    private func lines(_ text: String, _ setsAgent: Bool) -> [String] {
        text.split(separator: "\r\n").map(String.init).filter { line in
            let lower = line.lowercased()
            return !lower.hasPrefix("proxy-connection:") && !lower.hasPrefix("connection:")
                && !lower.hasPrefix("keep-alive:") && (setsAgent || !lower.hasPrefix("user-agent:"))
        }.sorted()
    }

    @Test(
        "The request heads of both have the same lines",
        arguments: [
            "-A sw/1 URL", "-e http://a.test/ URL", "-b 'a=1; b=2' URL", "-H 'Accept:' URL", "-H 'Accept: text/x' URL",
            "-H 'User-Agent: sw/2' -H 'Connection: keep-alive' -H 'Keep-Alive: 5' URL", "-H 'User-Agent:' URL",
            "-H 'Content-Length: 3' -d a=1 URL", "-r 5 URL", "-u user:secret URL", "-X PURGE URL",
            "-x URL -U user:secret http://two.test/a", "-x URL http://two.test/a?b",
            "--unix-socket SOCKET http://two.test/a",
        ]
    )
    func heads(_ line: String) async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/socket"
        let server =
            line.contains("SOCKET")
            ? try RawServer(unixSocket: path) { _ in [.readHead, .respond("ok"), .readToEnd] }
            : try RawServer(.readHead, .respond("ok"), .readToEnd)
        let text = line.replacing("URL", with: "http://127.0.0.1:\(server.port)/").replacing("SOCKET", with: path)
        for program in Self.programs {
            let result = try await run(program, "-s \(text)", in: folder)
            #expect(result.status == 0 && result.output == "ok", "\(result)")
        }
        let connections = try await server.awaitConnections { $0.count == 2 && $0.allSatisfy(\.isClosedByClient) }
        let setsAgent = line.contains("-A ") || line.contains("User-Agent")
        let heads = connections.map { lines($0.text, setsAgent) }
        #expect(heads[0] == heads[1] && heads[0].count > 1)
    }

    @Test(
        "A file is continued only at the requested byte",
        arguments: [
            ("bytes 4-7/8", "0123rest", Int32(0)), ("BYTES 4-7/*", "0123rest", 0), ("bytes 0-3/8", "0123", 33),
            ("bytes */8", "0123", 33), ("", "0123", 33), ("bytes 40-43/99", "0123", 33),
        ]
    )
    func continuation(range: String, content: String, status: Int32) async throws {
        let fields = range.isEmpty ? "" : "Content-Range: \(range)\r\n"
        let server = try RawServer(
            .readHead,
            .respond("rest", status: "206 Partial Content", fields: fields),
            .readToEnd
        )
        let folder = try TemporaryFolder()
        try folder.write("0123", to: "file")
        let result = try await run(
            Self.programs[1],
            "-s -C 4 -o file http://127.0.0.1:\(server.port)/",
            in: folder
        )
        #expect(result.status == status && folder.read("file") == content, "\(result)")
    }

    @Test("A retry gets the next response, and is no redirect")
    func retry() async throws {
        for program in Self.programs {
            let server = try RawServer { connection in
                [
                    .readHead,
                    .respond(
                        connection == 0 ? "busy" : "ok",
                        status: connection == 0 ? "503 Busy" : "200 OK",
                        fields: "Connection: close\r\n"
                    ),
                ]
            }
            let folder = try TemporaryFolder()
            let line =
                "-s --retry 2 --retry-delay 1 -o file -w '%{http_code} %{num_redirects}' http://127.0.0.1:\(server.port)/"
            let result = try await run(program, line, in: folder)
            #expect(result.status == 0 && result.output == "200 0" && folder.read("file") == "ok", "\(result)")
            #expect(server.connections.count == 2)
        }
    }

    @Test(
        "What cannot be sent as it is, is a usage error without a request",
        arguments: [
            "-d \"$(printf 'a\\377')\"", "-u \"$(printf 'a:\\377')\"", "-F \"$(printf 'a=\\377')\"",
            "-A \"$(printf 'a\\nB: c')\"", "-e \"$(printf 'a\\rB: c')\"", "-b \"$(printf 'a=1\\nB: c')\"",
            "--oauth2-bearer \"$(printf 'a\\nB: c')\"", "-b sesame", "-H sesame", "-H 'Content-Length: 9' -d a=1",
            "-H 'Transfer-Encoding: chunked' -d a=1", "-H 'Upgrade: h2c'", "-H 'Connection: Upgrade'",
            "-F 'a=b;headers=X: y'", "--proto =htps", "-L --connect-to ::two.test:", "--pinnedpubkey ';'",
        ]
    )
    func refused(_ options: String) async throws {
        let server = try RawServer(.readHead, .respond("ok"))
        let folder = try TemporaryFolder()
        let result = try await run(Self.programs[1], "\(options) http://127.0.0.1:\(server.port)/", in: folder)
        #expect(result.status == 2 && !result.error.contains("sesame"), "\(result)")
        #expect(server.connections.isEmpty)
    }

    @Test("After a failure the total time of -w is that of the call")
    func timeOfFailure() async throws {
        let server = try RawServer(.readHead, .hang)
        let folder = try TemporaryFolder()
        let line = "-s -m 0.3 -w '%{time_total}' http://127.0.0.1:\(server.port)/"
        let result = try await run(Self.programs[1], line, in: folder)
        let seconds = try #require(Double(result.output))
        #expect(result.status == 28 && seconds >= 0.3 && seconds < 10, "\(result)")
    }

    @Test("A file with the name - is written for -O")
    func dash() async throws {
        let server = try RawServer(.readHead, .respond("ok"), .readToEnd)
        let folder = try TemporaryFolder()
        let result = try await run(Self.programs[1], "-sO http://127.0.0.1:\(server.port)/-", in: folder)
        #expect(result.status == 0 && result.output.isEmpty && folder.read("-") == "ok", "\(result)")
    }
}
#endif
