// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSConfiguration
import ServerRig
import Testing

struct HostsFileTests {
    private func rules(_ text: String) throws -> [String: [String]] {
        let rules = try HTTPDNSConfigurationFile.importHosts(text, name: "hosts")
        return try Dictionary(
            uniqueKeysWithValues: rules.map { key, rule in
                guard case .addresses(let targets)? = rule.action else { throw CancellationError() }
                #expect(targets.allSatisfy { $0.port == nil && $0.weight == nil })
                return (key.description, targets.map(\.address.description))
            }
        )
    }

    @Test(
        "Thirty good lines",
        arguments: [
            ("", [:]), ("# comment", [:]), ("   ", [:]), ("\t# comment", [:]), ("\r", [:]),
            ("203.0.113.7 a.example", ["a.example": ["203.0.113.7"]]),
            ("203.0.113.7\ta.example", ["a.example": ["203.0.113.7"]]),
            ("  203.0.113.7  a.example  ", ["a.example": ["203.0.113.7"]]),
            ("203.0.113.7 a.example # web", ["a.example": ["203.0.113.7"]]),
            ("203.0.113.7 a.example# web", ["a.example": ["203.0.113.7"]]),
            ("203.0.113.7 a.example #b.example", ["a.example": ["203.0.113.7"]]),
            ("203.0.113.7 a.example\r", ["a.example": ["203.0.113.7"]]),
            ("203.0.113.7 A.Example", ["a.example": ["203.0.113.7"]]),
            ("203.0.113.7 a.example.", ["a.example": ["203.0.113.7"]]),
            ("203.0.113.7 a.example b.example", ["a.example": ["203.0.113.7"], "b.example": ["203.0.113.7"]]),
            ("203.0.113.7 a a a", ["a": ["203.0.113.7"]]),
            ("203.0.113.7 A a.", ["a": ["203.0.113.7"]]),
            ("2001:db8::7 a.example", ["a.example": ["2001:db8::7"]]),
            ("2001:DB8:0:0::7 a.example", ["a.example": ["2001:db8::7"]]),
            ("::1 localhost ip6-localhost", ["ip6-localhost": ["::1"]]),
            ("::ffff:203.0.113.7 a.example", ["a.example": ["::ffff:203.0.113.7"]]),
            ("127.0.0.1 localhost LOCALHOST. a.localhost", [:]),
            ("127.0.1.1 build-7", ["build-7": ["127.0.1.1"]]),
            ("0.0.0.0 ads.example", ["ads.example": ["0.0.0.0"]]),
            ("255.255.255.255 broadcasthost", ["broadcasthost": ["255.255.255.255"]]),
            ("ff02::1 ip6-allnodes", ["ip6-allnodes": ["ff02::1"]]),
            ("203.0.113.7 b\u{fc}cher.example", ["xn--bcher-kva.example": ["203.0.113.7"]]),
            ("203.0.113.7 _srv.example", ["_srv.example": ["203.0.113.7"]]),
            (
                "203.0.113.7 a.example\n203.0.113.8 a.example\n203.0.113.7 a.example",
                ["a.example": ["203.0.113.7", "203.0.113.8"]]
            ),
            ("\u{feff}203.0.113.7 a.example\r\n2001:db8::7 a.example", ["a.example": ["203.0.113.7", "2001:db8::7"]]),
        ] as [(String, [String: [String]])]
    )
    func good(text: String, expected: [String: [String]]) throws {
        #expect(try rules(text) == expected)
    }

    @Test(
        "A line that cannot be used is skipped, and a file of such lines is refused",
        arguments: [
            "203.0.113.7", "203.0.113.7 # a.example", "a.example", "a.example 203.0.113.7", "203.0.113 a.example",
            "203.0.113.256 a.example", "203.0.113.07 a.example", "0x7f000001 a.example", "203.0.113.7:80 a.example",
            "[2001:db8::7] a.example", "fe80::1%lo0 a.example", "2001:db8:::7 a.example", "10.0.0.0/8 a.example",
            "203.0.113.7 *.example", "203.0.113.7 a.example:8443", "203.0.113.7 a..example", "203.0.113.7 203.0.113.8",
            "203.0.113.7 https://a.example/", "203.0.113.7,a.example", "0.0.0.0 0.0.0.0", "203.0.113.7 localhost",
        ]
    )
    func bad(line: String) throws {
        let good = "# first\n203.0.113.1 good.example\n\n\(line)\n203.0.113.2 better.example\n"
        #expect(try rules(good) == ["good.example": ["203.0.113.1"], "better.example": ["203.0.113.2"]])
        let error = #expect(throws: HTTPDNSConfigurationFileError.self) {
            try HTTPDNSConfigurationFile.importHosts("# first\n\n\n\(line)\n", name: "hosts")
        }
        #expect(error?.issues.map(\.location.line) == [4])
        #expect(error?.description.hasPrefix("hosts:4:") == true)
    }

    @Test("The other names of a line are used")
    func otherNames() throws {
        let expected = ["a.example": ["203.0.113.7"], "b.example": ["203.0.113.7"]]
        #expect(try rules("203.0.113.7 a.example ::1 *.x localhost b.example") == expected)
    }

    /// What systems and lists for blocking ship.
    @Test(
        "Hosts files of other systems are read",
        arguments: [
            ("127.0.0.1 localhost\nfe80::1%lo0 localhost\n", 0), ("255.255.255.255\tbroadcasthost\n", 1),
            ("ff00::0 ip6-mcastprefix\nff02::1 ip6-allnodes\n", 2), ("0.0.0.0 0.0.0.0\n0.0.0.0 -ads-.example\n", 1),
            ("172.17.0.2\t3f1c2a9b8d7e\n", 1), ("192.168.1.5 host.docker.internal\r\n", 1),
        ]
    )
    func found(text: String, count: Int) throws {
        #expect(try rules(text).count == count)
    }

    @Test("Skipped lines are counted by their reason, with the first of each")
    func skipped() throws {
        let folder = try TemporaryFolder()
        let text = """
            203.0.113.7 ok.example *.x b:80
            fe80::1%lo0 localhost
            fe80::2%lo0 a
            0.0.0.0 0.0.0.0 ::
            203.0.113.7
            1.2.3 a
            203.0.113.7 localhost

            """
        try folder.write(text, to: "my.hosts")
        let skipped = HTTPDNSConfigurationFile.skippedLines(of: folder.path("my.hosts"))
        try #require(skipped.map(\.count) == [1, 2, 1, 1, 1, 1])
        #expect(skipped.map(\.first.location.line) == [1, 2, 4, 5, 6, 7])
        #expect(skipped[1].first.hint == "zones (after %) are not supported")
        try folder.write("version: 1\n", to: "other.yaml")
        #expect(HTTPDNSConfigurationFile.skippedLines(of: folder.path("other.yaml")).isEmpty)
    }

    @Test("A file without a usable line is refused, with all lines and what is allowed")
    func texts() {
        let text = "203.0.113.7\n1.2.3 a\n203.0.113.7 *.x  b:80\n[::1]:53 a\n"
        let error = #expect(throws: HTTPDNSConfigurationFileError.self) {
            try HTTPDNSConfigurationFile.importHosts(text, name: "hosts")
        }
        #expect(
            error?.description == """
                hosts:1:1: 203.0.113.7 has no name; allowed: an address and its names
                hosts:2:1: "1.2.3" is not an address; a line is an address and its names, such as \
                203.0.113.7 img.shop.example
                hosts:3:13: "*.x": hosts lines know neither * nor ports; allowed: names \
                (write it as a mapping in a YAML file)
                hosts:3:18: "b:80": hosts lines know neither * nor ports; allowed: names \
                (write it as a mapping in a YAML file)
                hosts:4:1: "[::1]:53": hosts lines know no ports or brackets; allowed: an address (write ::1)
                """
        )
    }

    @Test("A rule has the line on which its name first appears")
    func location() throws {
        let rules = try HTTPDNSConfigurationFile.importHosts(
            "\n# x\n203.0.113.7 a\n203.0.113.8 a b\n",
            name: "etc/hosts"
        )
        let lines = Dictionary(uniqueKeysWithValues: rules.map { ($0.key.description, $0.value.location) })
        #expect(lines["a"] == HTTPDNSSourceLocation(file: "etc/hosts", line: 3))
        #expect(lines["b"] == HTTPDNSSourceLocation(file: "etc/hosts", line: 4))
    }

    #if YAML
    @Test(
        "A hosts file is recognized by its name or its first line",
        arguments: [
            ("hosts", "# nothing\n", 0), ("/x/lan.hosts", "203.0.113.7 a", 1),
            ("f.txt", "# c\n\n203.0.113.7 a b\n", 2),
            ("f.yaml", "::1 a\n", 1), ("f.txt", "\u{feff}127.0.0.1 localhost a\n", 1),
        ]
    )
    func detection(name: String, text: String, count: Int) throws {
        #expect(try HTTPDNSConfigurationFile.settings(text, name: name).configuration.resolver.mappings.count == count)
    }

    @Test(
        "YAML is not mistaken for a hosts file",
        arguments: ["version: 1\n", "203.0.113.7: a\n", "203.0.113.7\n", "a 203.0.113.7\n"]
    )
    func noDetection(text: String) {
        var message = "read"
        do { _ = try HTTPDNSConfigurationFile.settings(text, name: "f.yaml") } catch { message = error.description }
        #expect(!message.contains("has no name") && !message.contains("a line is an address"))
    }
    #endif
}
