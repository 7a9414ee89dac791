// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSConfiguration

#if YAML
/// Checks a tree against the keywords of JSON Schema 2020-12 that our schema uses; any other keyword is an error.
struct SchemaValidator {
    private struct Trouble: Error { var text: String }

    let root: ConfigurationNode

    /// Why the tree does not fit the schema; nil when it does.
    func whyNot(_ node: ConfigurationNode) throws -> String? { try whyNot(node, root, at: "#") }

    private func whyNot(_ node: ConfigurationNode, _ schema: ConfigurationNode, at path: String) throws -> String? {
        guard case .mapping(let keywords) = schema.content else { throw Trouble(text: "no schema at \(path)") }
        for keyword in keywords {
            if let reason = try whyNot(node, keyword.key.text ?? "", keyword.value, schema, at: path) {
                return reason
            }
        }
        return nil
    }

    private func whyNot(
        _ node: ConfigurationNode,
        _ keyword: String,
        _ value: ConfigurationNode,
        _ schema: ConfigurationNode,
        at path: String
    ) throws -> String? {
        let failure = "\(path): \(keyword) \(value.found) against \(node.found)"
        switch keyword {
        case "$schema", "title", "description", "$defs":
            return nil
        case "$ref":
            let name = String((value.text ?? "").dropFirst("#/$defs/".count))
            guard let target = root["$defs"]?[name] else { throw Trouble(text: "no definition \(name)") }
            return try whyNot(node, target, at: path)
        case "type":
            let types = value.items ?? [value]
            return types.contains { node.isOf(type: $0.text ?? "") } ? nil : failure
        case "enum":
            return (value.items ?? []).contains { $0.isSameScalar(as: node) } ? nil : failure
        case "const":
            return value.isSameScalar(as: node) ? nil : failure
        case "anyOf":
            let reasons = try (value.items ?? []).map { try whyNot(node, $0, at: path) }
            return reasons.contains(nil) ? nil : reasons.compactMap { $0 }.joined(separator: "; ")
        case "required":
            guard node.entries != nil else { return nil }
            return (value.items ?? []).allSatisfy { node[$0.text ?? ""] != nil } ? nil : failure
        case "dependentRequired":
            return (value.entries ?? []).allSatisfy { entry in
                node[entry.key.text ?? ""] == nil
                    || (entry.value.items ?? []).allSatisfy { node[$0.text ?? ""] != nil }
            } ? nil : failure
        case "properties":
            for entry in node.entries ?? [] {
                if let part = value[entry.key.text ?? ""],
                    let reason = try whyNot(entry.value, part, at: "\(path)/\(entry.key.text ?? "")")
                {
                    return reason
                }
            }
            return nil
        case "additionalProperties":
            let known = schema["properties"]
            for entry in node.entries ?? [] where known?[entry.key.text ?? ""] == nil {
                if value.text == "false" { return "\(failure): \(entry.key.found)" }
                if let reason = try whyNot(entry.value, value, at: "\(path)/\(entry.key.text ?? "")") {
                    return reason
                }
            }
            return nil
        case "propertyNames":
            for entry in node.entries ?? [] {
                let name = ConfigurationNode(.scalar(entry.key.text ?? "", isPlain: false), at: entry.key.position)
                if let reason = try whyNot(name, value, at: "\(path)/(key)") { return reason }
            }
            return nil
        case "minProperties":
            return (node.entries?.count ?? .max) >= Int(value.text ?? "") ?? 0 ? nil : failure
        case "items":
            for item in node.items ?? [] {
                if let reason = try whyNot(item, value, at: "\(path)/(item)") { return reason }
            }
            return nil
        case "minItems":
            return (node.items?.count ?? .max) >= Int(value.text ?? "") ?? 0 ? nil : failure
        case "maxItems":
            return (node.items?.count ?? 0) <= Int(value.text ?? "") ?? 0 ? nil : failure
        case "uniqueItems":
            let texts = (node.items ?? []).compactMap(\.text)
            return Set(texts).count == texts.count ? nil : failure
        case "pattern":
            guard node.isOf(type: "string"), let text = node.text else { return nil }
            return try text.firstMatch(of: Regex(value.text ?? "")) == nil ? failure : nil
        case "minLength":
            return !node.isOf(type: "string") || (node.text ?? "").count >= Int(value.text ?? "") ?? 0
                ? nil : failure
        case "minimum":
            guard let number = Int(node.text ?? "") else { return nil }
            return number >= Int(value.text ?? "") ?? 0 ? nil : failure
        case "maximum":
            guard let number = Int(node.text ?? "") else { return nil }
            return number <= Int(value.text ?? "") ?? 0 ? nil : failure
        default:
            throw Trouble(text: "unknown keyword \(keyword) at \(path)")
        }
    }
}

extension ConfigurationNode {
    var entries: [Entry]? { if case .mapping(let entries) = content { entries } else { nil } }
    var items: [ConfigurationNode]? { if case .sequence(let items) = content { items } else { nil } }

    subscript(key: String) -> ConfigurationNode? { entries?.first { $0.key.text == key }?.value }

    /// The type that an editor sees by the core schema of YAML 1.2.
    fileprivate func isOf(type: String) -> Bool {
        guard case .scalar(let text, let isPlain) = content else {
            return entries == nil ? type == "array" : type == "object"
        }
        guard isPlain else { return type == "string" }
        if isEmpty { return type == "null" }
        if text == "true" || text == "false" { return type == "boolean" }
        if text.wholeMatch(of: /[-+]?[0-9]+/) != nil { return type == "integer" || type == "number" }
        if text.wholeMatch(of: /[-+]?[0-9]+\.[0-9]*/) != nil { return type == "number" }
        return type == "string"
    }

    fileprivate func isSameScalar(as other: ConfigurationNode) -> Bool {
        ["string", "integer", "number", "boolean", "null"].allSatisfy { isOf(type: $0) == other.isOf(type: $0) }
            && text != nil && text == other.text
    }
}
#endif
