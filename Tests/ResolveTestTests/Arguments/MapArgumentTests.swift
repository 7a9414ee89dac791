// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import HTTPDNS
import Testing

@testable import resolve_test

struct MapArgumentTests {
    @Test(
        "A rule has a name, an optional port, and addresses with optional ports",
        arguments: [
            ("one.test=127.0.0.2", "one.test", "127.0.0.2"),
            ("One.Test.=127.0.0.2,::1", "one.test", "127.0.0.2, ::1"),
            ("one.test:8443=[::1]:9443", "one.test:8443", "[::1]:9443"),
            ("*.shop.test=127.0.0.2:81", "*.shop.test", "127.0.0.2:81"),
        ]
    )
    func reads(text: String, key: String, targets: String) throws {
        let argument = try MapArgument(text)
        #expect("\(argument.key)" == key)
        #expect(MappingText.text(argument.mapping) == targets)
        #expect(argument.mapping.location?.description == "--map")
    }

    @Test(
        "An invalid rule is refused with the valid form",
        arguments: [
            "one.test", "=127.0.0.1", "one.test=", "one.test=127.0.0.1,", "one.test=127.1", "one.test=0x7f.0.0.1",
            "one.test=two.test", "*=127.0.0.1", "a..b=127.0.0.1", "one.test:0=127.0.0.1", "one.test:99999=127.0.0.1",
        ]
    )
    func refuses(text: String) {
        let failure = #expect(throws: CommandFailure.self) { try MapArgument(text) }
        #expect(failure?.exitStatus == 2)
        #expect(failure?.message.contains(text) == true)
        #expect(failure?.hint?.contains("HOST[:PORT]=ADDRESS") == true)
    }

    /// A rule with a port replaces that port's only.
    @Test("A rule without a port replaces the file's rules for every port")
    func overrides() throws {
        let location = HTTPDNSSourceLocation(file: "f", line: 1)
        func rule(_ text: String) -> HTTPDNSMapping {
            var mapping = HTTPDNSMapping.addresses([text])
            mapping.location = location
            return mapping
        }
        let file: [HTTPDNSMapping.Key: HTTPDNSMapping] = [
            try HTTPDNSMapping.Key("a.test"): rule("192.0.2.1"),
            try HTTPDNSMapping.Key("a.test:8443"): rule("192.0.2.2"),
            try HTTPDNSMapping.Key("b.test"): rule("192.0.2.3"), try HTTPDNSMapping.Key("b.test:81"): rule("192.0.2.4"),
        ]
        let merged = try MapArgument.apply(["a.test=127.0.0.1", "b.test:81=127.0.0.2"], to: file)
        let shown = MappingOrder.sorted(merged).map { "\($0.key) \(MappingText.text($0.mapping))" }.sorted()
        #expect(shown == ["a.test 127.0.0.1", "b.test 192.0.2.3", "b.test:81 127.0.0.2"])
    }

    @Test("One name in two --map flags is refused, because one would be lost")
    func twice() {
        let failure = #expect(throws: CommandFailure.self) {
            try MapArgument.apply(["a.test=127.0.0.1", "A.test.=127.0.0.2"], to: [:])
        }
        #expect(failure?.message == "--map names a.test twice")
    }

    @Test("The flag --bootstrap has a name and addresses")
    func bootstrap() throws {
        let argument = try BootstrapArgument("DoH.test=192.0.2.53,[2001:db8::53]")
        #expect("\(argument.host)" == "doh.test")
        #expect(argument.addresses.map(\.description) == ["192.0.2.53", "2001:db8::53"])
        for text in ["doh.test", "doh.test=", "doh.test=other.test", "=192.0.2.1", "doh.test=192.0.2.1:53"] {
            #expect(throws: CommandFailure.self, "\(text)") { try BootstrapArgument(text) }
        }
    }
}
#endif
