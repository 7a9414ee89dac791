// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import Foundation
import ServerRig
import Testing

/// The program against BIND over HTTPS and nginx.
@Suite("Resolve-test against real servers", .enabled(if: ServerRig.isAvailable([.nginx, .bind])))
struct ServerTests {
    /// What leads the program to the rig's provider and origins.
    private func flags(_ rig: ServerRig) -> [String] {
        [
            "--doh", rig.dohURL, "--bootstrap", "doh.test=127.0.0.1", "--answer-scope", "loopback", "--cacert",
            rig.certificateAuthorityFile,
        ]
    }

    /// Under its own name.
    @Test("A name that only HTTP-DNS knows is fetched without the system resolver")
    func fetch() async throws {
        let rig = try await ServerRig.shared()
        let mark = rig.accessLogMark()
        let url = "https://Img.Shop.test.:\(rig.tlsPort)/a.jpg?cli-fetch"
        let run = try await Tripwire.shared().run(Program.command(["fetch", url, "--json"] + flags(rig)))
        #expect(run.result.status == 0, "\(run.result)")
        #expect(run.lookups == [])
        let json = try JSONObject(run.result.output)
        #expect(json["originalURL"] == .text(url))
        #expect(json["host"] == .text("img.shop.test:\(rig.tlsPort)"))
        #expect(json["serverName"] == .text("img.shop.test"))
        #expect(Set(json.texts("addresses")) == ["127.0.0.2", "127.0.0.3"])
        #expect(json["source"] == .text("provider"))
        #expect(json["provider"] == .text("doh"))
        #expect(json["status"] == .integer(200))
        #expect(json["httpVersion"] == .text("HTTP/2"))
        #expect(json["tlsVersion"] == .text("TLSv1.3"))
        #expect(json["bodyBytes"] == .integer(1024))
        #expect(json["remoteAddress"] == .text(try #require(json.texts("addresses").first)))
        let line = try #require(
            try await rig.awaitAccessLog(since: mark) { $0.target == "/a.jpg?cli-fetch" }.first
        )
        #expect(line.address == json.texts("addresses").first)
        #expect(line.sni == "img.shop.test")
        #expect(line.host == "img.shop.test:\(rig.tlsPort)")
    }

    @Test("TLS secrets go to SSLKEYLOGFILE only where the configuration asks for it")
    func keyLog() async throws {
        let rig = try await ServerRig.shared()
        let folder = try TemporaryFolder()
        let url = "https://img.shop.test:\(rig.tlsPort)/a.jpg?key-log"
        let map = ["--map", "img.shop.test=127.0.0.2", "--cacert", rig.certificateAuthorityFile]
        let file = try folder.write("version: 1\nclient: { trust: { key_log: true } }\n", to: "httpdns.yaml")
        for (name, flags) in [("silent", []), ("asked", ["--config", file])] {
            let path = "\(folder.path)/\(name)"
            let run = try await Program.run(["fetch", url] + map + flags, environment: ["SSLKEYLOGFILE": path])
            #expect(run.status == 0, "\(run)")
            #expect(folder.read(name)?.contains("CLIENT_TRAFFIC_SECRET_0 ") == (name == "asked"))
        }
    }

    /// A name with both families by HTTP-DNS, and a mapping whose order is the operator's.
    @Test(
        "Explain names the address that fetch connects to, for each selection",
        arguments: ["automatic", "given", "round_robin", "fastest"]
    )
    func explainThenFetch(selection: String) async throws {
        let rig = try await ServerRig.shared()
        guard rig.hasIPv6 else { return }
        let folder = try TemporaryFolder()
        let file = try folder.write(
            "version: 1\nclient: { connections: { selection: \(selection) } }\n",
            to: "httpdns.yaml"
        )
        for host in ["dual.test", "mapped.wild.test"] {
            let arguments =
                ["https://\(host):\(rig.tlsPort)/a.jpg", "--config", file, "--json"]
                + ["--map", "mapped.wild.test=127.0.0.3,::1"] + flags(rig)
            let explained = try JSONObject(try await Program.run(["explain"] + arguments).output)
            let fetched = try JSONObject(try await Program.run(["fetch"] + arguments).output)
            let addresses = explained.texts("addresses")
            #expect(Set(addresses) == [host == "dual.test" ? "127.0.0.2" : "127.0.0.3", "::1"])
            #expect(fetched["remoteAddress"] == .text(try #require(addresses.first)), "\(host)")
            #expect(fetched.texts("addresses") == addresses)
            let order = selection == "automatic" ? (host == "dual.test" ? "adaptive" : "given") : selection
            #expect(explained["order"] == .text(order.replacing("_", with: "-")))
            #expect(fetched["order"] == explained["order"] as JSONObject.Value?)
        }
    }

    @Test(
        "Where requests draw their order, explain chooses none, and fetch shows the drawn",
        arguments: [
            "client: { connections: { selection: random } }",
            "mappings: { a.wild.test: { addresses: { 127.0.0.2: 1, 127.0.0.3: 1 } } }",
        ]
    )
    func drawnOrder(setting: String) async throws {
        let rig = try await ServerRig.shared()
        let folder = try TemporaryFolder()
        let file = try folder.write("version: 1\n\(setting)\n", to: "httpdns.yaml")
        let isWeighted = setting.hasPrefix("mappings")
        let map = isWeighted ? [] : ["--map", "a.wild.test=127.0.0.2,127.0.0.3,127.0.0.4"]
        let arguments = ["https://a.wild.test:\(rig.tlsPort)/a.jpg", "--config", file] + map + flags(rig)
        let explained = try await Program.run(["explain"] + arguments).output
        #expect(
            explained.contains("   (random: drawn for each request)   policy: ") && !explained.contains("<- chosen")
        )
        let json = try JSONObject(try await Program.run(["explain", "--json"] + arguments).output)
        #expect(json["order"] == .text(isWeighted ? "weights" : "random"))
        // With the given order, each of these runs would fail in two of three cases.
        for _ in 0..<6 {
            let fetched = try await Program.run(["fetch", "-v", "-o", "/dev/null"] + arguments)
            let connected = try #require(fetched.error.firstMatch(of: /\* connected to (\S+)/)?.output.1)
            #expect(fetched.error.contains("Candidates in order: \(connected), "), "\(fetched)")
            #expect(fetched.error.contains("   (random: drawn for each request)   "))
        }
    }

    /// `explain` itself sends the origin nothing.
    @Test("The address that explain prints leads curl to the same virtual host")
    func explainThenCurl() async throws {
        let rig = try await ServerRig.shared()
        let mark = rig.accessLogMark()
        let url = "https://img.shop.test:\(rig.tlsPort)/a.jpg?cli-explain"
        let explained = try await Program.run(["explain", url, "--json"] + flags(rig))
        #expect(explained.status == 0, "\(explained)")
        let json = try JSONObject(explained.output)
        guard case .text(let entry)? = json["resolveEntry"] as JSONObject.Value? else {
            Issue.record("no resolveEntry in \(explained.output)")
            return
        }
        let curl = try await Command(
            "curl",
            ["-sS", "--cacert", rig.certificateAuthorityFile, "--resolve", entry, "-o", "/dev/null", url]
        ).run()
        #expect(curl.status == 0, "\(curl)")
        let lines = try await rig.awaitAccessLog(since: mark) { $0.target == "/a.jpg?cli-explain" }
        // One line is curl's own; another would be explain's.
        #expect(lines.count == 1)
        #expect(lines.first?.userAgent.hasPrefix("curl/") == true)
        #expect(lines.first.map { json.texts("addresses").contains($0.address) } == true)
    }

    @Test("The printed curl command works unchanged")
    func curlLine() async throws {
        let rig = try await ServerRig.shared()
        let url = "https://one.test:\(rig.tlsPort)/a.jpg?cli-paste"
        let explained = try await Program.run(
            ["explain", url, "--map", "one.test=127.0.0.2", "--cacert", rig.certificateAuthorityFile]
        )
        let line = try #require(explained.output.split(separator: "\n").first { $0.hasPrefix("curl ") })
        let pasted = try await Command("sh", ["-c", line.dropFirst("curl".count) + " -sS -o /dev/null"]).run()
        #expect(pasted.status == 0, "\(pasted)")
        try await rig.awaitAccessLog(count: 1) { $0.target == "/a.jpg?cli-paste" && $0.address == "127.0.0.2" }
    }

    @Test("Exported curl options work with curl -K")
    func exported() async throws {
        let rig = try await ServerRig.shared()
        let exported = try await Program.run(
            ["export", "--format", "curl", "--map", "one.test:\(rig.tlsPort)=127.0.0.3", "--map", "two.test=127.0.0.3"]
        )
        let curl = try await Command(
            "curl",
            [
                "-sS", "-K", "-", "--cacert", rig.certificateAuthorityFile, "-o", "/dev/null", "-w", "%{remote_ip}",
                "https://one.test:\(rig.tlsPort)/a.jpg",
            ],
            input: exported.output
        ).run()
        #expect(curl.status == 0, "\(curl)")
        #expect(curl.output == "127.0.0.3")
    }

    @Test("An address whose certificate is for another name is refused before any request")
    func certificate() async throws {
        let rig = try await ServerRig.shared()
        let mark = rig.accessLogMark()
        let result = try await Program.run(
            [
                "fetch", "https://img.shop.test:\(rig.tlsPort)/?cli-liar", "--map", "img.shop.test=127.0.0.5",
                "--cacert", rig.certificateAuthorityFile, "--json",
            ]
        )
        #expect(result.status == 60)
        #expect(result.output == "")
        let error: JSONObject? = try JSONObject(result.error)["error"]
        #expect(error?["host"] == .text("img.shop.test"))
        #expect(error?["phase"] == .text("tls"))
        #expect(error?["requestMayHaveBeenSent"] == .integer(0))
        #expect(result.error.contains("127.0.0.5"))
        #expect(try !rig.accessLog(since: mark).contains { $0.target.contains("cli-liar") })
    }

    @Test("The flag --doh sends every name but internal ones to the server")
    func internalNames() async throws {
        let rig = try await ServerRig.shared()
        let mark = rig.bindLogMark()
        let result = try await Program.run(
            ["resolve", "one.test", "cli-db", "x.internal", "--json"] + flags(rig)
        )
        let lines = result.output.split(separator: "\n").map(String.init)
        #expect(lines.count == 3)
        let first = try JSONObject(lines.first ?? "")
        #expect(first["source"] == .text("provider") && first["provider"] == .text("doh"), "\(lines)")
        #expect(first["cached"] == .integer(0))
        _ = try await rig.awaitBindLog(contains: "one.test", since: mark)
        #expect(try rig.queryCount(of: "cli-db", since: mark) == 0)
        #expect(try rig.queryCount(of: "x.internal", since: mark) == 0)
    }

    @Test("A configuration file's provider is trusted under --cacert too")
    func configurationFile() async throws {
        let rig = try await ServerRig.shared()
        let folder = try TemporaryFolder()
        let file = try folder.write(
            """
            version: 1
            providers:
              main: { kind: doh, url: "\(rig.dohURL)", bootstrap: [127.0.0.1], answer_scope: loopback }
            routes:
              "*.test": { providers: [main] }
            """,
            to: "httpdns.yaml"
        )
        let good = try await Program.run(
            ["resolve", "one.test", "--config", file, "--cacert", rig.certificateAuthorityFile]
        )
        #expect(good.status == 0, "\(good)")
        #expect(good.output.contains("doh main"))
        let bad = try await Program.run(["resolve", "one.test", "--config", file])
        #expect(bad.status == 1)
        #expect(bad.error.contains("main"))
    }

    /// Not to those with a `ca_file`. Without a proof the output does not say that there was one.
    @Test(
        "The flag --cacert also applies to hosts with trust settings of their own"
    )
    func trustByHost() async throws {
        let rig = try await ServerRig.shared()
        let folder = try TemporaryFolder()
        // An authority that has vouched for nobody.
        let stranger = "\(folder.path)/stranger.pem"
        let made = try await Command(
            "openssl",
            [
                "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=stranger", "-out",
                stranger,
                "-keyout", "\(folder.path)/stranger.key",
            ]
        ).run()
        try #require(made.status == 0, "\(made)")
        let file = try folder.write(
            """
            version: 1
            mappings: { img.shop.test: 127.0.0.2, one.test: 127.0.0.3, any.test: 127.0.0.5 }
            client:
              ca_file: \(stranger)
              trust_by_host:
                img.shop.test: { minimum_version: "1.2" }
                one.test: { ca_file: \(rig.certificateAuthorityFile) }
                any.test: { verification: insecurely-accepting-any-certificate }
            """,
            to: "httpdns.yaml"
        )
        func fetch(_ host: String, _ authorities: String) async throws -> CommandResult {
            try await Program.run(
                ["fetch", "https://\(host):\(rig.tlsPort)/a.jpg", "--config", file, "--cacert", authorities]
            )
        }
        let inherited = try await fetch("img.shop.test", rig.certificateAuthorityFile)
        #expect(inherited.status == 0 && inherited.error.contains("certificate verified"), "\(inherited)")
        #expect(try await fetch("img.shop.test", stranger).status == 60)
        #expect(try await fetch("one.test", stranger).status == 0)
        let unverified = try await fetch("any.test", stranger)
        #expect(unverified.status == 0 && unverified.error.contains("SNI any.test, certificate NOT verified"))
        #expect(!unverified.error.contains("certificate verified"), "\(unverified)")
    }

    @Test("HTTPS records are printed as the provider's zone has them")
    func httpsRecords() async throws {
        let rig = try await ServerRig.shared()
        let service = ["@\(rig.dohURL)"] + flags(rig).dropFirst(2)
        let long = try await Program.run(["svc-hints.test", "HTTPS", "svc-ech.test"] + service)
        #expect(
            long.output.withoutTimes == """
                svc-hints.test.  60  IN  HTTPS  1 svc-target.test. alpn="h2,h3" ipv4hint=127.0.0.4,127.0.0.3 ipv6hint=::1
                ; svc-hints.test HTTPS: NOERROR from doh 127.0.0.1:\(rig.dohPort) over https in N ms
                svc-ech.test.  60  IN  HTTPS  1 . alpn="h2" ech=AEX+DQBB
                ; svc-ech.test HTTPS: NOERROR from doh 127.0.0.1:\(rig.dohPort) over https in N ms

                """,
            "\(long)"
        )
        #expect(long.status == 0 && long.error == "")
        let short = try await Program.run(["+short", "A", "HTTPS", "svc-alias.test"] + service)
        #expect(short.output.hasSuffix("0 svc-pool.test.\n"), "\(short)")
        let missing = try await Program.run(["one.test", "HTTPS", "A", "--json"] + service)
        let lines = missing.output.split(separator: "\n").map(String.init)
        #expect(missing.status == 1 && lines.count == 2, "\(missing)")
        #expect(try JSONObject(lines.first ?? "").texts("addresses").isEmpty == false)
        let error: JSONObject? = try JSONObject(lines.last ?? "")["error"]
        #expect(error?["reason"] == .text("no-records"))
        let text = try await Program.run(["nodata.test", "TXT"] + service)
        #expect(
            text.status == 0 && text.output.hasPrefix("nodata.test.  60  IN  TXT  \"no address here\"\n"),
            "\(text)"
        )
    }

    /// Without it the name fails.
    @Test("The flag --system-fallback asks the system resolver when the provider fails")
    func systemFallback() async throws {
        let rig = try await ServerRig.shared()
        let dead = ["--doh", "https://127.0.0.1:1/dns-query"]
        let tripwire = try await Tripwire.shared()
        let closed = try await tripwire.run(Program.command(["resolve", "one.test"] + dead))
        #expect(closed.result.status == 1)
        #expect(closed.lookups == [])
        let open = try await tripwire.run(Program.command(["resolve", "one.test", "--system-fallback"] + dead))
        #expect(open.lookups.contains { $0.contains("one.test") })
        _ = rig
    }

    @Test("With -k any certificate is accepted, and the report says so")
    func insecure() async throws {
        let rig = try await ServerRig.shared()
        let arguments = ["fetch", "https://one.test:\(rig.tlsPort)/empty", "--map", "one.test=127.0.0.5"]
        #expect(try await Program.run(arguments).status == 60)
        let result = try await Program.run(arguments + ["-k"])
        #expect(result.status == 0, "\(result)")
        #expect(result.error.contains("certificate NOT verified") && !result.error.contains("certificate verified"))
    }

    @Test("With -v the certificate of the server is shown: its names, issuer and times")
    func certificateShown() async throws {
        let rig = try await ServerRig.shared()
        let url = "https://one.test:\(rig.tlsPort)/a.jpg"
        let result = try await Program.run(["fetch", url, "-v", "-o", "/dev/null"] + flags(rig))
        #expect(result.status == 0, "\(result)")
        #expect(result.error.contains(/\* certificate: subject .*; issuer .+\n/))
        #expect(result.error.contains(/\* certificate: valid from .* GMT to .* GMT\n/))
        #expect(result.error.contains(/\* certificate: names .*DNS:one\.test/))
        #expect(result.error.contains("> GET /a.jpg HTTP/2\n") && result.error.contains("< HTTP/2 200\n"))
    }

    @Test("A download is written completely to its file")
    func download() async throws {
        let rig = try await ServerRig.shared()
        let folder = try TemporaryFolder()
        let result = try await Program.run(
            ["fetch", "https://one.test:\(rig.tlsPort)/a.jpg", "-o", "\(folder.path)/a.jpg"] + flags(rig)
        )
        #expect(result.status == 0, "\(result)")
        #expect(result.error.contains("SNI one.test, certificate verified"))
        #expect(result.output == "")
        #expect(FileManager.default.contents(atPath: "\(folder.path)/a.jpg")?.count == 1024)
    }

    @Test("The local address and port of -w are those that the server saw", arguments: ["/a.jpg", "/hops/2"])
    func localEnd(path: String) async throws {
        let rig = try await ServerRig.shared()
        let mark = rig.accessLogMark()
        let host = "local-end-\(path.utf8.count).wild.test"
        let url = "https://\(host):\(rig.tlsPort)\(path)"
        let result = try await Program.run(
            ["fetch", url, "-sL", "-o", "/dev/null", "-w", "%{local_ip} %{local_port} %{num_connects}"]
                + ["--map", "\(host)=127.0.0.2", "--cacert", rig.certificateAuthorityFile]
        )
        let line = try #require(
            try await rig.awaitAccessLog(since: mark) { $0.sni == host && $0.status == 200 }.last
        )
        #expect(result.status == 0 && result.output == "\(line.client) \(line.clientPort) 1", "\(result) \(line)")
    }

    @Test("A key is opened with the password of --pass or -E", arguments: [true, false])
    func keyPassword(isSeparate: Bool) async throws {
        let rig = try await ServerRig.shared()
        let password = "a password with spaces"
        let certificate = rig.certificateFile("tenant-a.pem")
        func result(_ password: String) async throws -> CommandResult {
            let own = isSeparate ? ["-E", certificate, "--pass", password] : ["-E", "\(certificate):\(password)"]
            return try await Program.run(
                ["fetch", "https://tenant.test:\(rig.tlsPort)/health?\(isSeparate)", "--map", "tenant.test=127.0.0.2"]
                    + ["--cacert", rig.certificateFile("tenant-ca-a.pem"), "-s", "-S", "-w", "%{http_code}"] + own
                    + ["--key", rig.certificateFile("tenant-a.encrypted.key"), "-o", "/dev/null"]
            )
        }
        let right = try await result(password)
        #expect(right.status == 0 && right.output == "200", "\(right)")
        let wrong = try await result("wrong-canary")
        #expect(wrong.status == 2 && wrong.error.contains("password is wrong"), "\(wrong)")
        #expect(!wrong.error.contains("canary"))
    }
}
#endif
