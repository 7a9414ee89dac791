// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The content that a setting may have in the file, and the values that it means.
struct SettingForm<Value: Sendable>: Sendable {
    /// Returns the description, with the text of a value.
    let facts: @Sendable (Value?) -> SettingFacts
    /// Returns the value of a node; nil for none, and after a mistake.
    let read: @Sendable (inout SettingsReader, ConfigurationNode, _ path: String, _ old: Value?) -> Value?

    init(
        facts: @escaping @Sendable (Value?) -> SettingFacts = { _ in SettingFacts() },
        read: @escaping @Sendable (inout SettingsReader, ConfigurationNode, _ path: String, _ old: Value?) -> Value?
    ) {
        self.facts = facts
        self.read = read
    }

    /// Creates the form of a text.
    /// - Parameters:
    ///   - allowed: The allowed texts, for errors about a value that is no text.
    ///   - values: The allowed texts, in Markdown.
    ///   - parse: A function that returns the value of a text. Relative paths begin at the folder of the file.
    init(
        _ allowed: String,
        values: String = "",
        schema: String = "",
        isSecret: Bool = false,
        write: @escaping @Sendable (Value) -> String = { "\($0)" },
        parse: @escaping @Sendable (_ text: String, _ file: String) throws(ValueMistake) -> Value
    ) {
        self.init { value in
            let text = value.map(write)
            return SettingFacts(
                values: values,
                schema: schema,
                text: text?.isEmpty == true ? nil : text,
                isSecret: isSecret
            )
        } read: { reader, node, path, _ in
            let file = reader.file
            return reader.value(of: node, path: path, allowed) { text throws(ValueMistake) in try parse(text, file) }
        }
    }

    /// Creates the form of a list, or of a mapping with names of the user, whose entries have these forms.
    init(
        entries: @autoclosure @escaping @Sendable () -> [SettingFacts],
        values: String = "",
        read: @escaping @Sendable (inout SettingsReader, ConfigurationNode, _ path: String, _ old: Value?) -> Value?
    ) {
        self.init(facts: { _ in SettingFacts(values: values, isInFileOnly: true, entries: entries()) }, read: read)
    }

    /// Returns the form of a value that is made of this one's.
    func map<Other>(_ convert: @escaping @Sendable (Value) -> Other?) -> SettingForm<Other> {
        SettingForm<Other> { _ in
            facts(nil)
        } read: { reader, node, path, _ in
            read(&reader, node, path, nil).flatMap(convert)
        }
    }

    /// The form for a property that is nil without a value.
    var optional: SettingForm<Value?> {
        SettingForm<Value?> {
            facts($0 ?? nil)
        } read: { reader, node, path, old in
            read(&reader, node, path, old ?? nil).map(Optional.some)
        }
    }
}

// MARK: - Sections

extension SettingForm {
    /// Checks the settings of a section together, after they were read, and may change the part that they set.
    typealias SectionCheck<Part> =
        @Sendable (
            inout SettingsReader, inout Part, SettingsReader.Fields, _ path: String
        ) -> Void

    /// The form of a mapping with settings.
    static func section(
        _ settings: [Setting<Value>],
        name: String? = nil,
        words: KeyValuePairs<String, Value> = [:],
        textHint: (@Sendable (String) -> String?)? = nil,
        start: @escaping @Sendable (Value?) -> Value,
        check: @escaping SectionCheck<Value> = { _, _, _, _ in }
    ) -> SettingForm {
        section(settings, name: name, words: words, textHint: textHint, start: start, end: { $0 }, check: check)
    }

    /// The form of a mapping with settings of a part.
    /// - Parameters:
    ///   - name: The name of the section in errors; nil for its path.
    ///   - words: The words that are allowed in place of the mapping, with the value for each.
    ///   - namesWords: Whether errors about other texts name these words.
    ///   - textHint: A function that returns the correction of a text in place of the mapping.
    ///   - start: The part before the settings of a mapping.
    ///   - end: The value of a part.
    static func section<Part>(
        _ settings: [Setting<Part>],
        name: String? = nil,
        words: KeyValuePairs<String, Value> = [:],
        namesWords: Bool = true,
        textHint: (@Sendable (String) -> String?)? = nil,
        start: @escaping @Sendable (Value?) -> Part,
        end: @escaping @Sendable (Part) -> Value?,
        check: @escaping SectionCheck<Part> = { _, _, _, _ in }
    ) -> SettingForm {
        SettingForm { value in
            let parts = settings.map { $0.facts(start(value)) }
            return SettingFacts(isValue: !words.isEmpty, words: words.map(\.key), name: name, parts: parts)
        } read: { reader, node, path, old in
            if node.isEmpty, settings.allSatisfy({ $0.requirement == nil }) { return nil }
            if let word = words.first(where: { $0.key == node.text }) { return word.value }
            let table = KeyTable(name ?? path, settings)
            guard words.isEmpty || !namesWords || node.isMapping else {
                let allowed = "\(words.map(\.key).joined(separator: ", ")), or a mapping with \(table.allowed)"
                reader.mistakes.add("\(path): found \(node.found); allowed: \(allowed)", at: node.position)
                return nil
            }
            var part = start(old)
            let hint = node.text.flatMap { textHint?($0) }
            guard var fields = reader.fields(of: node, table, path: path, hint: hint),
                reader.read(settings, &fields, path: path, into: &part)
            else { return nil }
            check(&reader, &part, fields, path)
            return end(part)
        }
    }
}

// MARK: - Lists

extension SettingForm {
    /// The form of a value or a list of values.
    /// - Parameters:
    ///   - list: The allowed values, for errors.
    ///   - isUnique: Whether a value may stand in the list once only.
    ///   - twice: Returns the error about a value that stands in the list already, at a position.
    static func list<Element: Hashable>(
        of form: SettingForm<Element>,
        _ list: String,
        isUnique: Bool = true,
        twice: @escaping @Sendable (Element, Position) -> String = { value, _ in "\(value) is listed twice" }
    ) -> SettingForm where Value == [Element] {
        SettingForm { values in
            var facts = form.facts(nil)
            let unique = isUnique ? #""uniqueItems": true, "# : ""
            let items = #"{ "type": "array", "minItems": 1, \#(unique)"items": \#(facts.schema) }"#
            if !facts.schema.isEmpty { facts.schema = #"{ "anyOf": [\#(facts.schema), \#(items)] }"# }
            facts.values += ", or a list"
            let texts = (values ?? []).compactMap { form.facts($0).text }
            facts.text = texts.isEmpty ? nil : texts.joined(separator: ", ")
            facts.isList = true
            return facts
        } read: { reader, node, path, _ in
            var positions: [Element: Position] = [:]
            return (reader.elements(of: node, path: path, list) ?? []).compactMap { node in
                guard let value = form.read(&reader, node, path, nil) else { return nil }
                if let position = positions.updateValue(node.position, forKey: value), isUnique {
                    reader.mistakes.add("\(path): \(twice(value, position))", at: node.position)
                }
                return value
            }
        }
    }

    /// The form of a value or a list of values in any order.
    static func set<Element: Hashable>(
        of form: SettingForm<Element>,
        _ list: String,
        isUnique: Bool = false
    ) -> SettingForm where Value == Set<Element> {
        let form = SettingForm<[Element]>.list(of: form, list, isUnique: isUnique)
        return SettingForm { set in
            form.facts(set.map { $0.sorted { "\($0)" < "\($1)" } })
        } read: { reader, node, path, _ in
            form.read(&reader, node, path, nil).map(Set.init)
        }
    }
}

// MARK: - Values

extension SettingForm<Bool> {
    static let truth = SettingForm("true, false", values: "Boolean", schema: reference("truth")) {
        (text, _) throws(ValueMistake) in try TruthText.parse(text)
    }
}

extension SettingForm<Int> {
    static func number(_ range: ClosedRange<Int>) -> SettingForm {
        SettingForm(
            "a whole number from \(range.lowerBound) to \(range.upperBound)",
            values: "\(range.lowerBound) to \(range.upperBound)",
            schema: #"{ "type": "integer", "minimum": \#(range.lowerBound), "maximum": \#(range.upperBound) }"#
        ) { (text, _) throws(ValueMistake) in try WholeNumberText.parse(text, in: range) }
    }
}

extension SettingForm<Duration> {
    static func duration(_ range: ClosedRange<Duration>, such example: String = "30s") -> SettingForm {
        SettingForm(
            "a duration such as \(example)",
            values: "\(DurationText.write(range.lowerBound)) to \(DurationText.write(range.upperBound))",
            schema: reference("duration"),
            write: DurationText.write
        ) { (text, _) throws(ValueMistake) in try DurationText.parse(text, in: range) }
    }
}

extension SettingForm<Duration?> {
    /// - Parameter zeroHint: The correction of a zero.
    static func limit(_ range: ClosedRange<Duration>, zeroHint: String? = nil) -> SettingForm {
        SettingForm(
            "a duration such as 30s, or none",
            values: "\(DurationText.write(range.lowerBound)) to \(DurationText.write(range.upperBound)), or `none`",
            schema: reference("limit"),
            write: { $0.map(DurationText.write) ?? "none" }
        ) { (text, _) throws(ValueMistake) in
            if text == "none" { return nil }
            do throws(ValueMistake) {
                return try DurationText.parse(text, in: range)
            } catch {
                let isZero = (try? DurationText.parse(text, in: .zero...(.zero))) != nil
                throw isZero && zeroHint != nil ? ValueMistake(error.message, hint: zeroHint) : error
            }
        }
    }
}

extension SettingForm<HTTPDNSByteCount> {
    static func bytes(_ range: ClosedRange<Int>, such example: String) -> SettingForm {
        SettingForm(
            "a byte count such as \(example)",
            values: "\(ByteCountText.write(range.lowerBound)) to \(ByteCountText.write(range.upperBound))",
            schema: reference("bytes"),
            write: { ByteCountText.write($0.bytes) }
        ) { (text, _) throws(ValueMistake) in .bytes(try ByteCountText.parse(text, in: range)) }
    }
}

extension SettingForm<HTTPDNSByteCount?> {
    static func byteLimit(_ range: ClosedRange<Int>) -> SettingForm {
        let bounds = [range.lowerBound, range.upperBound].map(ByteCountText.write).joined(separator: " to ")
        return SettingForm(
            "a byte count such as 4MiB, or none",
            values: "\(range.upperBound == .max ? "a byte count" : bounds), or `none`",
            schema: #"{ "anyOf": [{ "const": "none" }, \#(reference("bytes"))] }"#,
            write: { $0.map { ByteCountText.write($0.bytes) } ?? "none" }
        ) { (text, _) throws(ValueMistake) in
            text == "none" ? nil : .bytes(try ByteCountText.parse(text, in: range))
        }
    }
}

extension SettingForm where Value: Equatable {
    /// - Parameters:
    ///   - unquoted: The words that are numbers without quotation marks.
    ///   - later: The words of later versions.
    ///   - suggests: Whether an error suggests the most similar word.
    static func words(
        _ pairs: KeyValuePairs<String, Value>,
        unquoted: [String] = [],
        later: [String] = [],
        suggests: Bool = true
    ) -> SettingForm {
        words(pairs.map { ($0.key, $0.value) }, unquoted: unquoted, later: later, suggests: suggests)
    }

    private static func words(
        _ pairs: [(word: String, value: Value)],
        unquoted: [String] = [],
        later: [String] = [],
        suggests: Bool = true
    ) -> SettingForm {
        let words = pairs.map(\.word)
        let allowed = words.joined(separator: ", ")
        return SettingForm(
            allowed,
            values: words.map { "`\($0)`" }.joined(separator: ", "),
            schema: #"{ "enum": [\#((words.map { "\"\($0)\"" } + unquoted).joined(separator: ", "))] }"#,
            write: { value in pairs.first { $0.value == value }?.word ?? "" }
        ) { (text, _) throws(ValueMistake) in
            if let pair = pairs.first(where: { $0.word == text }) { return pair.value }
            if later.contains(text) {
                throw ValueMistake("\(quoted(text)) comes in a later version; allowed now: \(allowed)")
            }
            let meant = suggests ? nearestWord(to: text, in: words + later) : nil
            throw ValueMistake(
                "found \(quoted(text)); allowed: \(allowed)",
                hint: meant.map { "did you mean \"\($0)\"?" }
            )
        }
    }

    /// The form of a word that is its own value.
    static func words(_ words: [String]) -> SettingForm where Value == String {
        self.words(words.map { ($0, $0) })
    }

    /// The form of the names of all cases.
    static func cases() -> SettingForm where Value: CaseIterable & RawRepresentable<String> {
        words(Value.allCases.map { ($0.rawValue, $0) })
    }
}

extension SettingForm<HTTPDNSAddress.Families> {
    static let families = words(["v4": .v4, "v6": .v6, "both": .both])
}

extension SettingForm<HTTPDNSAddressPolicy.Scope> {
    /// The most private scope of addresses that answers may have.
    static let scope = words(["public": .public, "private": .private, "loopback": .loopback])
}

extension SettingForm<HTTPDNSClient.Configuration.Connections.Loops> {
    static let loops: SettingForm = {
        let range = HTTPDNSClient.Configuration.Connections.Loops.range
        let allowed = "automatic, or a whole number from \(range.lowerBound) to \(range.upperBound)"
        let number = SettingForm<Int>.number(range).facts(nil)
        return SettingForm(
            allowed,
            values: "`automatic`, or \(number.values)",
            schema: #"{ "anyOf": [{ "enum": ["automatic"] }, \#(number.schema)] }"#
        ) { (text, _) throws(ValueMistake) in
            if text == "automatic" { return .automatic }
            guard let count = try? WholeNumberText.parse(text, in: range) else {
                throw ValueMistake("found \(quoted(text)); allowed: \(allowed)")
            }
            return .count(count)
        }
    }()
}

extension SettingForm<Set<HTTPField.Name>> {
    static let fieldNames = set(of: fieldName, "names of header fields, one or a list")

    private static let fieldName = SettingForm<HTTPField.Name>(
        "the name of a header field",
        values: "a header name",
        schema: reference("field")
    ) { (text, _) throws(ValueMistake) in
        guard let name = HTTPField.Name(text) else {
            throw ValueMistake("\(quoted(text)) is no name of a header field; allowed: such as X-Tenant-Token")
        }
        return name
    }
}

extension SettingForm<HTTPDNSClient.Configuration.LocalSource> {
    static let localSource: SettingForm = {
        let form = "a network interface such as eth0, or an address of this machine"
        return SettingForm(
            form,
            values: "an interface such as `eth0`, or an address",
            schema: #"{ "type": "string", "pattern": "^[^/\\s]{1,15}$|^[0-9A-Fa-f:.]+$" }"#
        ) { (text, _) throws(ValueMistake) in
            try TruthText.refuse(text, form)
            if let address = HTTPDNSAddress(text) { return .address(address) }
            // Linux has room for 15 bytes (IFNAMSIZ).
            guard (1...15).contains(text.utf8.count),
                text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "/") })
            else { throw ValueMistake("found \(quoted(text)); allowed: \(form)") }
            return .interface(text)
        }
    }()
}

extension SettingForm<[HTTPDNSAddressBlock]> {
    static let blocks = list(
        of: SettingForm<HTTPDNSAddressBlock>(
            "a block of addresses such as 10.0.0.0/8",
            values: "blocks such as `10.0.0.0/8`",
            schema: reference("block")
        ) { (text, _) throws(ValueMistake) in try AddressBlockText.parse(text) },
        "blocks of addresses such as 10.0.0.0/8, one or a list"
    )
}

extension SettingForm<[HTTPDNSName]> {
    /// Names to resolve.
    static let names = list(
        of: SettingForm<HTTPDNSName>("a name", values: "names", schema: reference("name")) {
            (text, _) throws(ValueMistake) in
            try HostKeyText.parseName(text, addressHint: "an address needs no resolving")
        },
        "names, one or a list"
    )
}

extension SettingForm<String> {
    /// Any text.
    static func text(_ allowed: String) -> SettingForm { SettingForm(allowed, values: "text") { (text, _) in text } }

    /// An account, or the identifier of a key.
    static let identifier: SettingForm = {
        let allowed = "1 to 128 of a-z, A-Z, 0-9, -, _ and ."
        return SettingForm(allowed, values: "letters, digits, `-_.`") { (text, _) throws(ValueMistake) in
            guard (1...128).contains(text.utf8.count), text.utf8.allSatisfy(isNameOctet) else {
                throw ValueMistake("found \(quoted(text)); allowed: \(allowed)")
            }
            return text
        }
    }()
}

/// Returns whether names of providers and accounts may have a byte.
func isNameOctet(_ octet: UInt8) -> Bool { octet.isLetterOrDigit(or: "-_.") }

/// Paths, which are relative to the folder of the configuration file.
extension SettingForm<String> {
    /// A file that must exist.
    static func readableFile(_ allowed: String = "the path of a PEM file") -> SettingForm {
        path(allowed) { (path, text) throws(ValueMistake) in
            guard let reason = FilePath.whyUnreadable(path) else { return }
            throw ValueMistake(
                "\(quoted(path)) cannot be read: \(reason)",
                hint: text.hasPrefix("~")
                    ? "~ is not expanded: write the whole path"
                    : text.hasPrefix("/") ? nil : "a relative path begins at the folder of this file"
            )
        }
    }
    /// A file that the program writes.
    static let writableFile = path("the path of a file that may be written") { (path, _) throws(ValueMistake) in
        guard let reason = FilePath.whyNoFile(path) else { return }
        throw ValueMistake("\(quoted(path)) cannot be written: \(reason)", hint: "name a file inside it")
    }
    static let unixSocket = path("the path of a Unix socket") { (path, _) throws(ValueMistake) in
        // `sun_path` has 108 bytes on Linux, one of them for the end. A missing server shows only when a request is sent.
        guard path.utf8.count > 107 else { return }
        throw ValueMistake("\(quoted(path)) has \(path.utf8.count) bytes, and the system takes 107")
    }

    /// Any path.
    static func path(
        _ allowed: String,
        check: @escaping @Sendable (_ path: String, _ text: String) throws(ValueMistake) -> Void = { _, _ in }
    ) -> SettingForm {
        SettingForm(allowed, values: "path", schema: reference("path")) {
            (text, file) throws(ValueMistake) in
            guard !text.isEmpty else { throw ValueMistake("the path is empty; allowed: \(allowed)") }
            let path = FilePath.resolve(text, besideFile: file)
            try check(path, text)
            return path
        }
    }
}

/// The schema of a definition.
func reference(_ name: String) -> String { ##"{ "$ref": "#/$defs/\##(name)" }"## }
