// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if SwiftConfiguration && YAML
import HTTPDNSConfiguration
import Testing

/// A key of the schema that is a single value or a list of them.
struct SchemaKey: Sendable, CustomTestStringConvertible {
    let name: String
    let isList: Bool
    /// A value that the schema allows.
    let value: String

    var path: [String] { name.split(separator: ".").map(String.init) }
    var testDescription: String { name }

    /// The keys below the root of a schema, without those that only a file has.
    static func all(of root: ConfigurationNode) -> [SchemaKey] {
        var walk = SchemaWalk(root: root)
        walk.visit(root, [])
        return walk.keys
    }
}

/// The walk through the properties of a schema.
private struct SchemaWalk {
    let root: ConfigurationNode
    var keys: [SchemaKey] = []

    /// Values where the schema's pattern is too hard to fulfill, or where the first choice would be the default.
    private static let values = [
        "enabled": "false", "cache.refresh_ahead": "false", "client.connections.loops": "3",
        "client.trust.maximum_version": "1.2", "client.maximum_response_body": "1MiB",
        "client.bandwidth.receiving": "1MiB", "client.bandwidth.sending": "1MiB",
        "cache.snapshot.file": "/tmp/snapshot", "client.cookies.file": "/tmp/cookies", "client.local_source": "eth0",
        "client.trust.pins": "YhKJKSzoTt2b5FP18fvpHo7fJYqQCjAa3HWY3tvRMwE=", "client.trust.curves": "X25519",
        "client.trust.ciphers": "ECDHE-RSA-AES256-GCM-SHA384", "client.trust.ciphers_tls13": "TLS_AES_256_GCM_SHA384",
        "client.proxy.except": "corp.example", "cache.preresolve": "a.example",
        "resolver.internal_zones": "corp.example",
        "policy.allow": "10.0.0.0/8", "policy.deny": "10.0.0.0/8", "client.redirects.secret_fields": "X-Tenant-Token",
        "client.redirects.cross_origin_fields": "X-Tenant-Token",
    ]
    /// Values of definitions.
    private static let definitions = [
        "duration": "31s", "limit": "31s", "bytes": "1MiB", "path": "/dev/null", "truth": "true",
    ]

    /// The paths that sources other than files have.
    private static let names = FileSettings.facts.names { _ in true }

    mutating func visit(_ node: ConfigurationNode, _ path: [String]) {
        let name = path.joined(separator: ".")
        if !path.isEmpty, !Self.names.contains(name) { return }
        let forms = forms(of: node)
        for form in forms {
            for entry in form["properties"]?.entries ?? [] { visit(entry.value, path + [entry.key.text ?? ""]) }
        }
        let isList = forms.contains { $0["type"]?.text == "array" }
        let value = Self.values[name] ?? forms.compactMap(sample).first
        if let value { keys.append(SchemaKey(name: name, isList: isList, value: value)) }
    }

    /// Returns the alternatives of a schema.
    private func forms(of node: ConfigurationNode) -> [ConfigurationNode] {
        if let reference = node["$ref"]?.text {
            let name = String(reference.dropFirst("#/$defs/".count))
            // A sample of the definition is known: it is a form by itself.
            guard Self.definitions[name] == nil, let target = root["$defs"]?[name] else { return [node] }
            return forms(of: target)
        }
        return (node["anyOf"]?.items).map { $0.flatMap(forms) } ?? [node]
    }

    /// Returns a value that a schema allows, preferably not the first word, which is often the default; nil for a mapping or list.
    private func sample(_ node: ConfigurationNode) -> String? {
        if let reference = node["$ref"]?.text { return Self.definitions[String(reference.dropFirst("#/$defs/".count))] }
        if let words = node["enum"]?.items { return words.last { !$0.isEmpty }?.text }
        if let word = node["const"]?.text { return word }
        switch node["type"]?.text {
        case "integer": return (node["minimum"]?.text).flatMap(Int.init).map { "\($0 + 1)" }
        case "string": return node["pattern"] == nil ? "/dev/null" : "http://192.0.2.1:3128"
        default: return nil
        }
    }
}
#endif
