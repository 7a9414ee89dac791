// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation

/// The markup of a report, read by strict rules: what a page must not have is an error here.
struct PageMarkup {
    struct Violation: Error, CustomStringConvertible {
        let description: String
    }

    private static let names: Set<String> = [
        "b", "body", "dd", "details", "div", "dl", "dt", "footer", "h1", "h2", "h3", "head", "header", "html", "i",
        "li",
        "main", "meta", "ol", "p", "pre", "rect", "section", "span", "style", "summary", "svg", "table", "tbody", "td",
        "th",
        "thead", "title", "tr",
    ]
    private static let attributes: Set<String> = [
        "aria-hidden", "aria-label", "charset", "class", "content", "height", "http-equiv", "lang", "name", "role",
        "rx",
        "scope", "style", "title", "width", "x", "y",
    ]
    private static let references = [
        "&lt;": "<", "&gt;": ">", "&amp;": "&", "&quot;": "\"", "&#39;": "'", "&#96;": "`",
    ]

    /// The tags in their order, each with its attributes but without the values of `title`: `<td class="text">`.
    private(set) var tags: [String] = []
    /// The text, with line feeds between elements.
    private(set) var text = ""
    /// The values of `title`.
    private(set) var titles: [String] = []

    init(_ page: String) throws {
        let start = "<!DOCTYPE html>\n"
        guard page.hasPrefix(start) else { throw Violation(description: "no document type") }
        for scalar in page.unicodeScalars where scalar != "\n" && scalar != "\t" {
            let category = scalar.properties.generalCategory
            guard category != .control, category != .format, category != .privateUse else {
                throw Violation(description: "U+\(String(scalar.value, radix: 16)) is in the page")
            }
        }
        var rest = page.dropFirst(start.count)
        var open: [String] = []
        while let mark = rest.firstIndex(of: "<") {
            try append(rest[..<mark], isStyle: open.last == "style")
            guard let end = rest[mark...].firstIndex(of: ">") else { throw Violation(description: "an open tag") }
            try read(rest[rest.index(after: mark)..<end], &open)
            rest = rest[rest.index(after: end)...]
        }
        try append(rest, isStyle: false)
        guard open.isEmpty else { throw Violation(description: "\(open) is not closed") }
    }

    private mutating func append(_ content: Substring, isStyle: Bool) throws {
        if isStyle {
            for word in ["url(", "@import", "expression", "http:", "https:"] where content.contains(word) {
                throw Violation(description: "the style has \(word)")
            }
        } else {
            text += try Self.decoded(content) + "\n"
        }
    }

    private mutating func read(_ tag: Substring, _ open: inout [String]) throws {
        if tag.hasPrefix("/") {
            guard open.popLast() == String(tag.dropFirst()) else {
                throw Violation(description: "<\(tag)> closes another")
            }
            return
        }
        let isVoid = tag.hasSuffix("/")
        let pattern = try Regex(#"([a-z0-9]+)((?: [a-z-]+="[^"]*")*)"#)
        guard let match = try pattern.wholeMatch(in: isVoid ? tag.dropLast() : tag),
            let name = match.output[1].substring.map(String.init), Self.names.contains(name)
        else { throw Violation(description: "<\(tag)> is no tag of a report") }
        let attributes = try Self.attributes(match.output[2].substring ?? "")
        titles += attributes.filter { $0.name == "title" }.map(\.value)
        let shown = attributes.map { $0.name == "title" ? " title" : " \($0.name)=\"\($0.value)\"" }
        tags.append("<\(name)\(shown.joined())>")
        if !isVoid, name != "meta" { open.append(name) }
    }

    private static func attributes(_ text: Substring) throws -> [(name: String, value: String)] {
        try text.matches(of: Regex(#" ([a-z-]+)="([^"]*)""#)).map { match in
            let name = String(match.output[1].substring ?? "")
            let raw = match.output[2].substring ?? ""
            // The policy has quotation marks of its own.
            let value = name == "content" ? String(raw) : try decoded(raw)
            guard Self.attributes.contains(name) else {
                throw Violation(description: "\(name) is no attribute of a report")
            }
            let shapes = ["style": #"((left|width|height):[0-9.]+%;?){1,2}"#, "class": "[a-z0-9 -]*"]
            if let shape = shapes[name], try Regex(shape).wholeMatch(in: value) == nil {
                throw Violation(description: "\(name)=\"\(value)\"")
            }
            return (name, value)
        }
    }

    /// Returns text without its references.
    private static func decoded(_ text: some StringProtocol) throws -> String {
        var result = ""
        var rest = text[...]
        while let mark = rest.firstIndex(where: { "&>\"'`".contains($0) }) {
            guard let reference = references.first(where: { rest[mark...].hasPrefix($0.key) }) else {
                throw Violation(description: "\(rest[mark...].prefix(20)) is not escaped")
            }
            result += rest[..<mark] + reference.value
            rest = rest[mark...].dropFirst(reference.key.count)
        }
        return result + rest
    }
}
