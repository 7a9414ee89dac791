// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation

/// A text of the repository, and the code blocks in it.
struct Document {
    struct Block {
        var line: Int
        var lines: [String]
    }

    /// From the root of the repository.
    let path: String
    let text: String

    init(_ path: String) throws {
        self.path = path
        text = try String(contentsOf: Document.root.appending(path: path), encoding: .utf8)
    }

    /// The text of a source without its license header: two lines, and the empty line below them.
    var code: String {
        guard text.hasPrefix("// SPDX-") else { return text }
        return String(text.split(separator: "\n", maxSplits: 3, omittingEmptySubsequences: false).last ?? "")
    }

    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The files below a folder that end in `suffix`, from the root of the repository. What was built is passed over.
    static func paths(below folder: String, suffix: String) -> [String] {
        let files = FileManager.default.enumerator(atPath: root.appending(path: folder).path)
        let names = files?.compactMap { $0 as? String } ?? []
        return names.filter { $0.hasSuffix(suffix) && !$0.contains(".build/") }.map { "\(folder)/\($0)" }.sorted()
    }

    /// The fenced blocks of one language. In Swift sources they stand in documentation comments.
    func blocks(in language: String) -> [Block] {
        var blocks: [Block] = []
        var open: Block?
        for (number, line) in zip(1..., text.split(separator: "\n", omittingEmptySubsequences: false)) {
            var line = line[...]
            if path.hasSuffix(".swift") {
                let trimmed = line.drop { $0 == " " }
                guard trimmed.hasPrefix("///") else { continue }
                line = trimmed.dropFirst(trimmed.hasPrefix("/// ") ? 4 : 3)
            }
            if line.hasPrefix("```") {
                if let block = open { blocks.append(block) }
                open = open == nil && line == "```\(language)" ? Block(line: number + 1, lines: []) : nil
            } else {
                open?.lines.append(String(line))
            }
        }
        return blocks
    }

    /// The rows of the table with this head, as cells without blanks around them; without head and rule.
    func rows(ofTable head: String) -> [[String]] {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let table = lines.drop { $0 != head }.prefix { $0.hasPrefix("|") }
        return table.dropFirst(2).map { line in
            line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    /// The texts in backticks.
    static func codes(in cell: String) -> [String] { cell.matches(of: /`([^`]+)`/).map { String($0.output.1) } }

    /// The targets of links to other files, without what stands behind `#`.
    var linkedPaths: [String] {
        text.matches(of: /\]\(([^)\s]+)\)/).map { String($0.output.1) }
            .filter { !$0.contains("://") && !$0.hasPrefix("#") }
            .map { String($0.prefix { $0 != "#" }) }
    }
}
