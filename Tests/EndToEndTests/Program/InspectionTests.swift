// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import ServerRig
import Testing

/// Through the built program: what it says is what another program can act on.
@Suite("Output of resolve-test, used by curl", .enabled(if: ServerRig.isAvailable([.nginx, .bind, .witnesses])))
struct InspectionTests {
    static let fields = [
        "originalURL", "addressURL", "host", "serverName", "resolveEntry", "addresses", "source", "provider", "cached",
        "stale", "ageSeconds", "timeToLiveSeconds", "generation", "location", "failedProviders", "tagged",
    ]

    private func run(_ arguments: [String]) async throws -> CommandResult {
        try await Command.resolveTest(arguments).run()
    }

    private func object(_ text: String) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    private func flags(_ rig: ServerRig) -> [String] {
        [
            "--doh", rig.dohURL, "--bootstrap", "doh.test=127.0.0.1", "--answer-scope", "loopback", "--cacert",
            rig.certificateAuthorityFile,
        ]
    }

    struct Way: Sendable, CustomTestStringConvertible {
        var host: String
        var flags: [String] = []
        var source: String
        var address: String
        var testDescription: String { "\(host) by \(source)" }
    }

    static let ways = [
        Way(host: "two.test", source: "provider", address: "127.0.0.3"),
        Way(host: "Two.TEST.", source: "provider", address: "127.0.0.3"),
        Way(host: "cdn.shop.test", source: "provider", address: "127.0.0.4"),
        Way(host: "c3.test", source: "provider", address: ""),
        Way(host: "bücher.test", source: "provider", address: "127.0.0.2"),
        Way(
            host: "one.test",
            flags: ["--map", "one.test=127.0.0.4,127.0.0.2"],
            source: "mapping",
            address: "127.0.0.4"
        ),
        Way(host: "a.wild.test", flags: ["--map", "*.wild.test=127.0.0.3"], source: "mapping", address: "127.0.0.3"),
    ]

    /// The fields are complete.
    @Test("The explained fields lead curl to the same virtual host at the same address", arguments: ways)
    func fedToCurl(way: Way) async throws {
        let rig = try await ServerRig.shared()
        let url = "https://\(way.host):\(rig.tlsPort)/echo?inspected#part"
        let result = try await run(["explain", "--json", url] + flags(rig) + way.flags)
        #expect(result.status == 0 && result.error == "", "\(result)")
        let shown = try object(result.output)
        for field in Self.fields { #expect(shown[field] != nil, "\(field) is missing") }
        #expect(shown["originalURL"] as? String == url && shown["source"] as? String == way.source)
        #expect(shown["provider"] as? String == (way.source == "provider" ? "doh" : nil))
        #expect(shown["tagged"] as? Bool == true && shown["stale"] as? Bool == false)
        #expect((shown["timeToLiveSeconds"] is NSNull) == (way.source == "mapping"))
        let (host, name) = (try #require(shown["host"] as? String), try #require(shown["serverName"] as? String))
        let first = try #require((shown["addresses"] as? [String])?.first)
        #expect(way.address == "" || first == way.address)
        let addressURL = try #require(shown["addressURL"] as? String)
        #expect(addressURL == "https://\(first):\(rig.tlsPort)/echo?inspected")

        // Nothing but what was shown goes to curl: entry, and a URL made of server name, and the address form's rest.
        let sent = "https://\(host)\(addressURL.dropFirst("https://\(first):\(rig.tlsPort)".count))"
        let entry = try #require(shown["resolveEntry"] as? String)
        let curl = try await Command(
            "curl",
            ["-sS", "--cacert", rig.certificateAuthorityFile, "--resolve", entry, sent]
        ).run()
        #expect(curl.status == 0, "\(entry) \(curl)")
        let byCurl = try object(curl.output)
        let fetched = try await run(["fetch", "-o", "-", url] + flags(rig) + way.flags)
        #expect(fetched.status == 0, "\(fetched)")
        let byUs = try object(fetched.output)
        for field in ["host", "sni", "target", "tls"] {
            #expect(byCurl[field] as? String == byUs[field] as? String, "\(field): \(byCurl) \(byUs)")
        }
        #expect(byUs["host"] as? String == host && byUs["sni"] as? String == name)
        #expect(byCurl["address"] as? String == first)
        // On a busy machine the first address may be late, and another one of the entry is asked.
        let ours = try #require(byUs["address"] as? String)
        #expect(way.address == "" || (shown["addresses"] as? [String])?.contains(ours) == true, "\(ours)")
    }

    @Test("The resolve entry of an IPv6 address works in curl")
    func fedToCurlIPv6() async throws {
        let rig = try await ServerRig.shared()
        guard rig.hasIPv6 else { return }
        let url = "https://v6only.test:\(rig.tlsPort)/echo"
        let result = try await run(["explain", "--json", url, "--family", "v6"] + flags(rig))
        let shown = try object(result.output)
        #expect(shown["addressURL"] as? String == "https://[::1]:\(rig.tlsPort)/echo")
        let entry = try #require(shown["resolveEntry"] as? String)
        #expect(entry == "v6only.test:\(rig.tlsPort):[::1]")
        let curl = try await Command(
            "curl",
            ["-sS", "--cacert", rig.certificateAuthorityFile, "--resolve", entry, url]
        ).run()
        #expect(try object(curl.output)["address"] as? String == "::1")
    }

    @Test("The printed curl command reaches an address with a port of its own")
    func otherPort() async throws {
        let rig = try await ServerRig.shared()
        let map = ["--map", "one.test=127.0.0.3:\(rig.tlsPort)", "--cacert", rig.certificateAuthorityFile]
        let result = try await run(["explain", "https://one.test/echo?other-port"] + map)
        let line = try #require(result.output.split(separator: "\n").first { $0.hasPrefix("curl ") })
        let command = line.drop { $0 != " " }.trimmingCharacters(in: .whitespaces)
        let shell = try await Command("sh", ["-c", "\(command) -sS --cacert \(rig.certificateAuthorityFile)"]).run()
        #expect(shell.status == 0, "\(command) \(shell)")
        let echo = try object(shell.output)
        #expect(echo["address"] as? String == "127.0.0.3" && echo["host"] as? String == "one.test")
    }

    @Test("Exported settings lead curl and a second run of the program to the same places")
    func exported() async throws {
        let rig = try await ServerRig.shared()
        let maps = ["--map", "one.test:\(rig.tlsPort)=127.0.0.4", "--map", "two.test=127.0.0.2"]
        let json = try await run(["export", "--format", "json"] + maps)
        #expect(json.status == 0, "\(json)")
        let folder = try TemporaryFolder()
        let file = try folder.write(json.output, to: "exported.json")
        #expect(try await run(["check", file]).status == 0)
        for (host, address) in [("one.test", "127.0.0.4"), ("two.test", "127.0.0.2")] {
            let url = "https://\(host):\(rig.tlsPort)/echo"
            let fetched = try await run([
                "fetch", url, "-o", "-", "--config", file, "--cacert", rig.certificateAuthorityFile,
            ])
            #expect(try object(fetched.output)["address"] as? String == address, "\(fetched)")
        }
        let hosts = try await run(["export", "--format", "hosts", "--map", "two.test=127.0.0.2,::1"])
        #expect(hosts.output == "127.0.0.2  two.test\n::1        two.test\n")
    }
}
