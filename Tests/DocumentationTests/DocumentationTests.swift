// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNSConfiguration
import Testing

/// Keeps what is written about the library true: its code compiles, its configuration is read, its links lead somewhere.
struct DocumentationTests {
    static let pages =
        ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"] + Document.paths(below: "Docs", suffix: ".md") + articles
    /// The landing pages and articles of the DocC catalogs.
    static let articles = Document.paths(below: "Sources", suffix: ".md").filter { $0.contains(".docc/") }
    /// CONTRIBUTING.md shows code of the tests, with parts left out.
    static let pagesWithCode =
        pages.filter { $0 != "CONTRIBUTING.md" } + Document.paths(below: "Sources", suffix: ".swift")

    /// `make nested` compiles all of it.
    private static let examples: [(path: String, text: String)] = Document.paths(below: "Examples", suffix: ".swift")
        .compactMap { path in
            (try? Document(path)).map { (path, "\n" + normalized($0.code.components(separatedBy: "\n")) + "\n") }
        }

    @Test("Each paragraph of Swift in README, Docs and DocC is in Examples", arguments: pagesWithCode)
    func code(path: String) throws {
        for block in try Document(path).blocks(in: "swift") where !isManifest(block) {
            for paragraph in paragraphs(of: block) {
                let text = "\n" + Self.normalized(paragraph) + "\n"
                #expect(
                    Self.examples.contains { $0.text.contains(text) },
                    "\(path):\(block.line): not in Examples: \(paragraph.joined(separator: "\n"))"
                )
            }
        }
    }

    @Test("The search finds code that is not in Examples")
    func control() {
        #expect(!Self.examples.isEmpty)
        #expect(!Self.examples.contains { $0.text.contains("let client = try await URLSession") })
        #expect(!Document.paths(below: "Docs", suffix: ".md").isEmpty)
        #expect(Self.articles.contains("Sources/HTTPDNS/HTTPDNS.docc/Bodies.md"))
    }

    @Test(
        "A page prints its program as it is in Examples",
        arguments: [("FirstProgram", "README.md"), ("Quickstart", "Docs/GettingStarted.md")]
    )
    func programs(name: String, page: String) throws {
        let program = try Document("Examples/Sources/\(name)/main.swift").code
        let blocks = try Document(page).blocks(in: "swift").map { $0.lines.joined(separator: "\n") + "\n" }
        #expect(blocks.contains(program))
    }

    @Test("No text of the library names a flag of the command line")
    func flags() throws {
        for path in Document.paths(below: "Sources", suffix: ".swift") where !path.contains("/resolve-test/") {
            for line in try Document(path).text.split(separator: "\n") where line.contains("--") && !line.contains("//")
            {
                #expect(!line.contains(#/"[^"]*--[a-z][^"]*"/#), "\(path): \(line)")
            }
        }
    }

    /// Such an address might belong to a real host.
    @Test("No name of the rig's zone leads to a private address")
    func zone() throws {
        let addresses = try Document("Scripts/servers/test.zone").text.matches(of: #/\sA\s+(?<address>[0-9.]+)/#)
        #expect(addresses.count > 10)
        for address in addresses.map({ String($0.output.address) }) where !address.hasPrefix("127.") {
            // Refused from every source.
            #expect(address == "169.254.169.254")
        }
    }

    @Test("Each link to a file of the repository leads to a file", arguments: pages)
    func links(path: String) throws {
        let folder = Document.root.appending(path: path).deletingLastPathComponent()
        for target in try Document(path).linkedPaths {
            #expect(
                FileManager.default.fileExists(atPath: folder.appending(path: target).path),
                "\(path) links to \(target)"
            )
        }
    }

    #if YAML
    @Test("Each configuration in README, Docs and DocC articles is valid", arguments: pages)
    func configurations(path: String) throws {
        // The reader has started the origins in this folder; here their CA file stands for that step.
        let folder = FileManager.default.temporaryDirectory.appending(path: "httpdns-documents-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let certificates = folder.appending(path: "certificates")
        try FileManager.default.createDirectory(at: certificates, withIntermediateDirectories: true)
        try Data().write(to: certificates.appending(path: "ca.pem"))
        for block in try Document(path).blocks(in: "yaml") {
            let text = block.lines.joined(separator: "\n").replacing("/tmp/httpdns/", with: folder.path + "/")
            #expect(throws: Never.self, "\(path):\(block.line)") {
                try HTTPDNSConfigurationFile.parse(text, name: "httpdns.yaml")
            }
        }
    }
    #endif

    /// What a reader puts into a Package.swift; the compiler sees it only there.
    private func isManifest(_ block: Document.Block) -> Bool {
        block.lines.contains("import PackageDescription")
    }

    private func paragraphs(of block: Document.Block) -> [[String]] {
        block.lines.split(whereSeparator: { $0.allSatisfy(\.isWhitespace) }).map(Array.init)
    }

    /// The lines without their indentation, which differs inside a function.
    private static func normalized(_ lines: [String]) -> String {
        lines.map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: "\n")
    }
}
