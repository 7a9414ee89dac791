// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSConfiguration
import ServerRig
import Testing

#if YAML
struct HostileTextTests {
    private static let sample = """
        version: 1
        providers:
          b: { kind: doh, url: https://doh.example/q, bootstrap: [192.0.2.53, "2001:db8::53"] }
        routes: { "*.shop.example": { providers: [b], fallback: system }, x.example: system }
        mappings:
          b\u{fc}cher.example: ["203.0.113.7", '[2001:db8::7]:8443']  # both
          c.example:8443: { addresses: { 203.0.113.8: 95 }, ttl: 30s }
        cache: { ttl: { min: 10s } }
        """

    /// Whether the text was read; every failure must have a place and words.
    private func isRead(_ text: String) -> Bool {
        do {
            _ = try HTTPDNSConfigurationFile.settings(text, name: "f.yaml")
            return true
        } catch {
            #expect(!error.issues.isEmpty)
            #expect(error.issues.allSatisfy { $0.location.line != nil && !$0.message.isEmpty }, "\(text)")
            return false
        }
    }

    @Test("A file cut off anywhere is read, or refused with a location")
    func cut() {
        let scalars = Self.sample.unicodeScalars
        var outcomes: Set<Bool> = []
        for count in 0...scalars.count {
            outcomes.insert(isRead(String(String.UnicodeScalarView(scalars.prefix(count)))))
        }
        #expect(outcomes == [true, false])
    }

    /// The character is left out or replaced.
    @Test(
        "A file with any character changed is read, or refused with a location",
        arguments: ["", "[", "*", "\t", "\u{0}", "\"", "&a "]
    )
    func changed(replacement: String) {
        let scalars = Array(Self.sample.unicodeScalars)
        var refused = 0
        for index in scalars.indices {
            var text = ""
            text.unicodeScalars.append(contentsOf: scalars[..<index])
            text += replacement
            text.unicodeScalars.append(contentsOf: scalars[(index + 1)...])
            if !isRead(text) { refused += 1 }
        }
        #expect(refused > scalars.count / 8)
    }

    @Test("A billion laughs are refused before they are expanded")
    func billionLaughs() throws {
        var text = "version: 1\na0: &a0 [x, x]\n"
        for level in 1...40 {
            let aliases = Array(repeating: "*a\(level - 1)", count: 9).joined(separator: ", ")
            text += "? &a\(level) [\(aliases)]\n: x\n"
        }
        let error = #expect(throws: HTTPDNSConfigurationFileError.self) {
            try HTTPDNSConfigurationFile.settings(text, name: "f.yaml")
        }
        let first = try #require(error?.issues.first)
        #expect(first.location.line == 3)
        #expect(first.message == "\"*a0\" is a YAML alias; anchors and aliases are not supported")
    }

    /// Each holds an alias where a reader of bytes would see a comment, or nothing.
    private static let hiddenAliases = [
        "version: 1 # x\u{2028}a: &a [x]\u{2028}b: *a\n", "version: 1\n# x\u{85}a: &a [x]\u{85}b: *a\n",
        "{ x: \"\n#\", a: &a [1], b: *a }\n", "a: &a-b_1 [x]\nb: *a-b_1\n",
    ]

    @Test("An alias is refused wherever libyaml sees one", arguments: hiddenAliases)
    func hiddenAlias(text: String) throws {
        let error = try #require(
            #expect(throws: HTTPDNSConfigurationFileError.self) {
                try HTTPDNSConfigurationFile.settings(text, name: "f.yaml")
            }
        )
        #expect(error.issues.count == 1)
        #expect(error.description.contains("is a YAML alias; anchors and aliases are not supported"), "\(error)")
    }

    @Test("Hidden aliases of aliases are refused within a second", arguments: ["\u{2028}", "\u{85}", "\n"])
    func hiddenBomb(lineEnd: String) throws {
        let levels = (1...40).map { level in
            let aliases = Array(repeating: "*a\(level - 1)", count: 9).joined(separator: ", ")
            return lineEnd == "\n" ? "a\(level): &a\(level) [\(aliases)]" : "? &a\(level) [\(aliases)]\(lineEnd): x"
        }
        let text =
            lineEnd == "\n"
            ? "{ x: \"\n#\", a0: &a0 [x, x], \(levels.joined(separator: ", ")) }"
            : "version: 1 # x\(lineEnd)a0: &a0 [x, x]\(lineEnd)\(levels.joined(separator: lineEnd))\n"
        let start = ProcessState.threadTime()
        _ = #expect(throws: HTTPDNSConfigurationFileError.self) {
            try HTTPDNSConfigurationFile.settings(text, name: "f.yaml")
        }
        let time = ProcessState.threadTime() - start
        #expect(time < .seconds(1), "\(time)")
    }

    @Test(
        "The depth of nesting is limited",
        arguments: [
            String(repeating: "[", count: 100_000), String(repeating: "- ", count: 100_000),
            "a: " + String(repeating: "{a: ", count: 900) + "1" + String(repeating: "}", count: 900),
            "version: 1\ncache: " + String(repeating: "[", count: 40) + String(repeating: "]", count: 40),
        ]
    )
    func nesting(text: String) throws {
        let error = #expect(throws: HTTPDNSConfigurationFileError.self) {
            try HTTPDNSConfigurationFile.settings(text, name: "f.yaml")
        }
        #expect(error?.description.contains("nested") == true)
    }

    @Test("Stars and ampersands in comments and values are not mistaken for aliases")
    func stars() throws {
        let text = "# *x and &x\nversion: 1  # R&D, *.shop\nmappings: { \"*.x\": system }\n"
        #expect(try HTTPDNSConfigurationFile.settings(text, name: "f.yaml").configuration.resolver.mappings.count == 1)
    }
}
#endif
