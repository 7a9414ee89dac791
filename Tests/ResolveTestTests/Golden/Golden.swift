// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import Foundation
import ServerRig
import Testing

@testable import resolve_test

/// The text output of commands, which is kept in files below `Golden/Texts` and compared with them.
///
/// `HTTPDNS_GOLDEN=update` writes the files in place of comparing; read the difference before it is committed.
enum Golden {
    /// A part of a file: the output in one environment.
    struct Section {
        var heading: String
        var text: String
    }

    /// The screens of reports whose figures are made up.
    private static let screens: [(heading: String, screen: Screen)] = [
        ("terminal, 80 columns", Screen(width: 80, style: Style(isColoured: true), isUnicode: true)),
        ("terminal, 40 columns", Screen(width: 40, style: Style(isColoured: true), isUnicode: true)),
        ("terminal, 80 columns, no color, LANG=C", Screen(width: 80, style: .plain)),
        ("terminal, 40 columns, no color, LANG=C", Screen(width: 40, style: .plain)),
        ("no terminal", .plain),
    ]

    /// Compares a report on each screen with its file, and checks the rules for each screen.
    static func check(_ name: String, _ report: (Screen) throws -> String) throws {
        let sections = try screens.map { heading, screen in
            let text = try report(screen)
            checkWidth(text, columns: screen.width, "\(name), \(heading)")
            if !screen.style.isColoured { #expect(!text.contains("\u{1B}"), "\(name), \(heading)") }
            if !screen.isUnicode { #expect(text.utf8.allSatisfy { $0 < 0x80 }, "\(name), \(heading)") }
            return Section(heading: heading, text: text)
        }
        try compare(name, sections)
    }

    /// Compares the sections with the file of that name, or writes it.
    static func compare(_ name: String, _ sections: [Section]) throws {
        // Environments with the same output have one section.
        var parts: [(headings: [String], text: String)] = []
        for section in sections {
            let text = normalized(section.text)
            if let index = parts.firstIndex(where: { $0.text == text }) {
                parts[index].headings.append(section.heading)
            } else {
                parts.append(([section.heading], text))
            }
        }
        let text = parts.map { "== \($0.headings.joined(separator: "; ")) ==\n\($0.text)" }.joined(separator: "\n")
        let path = Repository.path("Tests/ResolveTestTests/Golden/Texts/\(name).txt")
        if ProcessInfo.processInfo.environment["HTTPDNS_GOLDEN"] == "update" {
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            return
        }
        let expected = try String(contentsOfFile: path, encoding: .utf8)
        guard text != expected else { return }
        let (lines, expectedLines) = (text.split(separator: "\n"), expected.split(separator: "\n"))
        let first = zip(lines, expectedLines).first { $0 != $1 }
        Issue.record("\(name): \(first.map { "\"\($0)\" in place of \"\($1)\"" } ?? "another length")\n\(text)")
    }

    /// Returns the text with everything that differs between runs and machines replaced: durations, ports that the system has
    /// chosen, the ends of lines of a terminal, and the escape character, which editors do not show.
    static func normalized(_ text: String) -> String {
        text.replacing("\r\n", with: "\n").replacing("\u{1B}", with: "\\e")
            .replacing(#/^(libcurl|OpenSSL|nghttp2|zlib|c-ares) [0-9].*$/#.anchorsMatchLineEndings()) { "\($0.1) N" }
            .replacing(#/in [0-9]+(\.[0-9]+)? ms/#, with: "in N ms").replacing(#/:[345][0-9]{4}\b/#, with: ":PORT")
    }

    /// Checks that no line is wider than the terminal, apart from a line without a blank to fold at, and a curl command.
    static func checkWidth(_ text: String, columns: Int, _ comment: Comment) {
        for line in text.split(whereSeparator: \.isNewline) {
            let bare = line.replacing(/\u{1B}\[[0-9;]*m/, with: "")
            guard bare.count > columns, bare.firstMatch(of: #/^curl +curl /#) == nil else { continue }
            // The label of a line is not folded either.
            let parts = bare.replacing(#/^ *[^ ]+( [^ ]+)? {2,}/#, with: "").split(separator: " ")
            #expect(parts.count <= 1, "\(comment): \(bare)")
        }
    }
}
#endif
