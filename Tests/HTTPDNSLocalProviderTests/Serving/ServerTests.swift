// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if LocalProvider
import Foundation
import HTTPDNSLocalProvider
import HTTPDNSPrimitives
import ServerRig
import Testing

extension OverTheNetwork {
    /// The server itself, asked by curl, which is nobody here.
    @Suite("Local provider: the server", .enabled(if: Command.find("curl") != nil))
    struct ServerTests {
        private static func curl(_ arguments: String...) async throws -> CommandResult {
            try await Command("curl", ["-sS", "--noproxy", "*", "--max-time", "60"] + arguments).run(
                within: .seconds(90)
            )
        }

        @Test("HTTP/1.1 in clear")
        func clear() async throws {
            try await Serving.run { serving in
                #expect(serving.url == "http://127.0.0.1:\(serving.listener.port)" && serving.listener.port > 0)
                #expect(serving.listener.certificate == nil)
                let result = try await Self.curl(
                    "-w",
                    " %{http_version} %{http_code}",
                    serving.url + "/d?dn=v4.shop.test"
                )
                #expect(result.output == "192.0.2.20 1.1 200")
                let posted = try await Self.curl("--data", "dn=v6.shop.test&type=aaaa", serving.url + "/d")
                #expect(posted.output == "2001:db8::20")
                #expect(serving.queries.all.map(\.client) == ["127.0.0.1", "127.0.0.1"])
            }
        }

        @Test(
            "A generated certificate serves the given names over HTTP/2 and HTTP/1.1"
        )
        func generated() async throws {
            try await Serving.run(settings: { $0.tls = .generated(names: ["provider.test"]) }) { serving in
                let folder = try TemporaryFolder()
                let authority = try folder.write(try #require(serving.listener.certificate), to: "ca.pem")
                let port = serving.listener.port
                for (version, expected) in [("--http2", "2"), ("--http1.1", "1.1")] {
                    for host in ["127.0.0.1", "localhost", "provider.test"] {
                        let result = try await Self.curl(
                            version,
                            "--cacert",
                            authority,
                            "--resolve",
                            "\(host):\(port):127.0.0.1",
                            "-w",
                            " %{http_version}",
                            "https://\(host):\(port)/resolve?name=gone.test&type=1"
                        )
                        #expect(result.output.hasSuffix(" \(expected)"), "\(result)")
                        #expect(result.output.contains(#""Status":3"#))
                    }
                }
                let stranger = try await Self.curl(
                    "--cacert",
                    authority,
                    "--resolve",
                    "other.test:\(port):127.0.0.1",
                    "https://other.test:\(port)/d?dn=a.test"
                )
                #expect(stranger.status == 60)
                #expect(!(serving.listener.certificate ?? "").contains("PRIVATE"))
            }
        }

        @Test("A given certificate is used; an unusable one is refused without repeating it")
        func given() async throws {
            let folder = try TemporaryFolder()
            let (certificate, key) = (folder.path("c.pem"), folder.path("k.pem"))
            let made = try await Command(
                "openssl",
                [
                    "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=given.test", "-addext",
                    "subjectAltName=DNS:given.test", "-out", certificate, "-keyout", key,
                ]
            ).run()
            try #require(made.status == 0, "\(made)")
            try await Serving.run(settings: { $0.tls = .files(certificate: certificate, key: key) }) { serving in
                let port = serving.listener.port
                let result = try await Self.curl(
                    "--cacert",
                    certificate,
                    "--resolve",
                    "given.test:\(port):127.0.0.1",
                    "https://given.test:\(port)/d?dn=v4.shop.test"
                )
                #expect(result.output == "192.0.2.20")
            }
            // Another pair's key, which fits the certificate in all but itself.
            let other = folder.path("other.pem")
            let generated = try await Command("openssl", ["genrsa", "-out", other, "2048"]).run()
            try #require(generated.status == 0, "\(generated)")
            for (certificate, key) in [(key, certificate), (certificate, other)] {
                var configuration = HTTPDNSProviderServer.Configuration(.text("version: 1"))
                configuration.tls = .files(certificate: certificate, key: key)
                let error = #expect(throws: HTTPDNSProviderServerError.self) {
                    try HTTPDNSProviderServer(configuration)
                }
                #expect(error?.code == .badCertificate && error?.description.contains("BEGIN") == false)
                #expect(error?.description.contains(key) == true)
            }
        }

        @Test("A body that is too long or breaks off is not a query with an empty body")
        func unreadBodies() async throws {
            let (queries, query) = AsyncStream.makeStream(of: HTTPDNSProviderServer.Query.self)
            try await Serving.run(settings: { $0.onQuery = { query.yield($0) } }) { serving in
                let url = serving.url + "/d?dn=v4.shop.test"
                var told = queries.makeAsyncIterator()
                let folder = try TemporaryFolder()
                for (count, status) in [(65_535, "200"), (65_536, "413")] {
                    let body = try folder.write("x=" + String(repeating: "y", count: count - 2), to: "\(count)")
                    let result = try await Self.curl("-o", "/dev/null", "-w", "%{http_code}", "-d", "@\(body)", url)
                    #expect(result.output == status)
                    let query = await told.next()
                    #expect(
                        query.map { "\($0.status) \($0.outcome)" }
                            == (status == "200" ? "200 ok" : "413 ContentTooLarge")
                    )
                    #expect(query?.protocolName == "tencent" && query?.client == "127.0.0.1")
                }
                // Nine octets are announced, and two sent.
                let script = """
                    exec 3<> "/dev/tcp/127.0.0.1/$0"
                    printf 'POST /d?dn=v4.shop.test HTTP/1.1\\r\\nHost: a\\r\\nContent-Length: 9\\r\\n\\r\\nx=' >&3
                    """
                _ = try await Command("bash", ["-c", script, "\(serving.listener.port)"]).run()
                #expect(await told.next()?.outcome == "ContentTooLarge")
            }
        }

        @Test("A port that is in use is reported")
        func taken() async throws {
            try await Serving.run { serving in
                var configuration = HTTPDNSProviderServer.Configuration(.text("version: 1"))
                configuration.port = serving.listener.port
                let second = try HTTPDNSProviderServer(configuration)
                let error = await #expect(throws: HTTPDNSProviderServerError.self) { try await second.run() }
                #expect(error?.code == .cannotListen)
                #expect(error?.description.contains("another program listens there") == true)
            }
        }

        @Test("A query in progress is still answered when the end is requested")
        func draining() async throws {
            let (queries, query) = AsyncStream.makeStream(of: HTTPDNSProviderServer.Query.self)
            let text = ServedFile.text("hosts: { v4.shop.test: { delay: 1s } }")
            var configuration = HTTPDNSProviderServer.Configuration(.text(text))
            configuration.drainLimit = .seconds(60)
            configuration.onQuery = { query.yield($0) }
            let provider = try HTTPDNSProviderServer(configuration)
            let (listeners, feed) = AsyncStream.makeStream(of: HTTPDNSProviderServer.Listener.self)
            let service = Task { try await provider.run { feed.yield($0) } }
            let listener = try #require(await listeners.first { _ in true })
            let answer = Task { try await Self.curl(listener.url + "/d?dn=v4.shop.test") }
            // It is told of before its answer is held back for a second.
            #expect(await queries.first { _ in true }?.delay == .seconds(1))
            service.cancel()
            try await service.value
            let result = try await answer.value
            #expect(result.output == "192.0.2.20", "\(result)")
        }

        @Test(
            "A query is reported before its delay, and a delay beyond the end is cut"
        )
        func cutting() async throws {
            let (queries, query) = AsyncStream.makeStream(of: HTTPDNSProviderServer.Query.self)
            let answer = try await Serving.run(
                "hosts: { v4.shop.test: { delay: 30s } }",
                settings: { $0.onQuery = { query.yield($0) } }
            ) { serving in
                let answer = Task { try await Self.curl(serving.url + "/d?dn=v4.shop.test") }
                #expect(await queries.first { _ in true }?.delay == .seconds(30))
                return answer
            }
            let result = try await answer.value
            // Told of at its end, it would have been answered.
            #expect(!result.output.contains("192.0.2.20"), "\(result)")
        }

        @Test("The file is read again when it changes; one with errors changes nothing")
        func reloading() async throws {
            let folder = try TemporaryFolder()
            let file = try folder.write("version: 1\nmappings: { a.test: 192.0.2.1 }\n", to: "served.yaml")
            let (reloads, continuation) = AsyncStream.makeStream(of: String?.self)
            var configuration = HTTPDNSProviderServer.Configuration(.file(file))
            configuration.onReload = { continuation.yield($0.map { "\($0)" }) }
            let provider = try HTTPDNSProviderServer(configuration)
            try await provider.serving { listener in
                var iterator = reloads.makeAsyncIterator()
                let url = listener.url + "/d?dn=a.test"
                #expect(listener.ruleCount == 1)
                #expect(try await Self.curl(url).output == "192.0.2.1")
                try folder.replace("served.yaml", with: "version: 1\nmappings: { a.test: 192.0.2.2 }\n")
                #expect(await iterator.next() == .some(nil))
                #expect(try await Self.curl(url).output == "192.0.2.2")
                try folder.replace("served.yaml", with: "version: 1\nmappings: { a.test: 192.0.2 }\n")
                let mistake = await iterator.next()
                #expect(mistake??.contains("served.yaml:2") == true)
                #expect(try await Self.curl(url).output == "192.0.2.2")
            }
        }
    }
}
#endif
