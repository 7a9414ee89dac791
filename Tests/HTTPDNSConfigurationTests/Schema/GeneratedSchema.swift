// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import ServerRig
import Testing

@testable import HTTPDNSConfiguration

#if YAML
/// The parts of the schema that come from declared settings.
struct GeneratedSchemaTests {
    /// With `HTTPDNS_WRITE_REFERENCE` in the environment, the file is written instead of compared.
    @Test("The schema of declared settings is the one of their declarations")
    func schema() throws {
        let name = "Docs/configuration.schema.json"
        let found = try Repository.text(name)
        let root = try YAMLDocument.read(found, file: name)
        let generated = root.replacing("properties") { properties($0, FileSettings.facts) }
        let text = generated.json(indent: "") + "\n"
        if ProcessInfo.processInfo.environment["HTTPDNS_WRITE_REFERENCE"] != nil {
            try text.write(toFile: Repository.path(name), atomically: true, encoding: .utf8)
        } else {
            #expect(found == text)
        }
    }

    private func properties(_ old: ConfigurationNode, _ facts: [SettingFacts]) -> ConfigurationNode {
        .object(facts.map { ($0.key, schema($0, in: old[$0.key] ?? .object([]))) })
    }

    /// Returns the schema of a setting; parts with forms of their own stay as they are in the old one.
    private func schema(_ facts: SettingFacts, in old: ConfigurationNode) -> ConfigurationNode {
        let sentence = facts.sentence.filter { $0 != "`" }
        let described = facts.text.map { "\(sentence) Default: \($0)." } ?? sentence
        let description = ("description", ConfigurationNode.text(described))
        if !facts.parts.isEmpty, facts.name == nil {
            let mapping = old["anyOf"] == nil ? old : old["anyOf"]?.items?.last
            let properties = properties(mapping?["properties"] ?? .object([]), facts.parts)
            if mapping?["properties"] != nil {
                func new(_ mapping: ConfigurationNode) -> ConfigurationNode {
                    mapping.replacing("properties") { _ in properties }
                }
                let replaced = old.replacing("anyOf") { .array($0.items!.dropLast() + [new($0.items!.last!)]) }
                return (old["anyOf"] == nil ? new(old) : replaced).replacing("description") { _ in description.1 }
            }
            let object: [(String, ConfigurationNode)] = [
                ("type", .array([.text("object"), .text("null")])), ("additionalProperties", .plain("false")),
                ("properties", properties),
            ]
            if facts.words.isEmpty { return .object([description] + object) }
            let words = ConfigurationNode.object([("enum", .array(facts.words.map { .text($0) }))])
            return .object([description, ("anyOf", .array([words, .object(object)]))])
        }
        if facts.schema.isEmpty { return old }
        let schema = (try? YAMLDocument.read(facts.schema, file: facts.key))?.entries ?? []
        return .object([description] + schema.map { ($0.key.text ?? "", $0.value) })
    }
}

extension ConfigurationNode {
    fileprivate static func make(_ content: Content) -> ConfigurationNode {
        ConfigurationNode(content, at: Position(line: 1, column: 1))
    }
    fileprivate static func text(_ text: String) -> ConfigurationNode { make(.scalar(text, isPlain: false)) }
    fileprivate static func plain(_ text: String) -> ConfigurationNode { make(.scalar(text, isPlain: true)) }
    fileprivate static func array(_ items: [ConfigurationNode]) -> ConfigurationNode { make(.sequence(items)) }
    fileprivate static func object(_ entries: [(String, ConfigurationNode)]) -> ConfigurationNode {
        make(.mapping(entries.map { Entry(key: .text($0.0), value: $0.1) }))
    }

    fileprivate func replacing(_ key: String, with change: (ConfigurationNode) -> ConfigurationNode)
        -> ConfigurationNode
    {
        .object((entries ?? []).map { ($0.key.text ?? "", $0.key.text == key ? change($0.value) : $0.value) })
    }

    /// Returns the JSON text of the tree: on one line where that has at most 160 characters.
    fileprivate func json(indent: String) -> String {
        let inner = indent + "  "
        var parts: [String]
        switch content {
        case .scalar(let text, let isPlain): return isPlain ? text : Self.quoted(text)
        case .sequence(let items): parts = items.map { $0.json(indent: inner) }
        case .mapping(let entries):
            parts = entries.map { "\(Self.quoted($0.key.text ?? "")): \($0.value.json(indent: inner))" }
        }
        let isList = items != nil
        if parts.isEmpty { return isList ? "[]" : "{}" }
        let line = parts.joined(separator: ", ")
        if !line.contains("\n"), indent.count + line.count <= 160 { return isList ? "[\(line)]" : "{ \(line) }" }
        let lines = parts.map { inner + $0 }.joined(separator: ",\n")
        return "\(isList ? "[" : "{")\n\(lines)\n\(indent)\(isList ? "]" : "}")"
    }

    private static func quoted(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}
#endif
