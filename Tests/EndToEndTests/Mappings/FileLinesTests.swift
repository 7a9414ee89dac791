// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSConfiguration
import ServerRig
import Testing

/// Thirty good lines, each of which leads a request; twenty bad ones, each told with its
/// number. No provider has a part in it.
@Suite("Lines of a configuration file, over the wire", .enabled(if: ServerRig.isAvailable([.nginx])))
struct FileLinesTests {
    /// A line below `mappings:` and the request that it leads. `TLS` and `CLEAR` stand for the origins' ports.
    private struct Line {
        var text: String
        var url: String
        /// Where the request arrives.
        var address: String
        /// The server name of the handshake; nil for clear text.
        var serverName: String?

        init(_ text: String, tls host: String, _ address: String, as serverName: String? = nil) {
            self.text = text
            url = "https://\(host):TLS"
            self.address = address
            self.serverName = serverName ?? host
        }

        init(_ text: String, clear host: String, _ address: String) {
            self.text = text
            url = "http://\(host):CLEAR"
            self.address = address
        }
    }

    private static let lines: [Line] = [
        Line("one.test: 127.0.0.2", tls: "one.test", "127.0.0.2"),
        Line("two.test: 127.0.0.3        # with a comment", tls: "two.test", "127.0.0.3"),
        Line("THREE.test.: 127.0.0.4", tls: "three.test", "127.0.0.4"),
        Line("\"img.shop.test\": \"127.0.0.2\"", tls: "img.shop.test", "127.0.0.2"),
        Line("'api.shop.test': '127.0.0.3'", tls: "api.shop.test", "127.0.0.3"),
        Line("cdn.shop.test: [127.0.0.4]", tls: "cdn.shop.test", "127.0.0.4"),
        Line("old.shop.test: [127.0.0.4, 127.0.0.2, \"::1\"]", tls: "old.shop.test", "127.0.0.4"),
        Line("bücher.test: 127.0.0.2", tls: "xn--bcher-kva.test", "127.0.0.2"),
        Line("\"*.wild.test\": 127.0.0.3", tls: "any.wild.test", "127.0.0.3"),
        Line("exact.wild.test: 127.0.0.2", tls: "exact.wild.test", "127.0.0.2"),
        Line("\"*.deep.wild.test\": 127.0.0.4", clear: "a.b.deep.wild.test", "127.0.0.4"),
        Line("\"port.wild.test:TLS\": 127.0.0.4", tls: "port.wild.test", "127.0.0.4"),
        Line("\"port.wild.test:CLEAR\": 127.0.0.2", clear: "port.wild.test", "127.0.0.2"),
        Line("\"*.wild.test:CLEAR\": 127.0.0.5", clear: "other.wild.test", "127.0.0.5"),
        Line("to-port.wild.test: 127.0.0.2:TLS", tls: "to-port.wild.test", "127.0.0.2"),
        Line("dual.test: \"::1\"", tls: "dual.test", "::1"),
        Line("v6only.test: \"[::1]\"", tls: "v6only.test", "::1"),
        Line("v6-port.wild.test: \"[::1]:TLS\"", tls: "v6-port.wild.test", "::1"),
        Line("v6-long.wild.test: \"0:0:0:0:0:0:0:1\"", tls: "v6-long.wild.test", "::1"),
        Line("object.wild.test: { addresses: 127.0.0.2 }", tls: "object.wild.test", "127.0.0.2"),
        Line("timed.wild.test: { addresses: [127.0.0.4], ttl: 30s }", tls: "timed.wild.test", "127.0.0.4"),
        Line("weighted.wild.test: { addresses: { 127.0.0.2: 5 } }", tls: "weighted.wild.test", "127.0.0.2"),
        Line("via.wild.test: { via: one.test }", tls: "via.wild.test", "127.0.0.2"),
        Line("via-suffix.wild.test: { via: any.wild.test, ttl: 5m }", tls: "via-suffix.wild.test", "127.0.0.3"),
        Line(
            "identity.wild.test: { via: { host: three.test, keep: [host] } }",
            tls: "identity.wild.test",
            "127.0.0.4",
            as: "three.test"
        ),
        Line("no: 127.0.0.2", clear: "no", "127.0.0.2"),
        Line("true: 127.0.0.3", clear: "true", "127.0.0.3"),
        Line("null.test: 127.0.0.4", clear: "null.test", "127.0.0.4"),
        Line("1e3.test: 127.0.0.2", clear: "1e3.test", "127.0.0.2"),
        Line("0x7f.test: 127.0.0.3", clear: "0x7f.test", "127.0.0.3"),
    ]

    private func ported(_ text: String, _ rig: ServerRig) -> String {
        text.replacing("TLS", with: "\(rig.tlsPort)").replacing("CLEAR", with: "\(rig.httpPort)")
    }

    /// Thirty lines.
    @Test("Each good line leads its request to its address, and is named as the reason")
    func good() async throws {
        let rig = try await ServerRig.shared()
        #expect(Self.lines.count >= 30)
        // Comments and blank lines count as lines.
        var text =
            "version: 1\nclient: { ca_file: \(rig.certificateAuthorityFile) }\n\nmappings:\n  # below: the rules\n"
        let first = text.split(separator: "\n", omittingEmptySubsequences: false).count
        text += Self.lines.map { "  \(ported($0.text, rig))\n" }.joined()
        var configuration = try HTTPDNSConfigurationFile.parse(text, name: "lines.yaml")
        configuration.makePatient()
        #expect(configuration.resolver.mappings.count == Self.lines.count)
        try await withClient(configuration) { client in
            for (index, line) in Self.lines.enumerated() where rig.hasIPv6 || line.address != "::1" {
                let url = ported(line.url, rig)
                let response = try await client.get("\(url)/echo")
                let resolution = try #require(response.exchanges.first?.request.resolution)
                #expect(resolution.source == .mapping && resolution.mapping?.location?.line == first + index, "\(line)")
                let echo = try await Echo(response)
                #expect(echo.address == line.address && echo.sni == line.serverName, "\(line): \(echo)")
                #expect(echo.host == String(url.split(separator: "/")[1]), "\(line): \(echo)")
            }
        }
    }

    /// Lines below `mappings:`, and a word that the mistake must name.
    private static let badLines = [
        ("a.test: 192.0.2", "192.0.2"),
        ("b.test: 010.0.0.1", "octal"),
        ("c.test: 192.0.2.300", "192.0.2.300"),
        ("d.test: 192.0.2.1:0", "port"),
        ("e.test: 192.0.2.1:65536", "65535"),
        ("f.test: \":::1\"", ":::1"),
        ("g.test: \"[::1\"", "[::1"),
        ("h.test: \"fe80::1%eth0\"", "zone"),
        ("i.test: 192.0.2.0/24", "192.0.2.0/24"),
        ("j.test: other.test", "via"),
        ("k.test: []", "address"),
        ("l.test: [192.0.2.1, 192.0.2.1]", "192.0.2.1"),
        ("m.test: { addresses: { 192.0.2.1: 0 } }", "0"),
        ("n.test: { adresses: 192.0.2.1 }", "addresses"),
        ("o.test: { addresses: 192.0.2.1, ttl: soon }", "30s"),
        ("q..test: 192.0.2.1", "q..test"),
        ("r.test:99999: 192.0.2.1", "65535"),
        ("\"s.*.test\": 192.0.2.1", "*"),
        ("192.0.2.9: 192.0.2.1", "192.0.2.9"),
        ("A.TEST.: 192.0.2.1", "line 3"),
    ]

    /// Twenty lines, each with what is wrong with it.
    @Test("Bad lines are reported together, each with its number, and nothing is used")
    func bad() async throws {
        let text = "version: 1\nmappings:\n" + Self.badLines.map { "  \($0.0)\n" }.joined()
        let error = #expect(throws: HTTPDNSConfigurationFileError.self) {
            try HTTPDNSConfigurationFile.parse(text, name: "lines.yaml")
        }
        let mistakes = error?.issues ?? []
        #expect(mistakes.count == 20 && error?.omitted == 0)
        for (index, (mistake, bad)) in zip(mistakes, Self.badLines).enumerated() {
            #expect(mistake.location.line == index + 3, "\(mistake)")
            #expect("\(mistake)".hasPrefix("lines.yaml:\(index + 3):"), "\(mistake)")
            #expect("\(mistake)".contains(bad.1), "\(bad.1) is not in: \(mistake)")
        }
    }

    @Test("A hosts file leads requests without any change to it")
    func hosts() async throws {
        let rig = try await ServerRig.shared()
        let text = """
            # the machine's own
            127.0.0.1\tlocalhost
            127.0.0.2 one.test  TWO.test.   # two names
            \t127.0.0.3\timg.shop.test\r

            127.0.0.4 one.test
            ::1 dual.test
            """
        var configuration = try HTTPDNSConfigurationFile.parse(text, name: "machine.hosts")
        configuration.trustRoots = .file(rig.certificateAuthorityFile)
        configuration.makePatient()
        var expected = [("one.test", "127.0.0.2", 3), ("two.test", "127.0.0.2", 3), ("img.shop.test", "127.0.0.3", 4)]
        if rig.hasIPv6 { expected.append(("dual.test", "::1", 7)) }
        let targets = expected
        try await withClient(configuration) { client in
            for (name, address, line) in targets {
                let response = try await client.get("https://\(name):\(rig.tlsPort)/echo")
                #expect(response.exchanges.first?.request.resolution.mapping?.location?.line == line)
                let echo = try await Echo(response)
                #expect(echo.address == address && echo.sni == name)
            }
        }
    }
}
