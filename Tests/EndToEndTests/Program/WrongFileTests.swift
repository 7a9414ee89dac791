// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import ServerRig
import Testing

/// Configuration files with one mistake each, through the built program: where, what, and nothing half applied.
@Suite("Configuration files with mistakes, through the program", .serialized)
struct WrongFileTests {
    struct Wrong: Sendable, CustomTestStringConvertible {
        var text: String
        /// Where the mistake is: `line:column`, or the line alone.
        var place: String
        /// What the message must say.
        var words: [String]
        var testDescription: String { "\(place) \(words)" }

        init(_ text: String, _ place: String, _ words: String...) {
            self.text = text
            self.place = place
            self.words = words
        }
    }

    private static let provider = "version: 1\nproviders:\n  p: { kind: doh, url: \"https://192.0.2.1/q\" }\n"

    static let files: [Wrong] = [
        Wrong("", "1", "version"),
        Wrong("version: 2\n", "1:10", "2", "1"),
        Wrong("mappings: {}\n", "1", "version"),
        Wrong("version: 1\nmapings: {}\n", "2:1", "mapings", "mappings"),
        Wrong("version: 1\nversion: 1\n", "2:1", "version"),
        Wrong("version: 1\nclient: { connections: { maximum: 0 } }\n", "2:35", "maximum", "1 to 65535"),
        Wrong("- version: 1\n", "1", "mapping"),
        Wrong("version: 1\n\tmappings: {}\n", "2", "tab"),
        Wrong("version: 1\nmappings: [a\n", "2:11", "never ends"),
        Wrong("version: 1\nmappings:\n  one.test: 1.2.3\n", "3:13", "1.2.3"),
        Wrong("version: 1\nmappings:\n  one.test: 192.0.2.300\n", "3:13", "192.0.2.300"),
        Wrong("version: 1\nmappings:\n  one.test: 0x7f.1\n", "3:13", "0x7f.1"),
        Wrong("version: 1\nmappings:\n  one.test: []\n", "3:13", "address"),
        Wrong("version: 1\nmappings:\n  one..test: 192.0.2.1\n", "3:3", "one..test"),
        Wrong("version: 1\nmappings:\n  one.test:99999: 192.0.2.1\n", "3:3", "99999", "65535"),
        Wrong("version: 1\nmappings:\n  *.test: 192.0.2.1\n", "3", "quot"),
        Wrong("version: 1\nmappings:\n  a.*.test: 192.0.2.1\n", "3:3", "*"),
        Wrong("version: 1\nmappings:\n  one.test: 192.0.2.1\n  ONE.test.: 192.0.2.2\n", "4:3", "one.test", "3"),
        Wrong("version: 1\nmappings:\n  one.test: { via: one.test }\n", "3", "one.test"),
        Wrong("version: 1\nmappings:\n  a.test: { via: b.test }\n  b.test: { via: a.test }\n", "3", "a.test", "b.test"),
        Wrong("version: 1\nmappings:\n  one.test: { addresses: { 192.0.2.1: 0 } }\n", "3", "0"),
        Wrong("version: 1\nmappings:\n  one.test: { addresses: [192.0.2.1], ttl: soon }\n", "3", "soon", "30s"),
        Wrong("version: 1\nmappings:\n  one.test: { addresses: [192.0.2.1], tll: 3s }\n", "3", "tll", "ttl"),
        Wrong("version: 1\nproviders:\n  p: { kind: doh }\n", "3", "url"),
        Wrong("version: 1\nproviders:\n  p: { kind: dot, url: \"https://192.0.2.1/q\" }\n", "3:14", "dot", "doh"),
        Wrong("version: 1\nproviders:\n  p: { kind: doh, url: \"http://192.0.2.1/q\" }\n", "3", "https"),
        Wrong("version: 1\nproviders:\n  p: { kind: doh, url: \"https://doh.test/q\" }\n", "3", "bootstrap"),
        Wrong("version: 1\nproviders:\n  p: { kind: doh, url: \"https://u:hush@192.0.2.1/q\" }\n", "3", "password"),
        Wrong(provider + "routes:\n  \"*\": { providers: [q] }\n", "5", "q", "p"),
        Wrong(provider + "routes:\n  \"*\": { providers: [p, p] }\n", "5", "twice"),
        Wrong(provider + "routes:\n  \"*\": { providers: [p], fallback: maybe }\n", "5", "maybe", "none"),
        Wrong(provider + "routes:\n  \"*\": { providers: [] }\n", "5", "provider"),
        Wrong(provider + "routes:\n  one.test: sistem\n", "5:13", "sistem", "system"),
        Wrong("version: 1\npolicy: { allow: [10.0.0.1/8] }\n", "2", "10.0.0.1/8"),
        Wrong("version: 1\npolicy: { providers_may_answer: everything }\n", "2", "everything", "public"),
        Wrong("version: 1\ncache: { entries: 0 }\n", "2", "0"),
        Wrong("version: 1\ncache: { ttl: { min: 2h, max: 1h } }\n", "2", "1h"),
        Wrong("version: 1\nclient: { timeouts: { connect: -1s } }\n", "2", "-1s"),
        Wrong("version: 1\na: &x [*x]\n", "2"),
        Wrong("version: 1\n---\nversion: 1\n", "2", "document"),
        Wrong("version: 1\nmappings: { one.test: !!binary AAAA }\n", "2"),
        Wrong("version: 1\nmappings:\n  one.test: \"192.0.2.1\\r\\nX: y\"\n", "3:13", "\\r\\n"),
    ]

    @Test("At least thirty kinds of mistakes are tested")
    func count() { #expect(Self.files.count >= 30) }

    /// `check` and every other command report it.
    @Test("Each mistake is reported with file, line and column, and nothing is applied", arguments: files)
    func told(wrong: Wrong) async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write(wrong.text, to: "wrong.yaml")
        let check = try await Command.resolveTest(["check", file]).run()
        #expect(check.status == 2, "\(check)")
        let report = check.output + check.error
        #expect(report.contains("\(file):\(wrong.place)"), "\(wrong.place): \(report)")
        for word in wrong.words { #expect(report.contains(word), "\(word): \(report)") }
        #expect(!report.contains("hush"))

        let resolve = try await Command.resolveTest(["resolve", "one.test", "--config", file]).run()
        #expect(resolve.status == 2 && resolve.output == "", "\(resolve)")
        #expect(resolve.error.contains("\(file):\(wrong.place)"), "\(resolve)")
        #expect(resolve.error.split(separator: "\n").count == 1, "\(resolve)")
        let json = try await Command.resolveTest(["explain", "http://one.test/", "--json", "--config", file]).run()
        #expect(json.status == 2 && json.output == "", "\(json)")
        let object = try JSONSerialization.jsonObject(with: Data(json.error.utf8)) as? [String: Any]
        #expect(object?["error"] is [String: Any], "\(json)")
    }

    @Test(
        "A file that is missing, unreadable, too long or no text is named in the error",
        arguments: ["check", "resolve"]
    )
    func unreadable(command: String) async throws {
        let folder = try TemporaryFolder()
        try Data([0xff, 0xfe, 0, 1, 0x80]).write(to: URL(filePath: folder.path("bytes.yaml")))
        try folder.write(String(repeating: "a", count: 32 << 20), to: "long.yaml")
        try folder.write(String(repeating: "[", count: 100_000), to: "deep.yaml")
        // Twelve aliases that each stand for twelve of the one before.
        let levels = (0..<12).map { level in
            let items = Array(repeating: level == 0 ? "y" : "*x\(level - 1)", count: 12).joined(separator: ",")
            return "x\(level): &x\(level) [\(items)]\n"
        }
        try folder.write("version: 1\n" + levels.joined(), to: "bomb.yaml")
        for name in ["bytes.yaml", "long.yaml", "deep.yaml", "bomb.yaml", "missing.yaml", "."] {
            let path = folder.path(name)
            let arguments = command == "check" ? ["check", path] : ["resolve", "one.test", "--config", path]
            let result = try await Command.resolveTest(arguments).run(within: .seconds(30))
            #expect(result.status == 2, "\(name): \(result.status) \(result.error.prefix(300))")
            #expect(
                (result.output + result.error).contains("\(name == "." ? folder.path : name)"),
                "\(name): \(result.error.prefix(300))"
            )
            #expect((result.output + result.error).utf8.count < 8_000, "\(name)")
        }
    }
}
