// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import HTTPDNS
import HTTPDNSConfiguration
import Testing

@testable import resolve_test

struct MappingExportTests {
    private static let file = """
        version: 1
        mappings:
          img.shop.test: [203.0.113.7, "2001:db8::7"]
          api.shop.test:8443: { addresses: { 203.0.113.8: 95, 203.0.113.9: 5 }, ttl: 30s }
          even.shop.test: { addresses: { 203.0.113.8: 50, 203.0.113.9: 50 } }
          spare.shop.test: { last_resort: { 203.0.113.8: 1, 203.0.113.9: 1 } }
          "*.wild.test": [203.0.113.10]
          moved.test: ["203.0.113.11:9443"]
          cdn.shop.test: { via: edge.test }
          old.shop.test: { via: { host: edge.test, keep: [host] } }
          plain.test: system
        """

    private func export(_ text: String = Self.file) throws -> MappingExport {
        MappingExport(
            rules: MappingOrder.sorted(try HTTPDNSConfigurationFile.parse(text, name: "f.yaml").resolver.mappings)
        )
    }

    @Test("The export has hosts lines, and comments for rules that they cannot express")
    func hosts() throws {
        #expect(
            try export().text(.hosts) == """
                203.0.113.7  img.shop.test
                2001:db8::7  img.shop.test
                # api.shop.test:8443: 203.0.113.8 (weight 95), 203.0.113.9 (weight 5) (a hosts file has no ports)
                203.0.113.8  even.shop.test  # weight 50
                203.0.113.9  even.shop.test  # weight 50
                # spare.shop.test: last resort 203.0.113.8 (weight 1), 203.0.113.9 (weight 1) (has no addresses of its own)
                # *.wild.test: 203.0.113.10 (a hosts file has no patterns)
                203.0.113.11  moved.test  # port 9443 is lost
                # cdn.shop.test: via edge.test (has no addresses of its own)
                # old.shop.test: via edge.test, with its SNI and certificate (has no addresses of its own)
                # plain.test: system (has no addresses of its own)

                """
        )
    }

    /// Those of http and https.
    @Test("The export has curl options; a rule without a port is for ports 80 and 443")
    func curl() throws {
        #expect(
            try export().text(.curl) == """
                --resolve img.shop.test:80:203.0.113.7,[2001:db8::7]
                --resolve img.shop.test:443:203.0.113.7,[2001:db8::7]
                # api.shop.test:8443: 203.0.113.8 weight 95, 203.0.113.9 weight 5
                --resolve api.shop.test:8443:203.0.113.8,203.0.113.9
                # even.shop.test: 203.0.113.8 weight 50, 203.0.113.9 weight 50
                --resolve even.shop.test:80:203.0.113.8,203.0.113.9
                --resolve even.shop.test:443:203.0.113.8,203.0.113.9
                # spare.shop.test: last resort 203.0.113.8 (weight 1), 203.0.113.9 (weight 1) (has no addresses of its own)
                # *.wild.test: 203.0.113.10 (curl has no patterns)
                --connect-to moved.test:80:203.0.113.11:9443
                --connect-to moved.test:443:203.0.113.11:9443
                # cdn.shop.test: via edge.test (has no addresses of its own)
                # old.shop.test: via edge.test, with its SNI and certificate (has no addresses of its own)
                # plain.test: system (has no addresses of its own)

                """
        )
    }

    @Test("The exported JSON is a configuration file with the same rules")
    func json() throws {
        let once = try export().text(.json)
        let again = try export(once).text(.json)
        #expect(once == again)
        let rules = try HTTPDNSConfigurationFile.parse(once, name: "f.json").resolver.mappings
        let original = try HTTPDNSConfigurationFile.parse(Self.file, name: "f.yaml").resolver.mappings
        #expect(rules.mapValues { [$0.action] } == original.mapValues { [$0.action] })
        #expect(rules.mapValues(\.timeToLive) == original.mapValues(\.timeToLive))
    }

    @Test("An empty export is a message, not an empty file")
    func empty() throws {
        #expect(MappingExport(rules: []).text(.hosts) == "# no mappings\n")
        #expect(MappingExport(rules: []).text(.curl) == "# no mappings\n")
    }
}
#endif
