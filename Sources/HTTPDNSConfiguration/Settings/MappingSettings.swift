// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// An entry of `mappings` with keys.
private struct MappingSettings {
    var action: HTTPDNSMapping.Action?
    var timeToLive: Duration?

    fileprivate static let settings: [Setting<Self>] = [
        .init("addresses", \.action, SettingForm<[HTTPDNSMapping.Target]>.targets.map { .addresses($0) })
            .means("The addresses to connect to, or addresses with their weights."),
        .init("via", \.action, .via).means("The name whose addresses are used."),
        .init("srv", \.action, .service).means(
            "The service, `_name._tcp.zone`, whose SRV records have addresses and ports."
        ),
        .init("ttl", \.timeToLive, .duration(.seconds(1)...(.seconds(7 * 24 * 3600))))
            .means("The time for which a resolution by this rule is used."),
        .init("last_resort", \.action, SettingForm<[HTTPDNSMapping.Target]>.targets.map { .lastResort($0) })
            .means("The addresses that serve when nothing else has one."),
    ]
    fileprivate static let table = KeyTable("a mapping", settings)

    fileprivate static func read(_ reader: inout SettingsReader, _ entry: SettingsReader.NamedEntry) -> HTTPDNSMapping?
    {
        let (node, path, location) = (entry.value, entry.place, reader.location(entry.key))
        if node.text == "system" { return HTTPDNSMapping(.system, location: location) }
        guard case .mapping(let entries) = node.content else {
            if let meant = node.text.flatMap({ nearestWord(to: $0, in: ["system"]) }) {
                reader.mistakes.add(
                    "\(path): \(node.found) is not an address",
                    at: node.position,
                    hint: "did you mean \(meant)?"
                )
                return nil
            }
            return reader.read(.targets, of: node, path: path).map {
                HTTPDNSMapping(.addresses($0), location: location)
            }
        }
        if let first = entries.first?.key, let text = first.text, TargetText.isAddress(text) {
            reader.mistakes.add(
                "\(path): found an address as a key; allowed: \(table.keys.joined(separator: ", "))",
                at: first.position,
                hint: "weights stand one level deeper: { addresses: { \(text): 95, ... } }"
            )
            return nil
        }
        guard var fields = reader.fields(of: node, table, path: path) else { return nil }
        var rule = MappingSettings()
        reader.read(settings.filter { $0.key == "ttl" }, &fields, path: path, into: &rule)
        var actions = ["last_resort", "addresses", "via", "srv"].filter { fields[$0] != nil }
        switch actions {
        case []:
            // If every key already has an error, a missing one needs no further error.
            guard !fields.values.isEmpty || entries.isEmpty else { break }
            reader.mistakes.add(
                "\(path) says none of \"addresses\", \"via\", \"srv\" and \"last_resort\"; allowed: one of them",
                at: entry.key.position
            )
        case _ where actions[0] != "last_resort" && actions.count > 1:
            reader.mistakes.add(
                "\(path) has both \"\(actions[0])\" and \"\(actions[1])\"; allowed: one of them",
                at: fields[actions[1]]?.position
            )
            actions = []
        case _ where actions[0] == "last_resort":
            for other in table.keys where other != "last_resort" {
                guard let node = fields[other] else { continue }
                reader.mistakes.add(
                    "\(path) has both \"last_resort\" and \"\(other)\"; allowed: last_resort alone",
                    at: node.position,
                    hint: other == "ttl" ? "last resorts are never cached" : nil
                )
            }
            actions = ["last_resort"]
        default: break
        }
        reader.read(settings.filter { actions.contains($0.key) }, &fields, path: path, into: &rule)
        return rule.action.map { HTTPDNSMapping($0, timeToLive: rule.timeToLive, location: location) }
    }
}

extension SettingForm<HTTPDNSMappings> {
    static let mappings = SettingForm(
        entries: [.mapping(MappingSettings.table.name, MappingSettings.settings, of: MappingSettings())]
    ) { reader, node, path, _ in
        guard !node.isEmpty,
            let entries = reader.entries(of: node, path: path, "a name or *.suffix for each rule")
        else { return nil }
        var rules: [HTTPDNSMapping.Key: HTTPDNSMapping] = [:]
        var keys: [HTTPDNSMapping.Key: Position] = [:]
        rules.reserveCapacity(entries.count)
        keys.reserveCapacity(entries.count)
        let allowed = "a name or *.suffix, either with :port"
        for entry in entries {
            WorkPace.pauseIfDue()
            let key = reader.value(of: entry.key, path: path, allowed, HostKeyText.parseMapping)
            // Most rules are one IPv4 address without a port.
            let target = entry.value.text.flatMap(TargetText.plainTarget)
            let rule =
                target.map { HTTPDNSMapping(.addresses([$0]), location: reader.location(entry.key)) }
                ?? MappingSettings.read(&reader, entry)
            if let key, reader.isFirst(key, entry, in: &keys) { rules[key] = rule }
        }
        return indexed(rules, keys, &reader)
    }

    /// Checks the rules together. The mappings themselves make the final check, so that no file passes here and fails when the
    /// client is created.
    private static func indexed(
        _ rules: [HTTPDNSMapping.Key: HTTPDNSMapping],
        _ keys: [HTTPDNSMapping.Key: Position],
        _ reader: inout SettingsReader
    ) -> HTTPDNSMappings? {
        let circles = ViaCircles.find(in: rules)
        for circle in circles {
            let names = (circle + [circle[0]]).map(\.description).joined(separator: " -> ")
            reader.mistakes.add(
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
            reader.mistakes.add("mappings[\(quoted(error.key))]: \(error.reason)", at: position)
            return nil
        }
    }
}

extension SettingForm<[HTTPDNSMapping.Target]> {
    fileprivate static let targets = SettingForm { reader, node, path, _ in
        let entries: [(node: ConfigurationNode, weight: ConfigurationNode?)]
        if case .mapping(let pairs) = node.content, !pairs.isEmpty {
            entries = pairs.map { ($0.key, $0.value) }
        } else {
            let nodes = reader.elements(of: node, path: path, "an address, a list of addresses, or system")
            guard let nodes else { return nil }
            entries = nodes.map { ($0, nil) }
        }
        var lines: [HTTPDNSMapping.Target: Position] = [:]
        var isGood = true
        let targets = entries.compactMap { node, weight -> HTTPDNSMapping.Target? in
            if case .mapping(let pairs) = node.content, pairs.first?.key.text == nil, !pairs.isEmpty {
                reader.mistakes.add(
                    "\(path): found a mapping; allowed: an address",
                    at: node.position,
                    hint: "put IPv6 with a port in quotes: \"[2001:db8::7]:8443\""
                )
                return nil
            }
            let target = reader.value(of: node, path: path, "an address", TargetText.parse)
            let share = weight.map { reader.read(.number(1...1_000_000), of: $0, path: "\(path)[\(node.found)]") }
            guard var target else { return nil }
            if entries.count > 1, let first = lines.updateValue(node.position, forKey: target) {
                reader.mistakes.add(
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
}

/// The keys of `via`.
private struct ViaSettings {
    private var host: HTTPDNSName?
    private var kept: [String] = []

    private static let settings: [Setting<Self>] = [
        .init("host", \.host, hostForm).means("The name whose addresses are used.")
            .required("write { host: NAME, keep: [host] }", end: .none),
        .init("keep", \.kept, keepForm).means("The parts of the request that keep its own name: the Host field."),
    ]

    private static let hostForm = SettingForm<HTTPDNSName>("a name") { (text, _) throws(ValueMistake) in
        try HostKeyText.parseName(text)
    }
    private static let keepForm = SettingForm<[String]> { reader, node, path, _ in
        let kept = reader.elements(of: node, path: path, "[host]")?
            .compactMap { reader.read(.words(["host"]), of: $0, path: path) }
        if let kept, kept.count > 1 { reader.mistakes.add("\(path): \"host\" is listed twice", at: node.position) }
        return kept
    }

    fileprivate static let form = SettingForm<HTTPDNSMapping.Action>.section(
        settings,
        name: "via",
        start: { _ in Self() },
        end: { $0.host.map { .via($0, usesTargetIdentity: true) } }
    ) { reader, via, fields, path in
        guard fields["keep"] == nil else { return }
        let name = via.host?.description ?? "NAME"
        reader.missing(
            "keep",
            path,
            at: fields.position,
            hint:
                "to keep URL, SNI and certificate write via: \(name); to keep the Host field alone add keep: [host]"
        )
    }
}

extension SettingForm<HTTPDNSMapping.Action> {
    fileprivate static let service = SettingForm(
        "the name of a service, such as _grpc._tcp.orders.example",
        values: "a name such as `_grpc._tcp.orders.example`"
    ) { (text, _) throws(ValueMistake) in
        let name = try HostKeyText.parseName(text)
        guard name.isService else {
            throw ValueMistake(
                "\(quoted(text)) is not the name of a service",
                hint: text.hasPrefix("_")
                    ? "write both labels, as in _grpc._tcp.orders.example" : "write _grpc._tcp.\(name)"
            )
        }
        return .via(name, usesTargetIdentity: false)
    }

    fileprivate static let via = SettingForm(facts: ViaSettings.form.facts) { reader, node, path, old in
        if node.isMapping { return ViaSettings.form.read(&reader, node, path, old) }
        return reader.value(of: node, path: path, "a name, or { host: NAME, keep: [host] }") {
            text throws(ValueMistake) in
            .via(try HostKeyText.parseName(text), usesTargetIdentity: false)
        }
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
