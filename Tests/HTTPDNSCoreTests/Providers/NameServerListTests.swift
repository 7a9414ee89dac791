// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Glibc
import HTTPDNSPrimitives
import HTTPDNSTesting
import ServerRig
import Testing

@testable import HTTPDNSCore

struct NameServerListTests {
    @Test(
        "A resolv.conf gives all of its servers, and TCP where it says so",
        arguments: [
            ("nameserver 10.0.0.2\nnameserver 10.0.0.3\n", ["10.0.0.2:53", "10.0.0.3:53"], false),
            (
                "nameserver 10.0.0.1\nnameserver 10.0.0.2\nnameserver ::1\nnameserver 10.0.0.4",
                ["10.0.0.1:53", "10.0.0.2:53", "[::1]:53", "10.0.0.4:53"], false
            ),
            (
                "  nameserver\t10.0.0.2  # the first\r\n;nameserver 10.0.0.3\n#nameserver 10.0.0.4\n", ["10.0.0.2:53"],
                false
            ),
            ("nameserver 10.0.0.2\nnameserver 10.0.0.2\n", ["10.0.0.2:53"], false),
            ("search corp.example\noptions ndots:5 use-vc rotate\nnameserver 10.0.0.2\n", ["10.0.0.2:53"], true),
            ("nameserver fe80::1%eth0\nnameserver\nnameserver ns.example\n", ["127.0.0.1:53"], false),
            ("", ["127.0.0.1:53"], false), ("\0\u{ff}nameserver 10.0.0.2", ["127.0.0.1:53"], false),
        ] as [(String, [String], Bool)]
    )
    func file(_ text: String, _ servers: [String], _ usesTCP: Bool) {
        let file = ResolvConf(Array(text.utf8))
        #expect(file.servers.map(\.description) == servers && file.usesTCP == usesTCP)
    }

    @Test(
        "A resolv.conf gives the zones of its last search or domain, and the dots",
        arguments: [
            ("search a.test b.test", ["a.test", "b.test"], 1), ("domain a.test\nsearch b.test", ["b.test"], 1),
            ("search b.test\ndomain a.test c.test", ["a.test"], 1), ("options ndots:5", [], 5),
            ("options ndots:2 ndots:99 timeout:1", [], 15), ("options ndots:x ndots:-1", [], 1),
            ("search a.test. b..c !", ["a.test"], 1), ("options ndots:0", [], 0),
        ] as [(String, [String], Int)]
    )
    func search(_ text: String, _ zones: [String], _ dots: Int) {
        let file = ResolvConf(Array(text.utf8))
        #expect(file.zones.map(\.description) == zones && file.dots == dots)
    }

    @Test("A changed file is followed within a second, and a lost one stays in use")
    func follows() async throws {
        let folder = try TemporaryFolder()
        let clock = HTTPDNSManualClock()
        let list = NameServerList(.file(folder.path("resolv.conf")), time: clock)
        func servers() async throws -> [String] {
            try await list.current(until: clock.now() + .seconds(60)).addresses.attempts().map(\.description)
        }
        let error = try await #require(throws: HTTPDNSProviderError.self) { _ = try await servers() }
        #expect(
            error.code == .notConfigured && error.message.contains("resolv.conf cannot be read: No such file"),
            "\(error)"
        )
        try folder.replace("resolv.conf", with: "nameserver 10.0.0.2\n")
        #expect(try await servers() == ["10.0.0.2:53"])
        try folder.replace("resolv.conf", with: "nameserver 10.0.0.3\nnameserver 10.0.0.4\n")
        #expect(try await servers() == ["10.0.0.2:53"])
        clock.advance(by: .seconds(1))
        #expect(try await servers() == ["10.0.0.3:53", "10.0.0.4:53"])
        #expect(unlink(folder.path("resolv.conf")) == 0)
        clock.advance(by: .seconds(1))
        #expect(try await servers() == ["10.0.0.3:53", "10.0.0.4:53"])
    }
}
