// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// Hosts files as hosts(5) describes them.
enum HostsFile {
    /// Returns whether a text is a hosts file rather than YAML.
    static func isMeant(by text: String, name: String) -> Bool {
        let fileName = FilePath.name(name)
        if fileName == "hosts" || fileName.hasSuffix(".hosts") { return true }
        // Line by line, because the first one with content decides.
        var rest = withoutByteOrderMark(text).utf8
        while !rest.isEmpty {
            let end = rest.firstIndex(where: isLineEnd) ?? rest.endIndex
            let fields = fields(of: rest[..<end])
            if let first = fields.first { return fields.count > 1 && HTTPDNSAddress(String(first)) != nil }
            rest = rest[end...].dropFirst()
        }
        return false
    }

    /// The rules of a hosts file, and the lines that are no use.
    struct Content {
        var rules: [HTTPDNSMapping.Key: HTTPDNSMapping] = [:]
        var skipped: [SkippedLines] = []
    }

    /// The reason that a line, or a name of it, is skipped.
    private enum Reason {
        case zone, noAddress, noName, addressAsName, badName, localName
    }

    /// Reads the lines that can be used.
    ///
    /// Lists for blocking and the files of other systems have some lines that no program uses: an address with a zone, an
    /// address as a name. glibc skips them silently (hosts(5)).
    /// - Throws: ``HTTPDNSConfigurationFileError`` with the first lines when none of them can be used: this is another kind of file.
    static func read(_ text: String, file: String) throws(HTTPDNSConfigurationFileError) -> Content {
        var mistakes = MistakeList(file: file)
        var rules: [HTTPDNSMapping.Key: (targets: [HTTPDNSMapping.Target], line: Int)] = [:]
        var skipped: [(reason: Reason, lines: SkippedLines)] = []
        var isUsed = false
        let text = withoutByteOrderMark(text)
        // A line feed after a carriage return ends the same line, so that CR LF counts once.
        var line = 0
        for bytes in text.utf8.split(omittingEmptySubsequences: false, whereSeparator: { $0 == UInt8(ascii: "\n") }) {
            line += 1
            WorkPace.pauseIfDue()
            var reasons: [Reason] = []
            let fields = fields(of: bytes)
            guard let first = fields.first else { continue }
            func skip(_ field: Substring, _ reason: Reason, _ mistake: ValueMistake) {
                let column = Substring(bytes[..<field.startIndex]).unicodeScalars.count + 1
                let position = Position(line: line, column: column)
                mistakes.add(mistake.message, at: position, hint: mistake.hint)
                // A line counts once for each reason, however many of its names have it.
                guard !reasons.contains(reason) else { return }
                reasons.append(reason)
                if let known = skipped.firstIndex(where: { $0.reason == reason }) {
                    skipped[known].lines.count += 1
                } else {
                    let issue = HTTPDNSConfigurationFileError.Issue(
                        location: HTTPDNSSourceLocation(file, position),
                        message: mistake.message,
                        hint: mistake.hint.map(oneLine)
                    )
                    skipped.append((reason, SkippedLines(first: issue, count: 1)))
                }
            }
            guard let address = HTTPDNSAddress(String(first)) else {
                skip(first, first.contains("%") ? .zone : .noAddress, addressMistake(String(first)))
                continue
            }
            if fields.count == 1 {
                skip(first, .noName, ValueMistake("\(address) has no name; allowed: an address and its names"))
            }
            for field in fields.dropFirst() {
                do throws(ValueMistake) {
                    let key = try HostKeyText.parseMapping(String(field))
                    guard case .exact = key.pattern, key.port == nil else {
                        throw ValueMistake(
                            "\(quoted(field)): hosts lines know neither * nor ports; allowed: names",
                            hint: "write it as a mapping in a YAML file"
                        )
                    }
                    if let refusal = key.pattern.zone?.refusalOfRules {
                        // Every hosts file has this line, and it applies anyway.
                        isUsed = isUsed || HTTPDNSAddressPolicy.Scope(of: address) == .loopback
                        if HTTPDNSAddressPolicy.Scope(of: address) == .loopback { continue }
                        skip(field, .localName, ValueMistake("\(quoted(field)): \(refusal)"))
                        continue
                    }
                    isUsed = true
                    let target = HTTPDNSMapping.Target(address)
                    if rules[key, default: ([], line)].targets.contains(target) { continue }
                    rules[key, default: ([], line)].targets.append(target)
                } catch {
                    skip(field, HTTPDNSAddress(String(field)) == nil ? .badName : .addressAsName, error)
                }
            }
        }
        if !isUsed, let error = mistakes.error { throw error }
        return Content(
            rules: rules.mapValues { rule in
                HTTPDNSMapping(.addresses(rule.targets), location: HTTPDNSSourceLocation(file: file, line: rule.line))
            },
            skipped: skipped.map(\.lines)
        )
    }

    private static func addressMistake(_ text: String) -> ValueMistake {
        do {
            let target = try TargetText.parse(text)
            return ValueMistake(
                "\(quoted(text)): hosts lines know no ports or brackets; allowed: an address",
                hint: "write \(target.address)"
            )
        } catch {
            return ValueMistake(
                "\(quoted(text)) is not an address; a line is an address and its names, such as 203.0.113.7 img.shop.example",
                hint: text.contains("%") ? "zones (after %) are not supported" : nil
            )
        }
    }

    /// Returns the fields of a line, without its comment.
    private static func fields(of line: Substring.UTF8View) -> [Substring] {
        line.prefix { $0 != UInt8(ascii: "#") }
            .split {
                $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: "\r") || $0 == 0x0b
                    || $0 == 0x0c
            }
            .map { Substring($0) }
    }

    private static func withoutByteOrderMark(_ text: String) -> Substring {
        var text = text[...]
        if text.unicodeScalars.first == "\u{feff}" { text.unicodeScalars.removeFirst() }
        return text
    }

    private static func isLineEnd(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\n") }
}

/// Lines of a hosts file that were skipped for one reason.
package struct SkippedLines: Sendable {
    /// The first of them.
    package var first: HTTPDNSConfigurationFileError.Issue
    /// Their number.
    package var count: Int
}
