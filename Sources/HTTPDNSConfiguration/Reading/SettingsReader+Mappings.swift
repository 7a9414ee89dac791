// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSPrimitives

extension SettingsReader {
    mutating func readMappings(_ node: ConfigurationNode) -> HTTPDNSMappings? {
        guard !node.isEmpty, let entries = entries(of: node, path: "mappings", "a name or *.suffix for each rule")
        else { return nil }
        var rules: [HTTPDNSMapping.Key: HTTPDNSMapping] = [:]
        var keys: [HTTPDNSMapping.Key: Position] = [:]
        rules.reserveCapacity(entries.count)
        keys.reserveCapacity(entries.count)
        for (text, entry) in entries {
            WorkPace.pauseIfDue()
            let path = { "mappings[\(quoted(text))]" }
            let key = value(of: entry.key, path: "mappings", "a name or *.suffix, either with :port") {
                text throws(ValueMistake) in try HostKeyText.parseMapping(text)
            }
            let rule = plainRule(entry) ?? readMapping(entry, path: path())
            guard let key else { continue }
            if let first = keys.updateValue(entry.key.position, forKey: key) {
                keys[key] = first
                mistakes.add(
                    "\(path()) is the same name as on line \(first.line): \(key)",
                    at: entry.key.position,
                    hint: "keep one of them"
                )
                continue
            }
            rules[key] = rule
        }
        return indexed(rules, keys)
    }

    /// Checks the rules together. The mappings themselves make the final check, so that no file passes here and fails when the
    /// client is created.
    private mutating func indexed(
        _ rules: [HTTPDNSMapping.Key: HTTPDNSMapping],
        _ keys: [HTTPDNSMapping.Key: Position]
    ) -> HTTPDNSMappings? {
        let circles = ViaCircles.find(in: rules)
        for circle in circles {
            let names = (circle + [circle[0]]).map(\.description).joined(separator: " -> ")
            mistakes.add(
                "mappings: via leads in a circle: \(names)",
                at: keys[circle[0]],
                hint: "give one of them addresses"
            )
        }
        guard circles.isEmpty else { return nil }
        do {
            return try HTTPDNSMappings(rules)
        } catch {
            let position = keys.first { $0.key.description == error.key }?.value
            mistakes.add("mappings[\(quoted(error.key))]: \(error.reason)", at: position)
            return nil
        }
    }

    /// Returns the rule of an entry whose value is one IPv4 address without a port, as most are; nil for all others.
    private func plainRule(_ entry: ConfigurationNode.Entry) -> HTTPDNSMapping? {
        guard let text = entry.value.text, let target = TargetText.plainTarget(text) else { return nil }
        return HTTPDNSMapping(.addresses([target]), location: location(entry.key))
    }

    private mutating func readMapping(_ entry: ConfigurationNode.Entry, path: String) -> HTTPDNSMapping? {
        let node = entry.value
        if node.text == "system" { return HTTPDNSMapping(.system, location: location(entry.key)) }
        guard case .mapping = node.content else {
            if let meant = node.text.flatMap({ nearestWord(to: $0, in: ["system"]) }) {
                mistakes.add(
                    "\(path): \(node.found) is not an address",
                    at: node.position,
                    hint: "did you mean \(meant)?"
                )
                return nil
            }
            return readTargets(node, path: path).map { HTTPDNSMapping(.addresses($0), location: location(entry.key)) }
        }
        if case .mapping(let entries) = node.content, let first = entries.first?.key.text, TargetText.isAddress(first) {
            mistakes.add(
                "\(path): found an address as a key; allowed: \(KeyTable.mapping.keys.joined(separator: ", "))",
                at: entries[0].key.position,
                hint: "weights stand one level deeper: { addresses: { \(first): 95, ... } }"
            )
            return nil
        }
        guard let fields = fields(of: node, .mapping, path: path) else { return nil }
        let timeToLive = read(
            .duration(.seconds(1)...(.seconds(7 * 24 * 3600))),
            of: fields["ttl"],
            path: "\(path).ttl"
        )
        if let node = fields["last_resort"] {
            return readLastResort(node, beside: fields, path: path, at: entry.key)
        }
        switch (fields["addresses"], fields["via"]) {
        case (let addresses?, nil):
            guard let targets = readTargets(addresses, path: "\(path).addresses") else { return nil }
            return HTTPDNSMapping(.addresses(targets), timeToLive: timeToLive, location: location(entry.key))
        case (nil, let via?):
            guard let action = readVia(via, path: "\(path).via") else { return nil }
            return HTTPDNSMapping(action, timeToLive: timeToLive, location: location(entry.key))
        case (_?, let via?):
            mistakes.add("\(path) has both \"addresses\" and \"via\"; allowed: one of them", at: via.position)
        case (nil, nil):
            let isOnlyLater = node.isEmpty == false && fields.values.isEmpty
            // If every key already has an error, a missing one needs no further error.
            if !isOnlyLater || node.found == "an empty mapping" {
                mistakes.add(
                    "\(path) says none of \"addresses\", \"via\" and \"last_resort\"; allowed: one of them",
                    at: entry.key.position
                )
            }
        }
        return nil
    }

    private mutating func readLastResort(
        _ node: ConfigurationNode,
        beside fields: Fields,
        path: String,
        at key: ConfigurationNode
    ) -> HTTPDNSMapping? {
        for other in KeyTable.mapping.keys where other != "last_resort" {
            guard let node = fields[other] else { continue }
            mistakes.add(
                "\(path) has both \"last_resort\" and \"\(other)\"; allowed: last_resort alone",
                at: node.position,
                hint: other == "ttl" ? "last resorts are never cached" : nil
            )
        }
        return readTargets(node, path: "\(path).last_resort").map {
            HTTPDNSMapping(.lastResort($0), location: location(key))
        }
    }

    private mutating func readTargets(_ node: ConfigurationNode, path: String) -> [HTTPDNSMapping.Target]? {
        let entries: [(node: ConfigurationNode, weight: ConfigurationNode?)]
        if case .mapping(let pairs) = node.content, !pairs.isEmpty {
            entries = pairs.map { ($0.key, $0.value) }
        } else {
            guard let nodes = elements(of: node, path: path, "an address, a list of addresses, or system") else {
                return nil
            }
            entries = nodes.map { ($0, nil) }
        }
        var lines: [HTTPDNSMapping.Target: Position] = [:]
        var isGood = true
        let targets = entries.compactMap { node, weight -> HTTPDNSMapping.Target? in
            if case .mapping(let pairs) = node.content, pairs.first?.key.text == nil, !pairs.isEmpty {
                mistakes.add(
                    "\(path): found a mapping; allowed: an address",
                    at: node.position,
                    hint: "put IPv6 with a port in quotes: \"[2001:db8::7]:8443\""
                )
                return nil
            }
            let target = value(of: node, path: path, "an address") { text throws(ValueMistake) in
                try TargetText.parse(text)
            }
            let share = weight.map { read(.number(1...1_000_000), of: $0, path: "\(path)[\(node.found)]") }
            guard var target else { return nil }
            if entries.count > 1, let first = lines.updateValue(node.position, forKey: target) {
                mistakes.add(
                    "\(path): \(node.found) is listed twice: it is on line \(first.line) already",
                    at: node.position,
                    hint: "for a larger share use weights: { addresses: { ADDRESS: 2 } }"
                )
                isGood = false
            }
            if let share { target.weight = share ?? 1 }
            return target
        }
        return isGood && targets.count == entries.count ? targets : nil
    }

    private mutating func readVia(_ node: ConfigurationNode, path: String) -> HTTPDNSMapping.Action? {
        let parse = { (text: String) throws(ValueMistake) in try HostKeyText.parseName(text) }
        guard case .mapping = node.content else {
            return value(of: node, path: path, "a name, or { host: NAME, keep: [host] }", parse).map {
                .via($0, usesTargetIdentity: false)
            }
        }
        guard let fields = fields(of: node, .via, path: path) else { return nil }
        let kept = fields["keep"].flatMap { node in
            elements(of: node, path: "\(path).keep", "[host]")?
                .compactMap { read(.words(["host"]), of: $0, path: "\(path).keep") }
        }
        if let node = fields["keep"], let kept, kept.count > 1 {
            mistakes.add("\(path).keep: \"host\" is listed twice", at: node.position)
        }
        guard let host = fields["host"] else {
            missing("host", path, at: node.position, hint: "write { host: NAME, keep: [host] }")
            return nil
        }
        let name = value(of: host, path: "\(path).host", "a name", parse)
        guard fields["keep"] != nil else {
            missing(
                "keep",
                path,
                at: node.position,
                hint:
                    "to keep URL, SNI and certificate write via: \(name?.description ?? "NAME"); to keep the Host field alone add keep: [host]"
            )
            return nil
        }
        return name.map { .via($0, usesTargetIdentity: true) }
    }
}

/// Detection of `via` rules that lead back to themselves.
enum ViaCircles {
    /// Returns each circle once, as its names in order, beginning with the rule whose key is the smallest text.
    static func find(in rules: [HTTPDNSMapping.Key: HTTPDNSMapping]) -> [[HTTPDNSMapping.Key]] {
        let viaRules = rules.lazy.filter { target(of: $0.value) != nil }.map(\.key)
        // Two lists of the same file must not differ by the order of a dictionary.
        let starts = viaRules.map { (text: $0.description, key: $0) }.sorted { $0.text < $1.text }.map(\.key)
        var done: Set<Step> = []
        var found: Set<Set<HTTPDNSMapping.Key>> = []
        var circles: [[HTTPDNSMapping.Key]] = []
        for start in starts {
            var path: [Step] = []
            var places: [Step: Int] = [:]
            var step: Step? = Step(key: start, port: start.port)
            while let current = step, !done.contains(current) {
                if let place = places[current] {
                    let circle = path[place...].map(\.key)
                    if found.insert(Set(circle)).inserted { circles.append(circle) }
                    break
                }
                places[current] = path.count
                path.append(current)
                step = target(of: rules[current.key]).flatMap { next(for: $0, port: current.port, in: rules) }
            }
            done.formUnion(path)
        }
        return circles
    }

    /// A rule in the chain of a request to one port; nil means a port that no rule is about.
    private struct Step: Hashable {
        var key: HTTPDNSMapping.Key
        var port: UInt16?
    }

    private static func target(of rule: HTTPDNSMapping?) -> HTTPDNSName? {
        if case .via(let name, usesTargetIdentity: _)? = rule?.action { name } else { nil }
    }

    /// Returns the rule for a name, in the order of ``HTTPDNSMappings/rule(for:port:)``.
    private static func next(for name: HTTPDNSName, port: UInt16?, in rules: [HTTPDNSMapping.Key: HTTPDNSMapping])
        -> Step?
    {
        var patterns: [HTTPDNSRoute.Pattern] = [.exact(name)]
        var rest = name.description[...]
        while let dot = rest.firstIndex(of: ".") {
            rest = rest[rest.index(after: dot)...]
            guard let suffix = try? HTTPDNSName(String(rest)) else { break }
            patterns.append(.suffix(suffix))
        }
        for pattern in patterns {
            for key in [HTTPDNSMapping.Key(pattern, port: port), HTTPDNSMapping.Key(pattern)] where rules[key] != nil {
                return Step(key: key, port: port)
            }
        }
        return nil
    }
}
