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

    static func read(_ text: String, file: String) throws(ConfigurationFileError) -> [HTTPDNSMapping.Key:
        HTTPDNSMapping]
    {
        var mistakes = MistakeList(file: file)
        var rules: [HTTPDNSMapping.Key: (targets: [HTTPDNSMapping.Target], line: Int)] = [:]
        let text = withoutByteOrderMark(text)
        // A line feed after a carriage return ends the same line, so that CR LF counts once.
        var line = 0
        for bytes in text.utf8.split(omittingEmptySubsequences: false, whereSeparator: { $0 == UInt8(ascii: "\n") }) {
            line += 1
            let position = { (field: Substring) in
                Position(line: line, column: Substring(bytes[..<field.startIndex]).unicodeScalars.count + 1)
            }
            let fields = fields(of: bytes)
            guard let first = fields.first else { continue }
            guard let address = HTTPDNSAddress(String(first)) else {
                let mistake = addressMistake(String(first))
                mistakes.add(mistake.message, at: position(first), hint: mistake.hint)
                continue
            }
            guard fields.count > 1 else {
                mistakes.add("\(address) has no name; allowed: an address and its names", at: position(first))
                continue
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
                        if HTTPDNSAddressPolicy.Scope(of: address) == .loopback { continue }
                        throw ValueMistake("\(quoted(field)): \(refusal)")
                    }
                    let target = HTTPDNSMapping.Target(address)
                    if rules[key, default: ([], line)].targets.contains(target) { continue }
                    rules[key, default: ([], line)].targets.append(target)
                } catch {
                    mistakes.add(error.message, at: position(field), hint: error.hint)
                }
            }
        }
        if let error = mistakes.error { throw error }
        return rules.mapValues { rule in
            HTTPDNSMapping(.addresses(rule.targets), location: HTTPDNSSourceLocation(file: file, line: rule.line))
        }
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
