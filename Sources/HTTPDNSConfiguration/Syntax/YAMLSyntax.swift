// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if YAML
/// The error messages for text that libyaml, or this package, does not accept.
enum YAMLSyntax {
    static func error(_ failure: YAMLParser.Failure, text: String, file: String) -> HTTPDNSConfigurationFileError {
        guard failure.problem.isEmpty else {
            return error(Report(failure, text: text), file: file)
        }
        let bad = text.unicodeScalars.indices.first { !isAllowed(text.unicodeScalars[$0]) }
        let shown = bad.map { quoted(String(text.unicodeScalars[$0])) } ?? "a character"
        return HTTPDNSConfigurationFileError(
            file,
            "\(shown) is a control character, which YAML does not allow",
            at: bad.map { Position(of: $0, in: text) },
            hint: "remove it"
        )
    }

    /// Returns the error for an alias without an anchor of its name, such as the pattern `*.shop.example` without quotes.
    static func undefinedAlias(at position: Position, text: String, file: String) -> HTTPDNSConfigurationFileError {
        let failure = YAMLParser.Failure(
            context: "while scanning an alias",
            contextPosition: position,
            problem: "found undefined alias",
            position: position
        )
        return error(Report(failure, text: text), file: file)
    }

    /// Returns the error for an alias whose anchor is defined above it.
    static func alias(_ name: String, at position: Position, file: String) -> HTTPDNSConfigurationFileError {
        HTTPDNSConfigurationFileError(
            file,
            "\(quoted("*" + name)) is a YAML alias; anchors and aliases are not supported",
            at: position,
            hint: "write the value out, or put the text in quotes if no alias was meant"
        )
    }

    static func secondDocument(at position: Position, file: String) -> HTTPDNSConfigurationFileError {
        HTTPDNSConfigurationFileError(file, "found a second document; allowed: one document in a file", at: position)
    }

    private static func error(_ report: Report, file: String) -> HTTPDNSConfigurationFileError {
        HTTPDNSConfigurationFileError(file, report.message, at: report.place, hint: report.hint)
    }

    /// Returns whether YAML 1.1 section 5.1 allows a scalar, as libyaml's reader checks it.
    private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09, 0x0a, 0x0d, 0x20...0x7e, 0x85, 0xa0...0xd7ff, 0xe000...0xfffd, 0x10000...0x10ffff:
            scalar != "\u{feff}"
        default: false
        }
    }

    /// One error of libyaml's scanner or parser.
    private struct Report {
        let contextText: String
        let contextPosition: Position?
        let problem: String
        let position: Position
        /// The line that libyaml stopped on.
        let line: Substring
        /// The line above it.
        let lineAbove: Substring
        /// The text at the position where libyaml stopped.
        let rest: Substring

        init(_ failure: YAMLParser.Failure, text: String) {
            (contextText, contextPosition) = (failure.context, failure.contextPosition)
            (problem, position) = (failure.problem, failure.position)
            line = Self.line(position.line, of: text)
            lineAbove = position.line > 1 ? Self.line(position.line - 1, of: text) : ""
            rest = Substring(line.unicodeScalars.dropFirst(position.column - 1))
        }

        /// The position to show the user: the begin of the unfinished element, else the position where libyaml stopped.
        var place: Position {
            if let literal = unquotedIPv6 {
                let column = line[..<literal.startIndex].unicodeScalars.count + 1
                return Position(line: position.line, column: column)
            }
            guard let contextPosition else { return position }
            let began = [
                "while scanning a quoted scalar", "while scanning an alias", "while scanning an anchor",
                "while scanning a simple key", "while scanning a directive",
            ]
            let isOpenAtEnd = contextText.hasPrefix("while parsing a flow") && line.allSatisfy(\.isWhitespace)
            return began.contains(contextText) || isOpenAtEnd ? contextPosition : position
        }

        var message: String {
            if unquotedIPv6 != nil { return "an unquoted [ begins a YAML list, and this is not one" }
            return switch (contextText, problem) {
            case ("while scanning an alias", _):
                "an unquoted * begins a YAML alias, which is not supported"
            case ("while scanning an anchor", _):
                "an unquoted & begins a YAML anchor, which is not supported"
            case (_, "did not find expected <document start>"):
                "found a second document; allowed: one document in a file"
            case (_, "found character that cannot start any token") where rest.hasPrefix("\t"),
                (_, "found a tab character that violates indentation"):
                "found a tab in the indentation; allowed: spaces"
            case (_, "found character that cannot start any token"):
                "a value cannot begin with \(quoted(rest.prefix(1)))"
            case (_, "mapping values are not allowed in this context"):
                "found a second \": \" where a value stands, or a line that is indented too far"
            case (_, "could not find expected ':'"):
                "the line has no \": \"; allowed: KEY: VALUE"
            case ("while scanning a quoted scalar", "found unexpected end of stream"):
                "the text in quotation marks that begins here never ends"
            case (_, "found unknown escape character"):
                "found an unknown escape after \\ in a text in double quotes"
            case (_, "found invalid Unicode character escape code"):
                "found an escape for half a character (a surrogate pair), which YAML does not know"
            case (_, _) where problem.hasPrefix("Maximum nesting level"):
                "keys and lists are nested too deep"
            case (_, _) where isOpenAtEnd:
                "the \(contextText.contains("sequence") ? "list" : "bracket") that begins here never ends"
            case (_, "did not find expected ',' or ']'"):
                "expected \",\" or \"]\" in the list that begins on line \(contextLine)"
            case (_, "did not find expected ',' or '}'"):
                "expected \",\" or \"}\" in the mapping that begins on line \(contextLine)"
            case ("while parsing a block mapping", "did not find expected key"):
                "found \(quoted(rest.prefix(40))) where a key of the mapping from line \(contextLine) was expected"
            case (_, "did not find expected node content"):
                "found \(quoted(rest.prefix(40))) where a value was expected"
            default:
                "not valid YAML: \(contextText.isEmpty ? "" : contextText + ": ")\(problem)"
            }
        }

        var hint: String? {
            switch (contextText, problem) {
            case ("while scanning an alias", _):
                return "put it in quotes: \"\(word(at: place))\""
            case ("while scanning an anchor", _):
                return "put the text in quotes"
            case (_, "found invalid Unicode character escape code"):
                return "write the character itself"
            case (_, "found character that cannot start any token") where !rest.hasPrefix("\t"):
                return "put the value in quotes"
            default:
                break
            }
            if let literal = unquotedIPv6 { return "put IPv6 addresses with brackets in quotes: \"\(literal)\"" }
            switch (contextText, problem) {
            case (_, "mapping values are not allowed in this context") where lacksSpace(lineAbove):
                return "put a space behind the colon in the line above"
            case (_, "mapping values are not allowed in this context"):
                return "put a value that holds \": \" in quotes, or align the line with the lines around it"
            case ("while parsing a block mapping", "did not find expected key"):
                return
                    "align the line with the lines around it; a value with more behind closing quotes or brackets needs quotes"
            case (_, "could not find expected ':'") where line.contains("//") || word(at: place).hasPrefix("//"):
                return "comments begin with #"
            case (_, "did not find expected ',' or '}'") where line.contains("//") || lineAbove.contains("//"):
                return "comments begin with #; JSON needs a comma between entries"
            default:
                return nil
            }
        }

        /// Returns whether a line is like `version:1`, which is one word in YAML.
        private func lacksSpace(_ line: Substring) -> Bool {
            let text = line.drop(while: \.isWhitespace)
            guard let colon = text.firstIndex(of: ":") else { return false }
            return colon != text.startIndex && !text.contains(": ") && !text.hasSuffix(":")
        }

        private var isOpenAtEnd: Bool {
            contextText.hasPrefix("while parsing a flow") && rest.allSatisfy(\.isWhitespace)
        }
        private var contextLine: Int { contextPosition?.line ?? position.line }

        /// Returns the word of the line at a position, up to the colon that ends a key.
        private func word(at place: Position) -> Substring {
            let tail = Substring(line.unicodeScalars.dropFirst(place.column - 1))
            let end = tail.firstRange(of: ": ")?.lowerBound ?? tail.endIndex
            let word = tail[..<end].prefix { !$0.isWhitespace && $0 != "," && $0 != "]" && $0 != "}" }
            return word.hasSuffix(":") ? word.dropLast() : word
        }

        /// An IPv6 address in brackets on the line, which YAML reads as a list.
        private var unquotedIPv6: Substring? {
            var tail = line
            while let open = tail.firstIndex(of: "[") {
                let inside = tail[tail.index(after: open)...].prefix { $0.isHexDigit || $0 == ":" || $0 == "." }
                let isQuoted = tail[..<open].last == "\"" || tail[..<open].last == "'"
                if !isQuoted, inside.filter({ $0 == ":" }).count > 1, inside.endIndex < tail.endIndex,
                    tail[inside.endIndex] == "]"
                {
                    let port = tail[tail.index(after: inside.endIndex)...].prefix { $0 == ":" || $0.isNumber }
                    return port.hasSuffix(":")
                        ? tail[open..<port.index(before: port.endIndex)] : tail[open..<port.endIndex]
                }
                tail = tail[tail.index(after: open)...]
            }
            return nil
        }

        private static func line(_ number: Int, of text: String) -> Substring {
            var rest = text[...]
            for _ in 1..<max(1, number) {
                guard let end = rest.firstIndex(where: \.isNewline) else { return "" }
                rest = rest[rest.index(after: end)...]
            }
            return rest.prefix { !$0.isNewline }
        }
    }
}
#endif
