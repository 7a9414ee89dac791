// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSPrimitives

extension SettingsReader {
    mutating func readRoutes(_ node: ConfigurationNode, providers: [String]) -> [HTTPDNSRoute] {
        guard !node.isEmpty, let entries = entries(of: node, path: "routes", "a name, *.suffix or \"*\" for each route")
        else { return [] }
        var lines: [HTTPDNSRoute.Pattern: Position] = [:]
        return entries.compactMap { text, entry in
            let path = "routes[\(quoted(text))]"
            guard
                let pattern = value(
                    of: entry.key,
                    path: "routes",
                    "a name, *.suffix or \"*\"",
                    { text throws(ValueMistake) in
                        try HostKeyText.parseRoute(text)
                    }
                )
            else {
                // The key is invalid, but the settings below it can still be checked.
                _ = readRoute(.any, entry, path: path, providers: providers)
                return nil
            }
            if let first = lines[pattern] {
                mistakes.add(
                    "\(path) is the same name as on line \(first.line): \(pattern)",
                    at: entry.key.position,
                    hint: "keep one of them"
                )
                return nil
            }
            lines[pattern] = entry.key.position
            return readRoute(pattern, entry, path: path, providers: providers)
        }
    }

    private mutating func readRoute(
        _ pattern: HTTPDNSRoute.Pattern,
        _ entry: ConfigurationNode.Entry,
        path: String,
        providers: [String]
    ) -> HTTPDNSRoute? {
        let node = entry.value
        if node.text == "system" { return HTTPDNSRoute(pattern, .system, location: location(entry.key)) }
        guard case .mapping = node.content, let fields = fields(of: node, .route, path: path) else {
            var hint: String?
            if let text = node.text {
                hint =
                    providers.contains(text)
                    ? "write { providers: [\(text)] }"
                    : nearestWord(to: text, in: ["system"]).map { "did you mean \($0)?" }
            } else if case .sequence = node.content {
                hint = "write { providers: [...] }"
            }
            mistakes.add(
                "\(path): found \(node.found); allowed: system or { providers: [NAME], fallback: none|system }",
                at: node.position,
                hint: hint
            )
            return nil
        }
        let fallback = fields["fallback"].flatMap { word(of: $0, .fallbacks, path: "\(path).fallback") }
        let families = fields["families"].flatMap { self.families(of: $0, path: "\(path).families") }
        guard let list = fields["providers"] else {
            mistakes.add(
                "\(path): the key \"providers\" is missing",
                at: entry.key.position,
                hint: "write { providers: [NAME] } or system"
            )
            return nil
        }
        if let refusal = pattern.zone?.refusalOfRules {
            mistakes.add("\(path): \(refusal)", at: entry.key.position)
        } else if case .suffix(let zone) = pattern, let below = try? HTTPDNSName("a.\(zone)"), below.isInternal {
            mistakes.add(
                "\(path): names below \(zone) are internal and go to no provider unless a route names them exactly",
                at: entry.key.position,
                hint: "name them one by one, or write system"
            )
        }
        let names = readProviderNames(list, path: "\(path).providers", known: providers)
        var route = HTTPDNSRoute(
            pattern,
            .providers(names, fallback: fallback.flatMap(HTTPDNSRoute.Fallback.init(rawValue:)) ?? .none),
            families: families,
            location: location(entry.key)
        )
        readAsking(fields, into: &route, path: path)
        readIntroduction(fields, into: &route, path: path)
        if route.wantsSecondOpinion, names.count == 1 {
            mistakes.add(
                "\(path).second_opinion: there is one provider, and a second opinion needs another",
                at: fields["second_opinion"]?.position,
                hint: "name two providers, or leave second_opinion out"
            )
        }
        return route
    }

    /// Reads the order of the providers' queries, and the allowed answers.
    private mutating func readAsking(_ fields: Fields, into route: inout HTTPDNSRoute, path: String) {
        if let node = fields["order"], let word = word(of: node, .orders, path: "\(path).order") {
            route.order = HTTPDNSRoute.Order(rawValue: word) ?? .given
        }
        if let node = fields["second_opinion"], let wants = truth(of: node, path: "\(path).second_opinion") {
            route.wantsSecondOpinion = wants
        }
        if let node = fields["https_records"], let uses = truth(of: node, path: "\(path).https_records") {
            route.usesHTTPSRecords = uses
        }
        route.staleLimit = fields["stale_limit"].flatMap {
            duration(of: $0, in: Self.cacheTimeToLive, path: "\(path).stale_limit")
        }
        route.clientSubnet = fields["client_subnet"].flatMap { node in
            value(of: node, path: "\(path).client_subnet", "a network such as 203.0.113.0/24") {
                text throws(ValueMistake) in try AddressBlockText.parseSubnet(text)
            }
        }
        if let node = fields["allow"] { route.allowed = blocks(of: node, path: "\(path).allow") }
        if let node = fields["only"] { route.only = blocks(of: node, path: "\(path).only") }
    }

    private mutating func readProviderNames(_ node: ConfigurationNode, path: String, known: [String]) -> [String] {
        var names: [String] = []
        for node in elements(of: node, path: path, "the names of providers, one or a list") ?? [] {
            let name = value(of: node, path: path, "the name of a provider") { text throws(ValueMistake) in
                guard !known.contains(text) else { return text }
                let allowed =
                    known.isEmpty ? "there are none in \"providers\"" : "known: \(known.joined(separator: ", "))"
                throw ValueMistake(
                    "no provider is called \(quoted(text)); \(allowed)",
                    hint: text == "system"
                        ? "for the system resolver write fallback: system, or system in place of the whole route"
                        : nearestWord(to: text, in: known).map { "did you mean \"\($0)\"?" }
                )
            }
            guard let name else { continue }
            if names.contains(name) {
                mistakes.add("\(path): \(quoted(name)) is listed twice", at: node.position)
            }
            names.append(name)
        }
        return names
    }
}

extension SettingsReader {
    /// Reads the extent to which a route is in use.
    mutating func readIntroduction(_ fields: Fields, into route: inout HTTPDNSRoute, path: String) {
        if let node = fields["enabled"], let isEnabled = truth(of: node, path: "\(path).enabled") {
            route.isEnabled = isEnabled
        }
        if let node = fields["mode"], let word = word(of: node, .modes, path: "\(path).mode") {
            route.mode = HTTPDNSRoute.Mode(rawValue: word) ?? .use
        }
        if let node = fields["connect_fallback"] {
            route.connectFallback = truth(of: node, path: "\(path).connect_fallback")
        }
        route.rollout = fields["rollout"].flatMap { readRollout($0, path: "\(path).rollout") }
    }

    private mutating func readRollout(_ node: ConfigurationNode, path: String) -> HTTPDNSRoute.Rollout? {
        if let text = node.text, !node.isEmpty {
            mistakes.add(
                "\(path): found \(node.found); allowed: a mapping with the keys percent, by",
                at: node.position,
                hint: "write { percent: \(PercentText.digits(text) ?? "25") }"
            )
            return nil
        }
        guard let fields = fields(of: node, .rollout, path: path) else { return nil }
        guard let percent = fields["percent"] else {
            mistakes.add(
                "\(path): the key \"percent\" is missing",
                at: node.position,
                hint: "write { percent: 25 }, or leave rollout out for all"
            )
            return nil
        }
        let share = value(of: percent, path: "\(path).percent", "a number from 0 to 100, such as 25 or 0.5") {
            text throws(ValueMistake) in try PercentText.parse(text)
        }
        let by = fields["by"].flatMap { word(of: $0, .stickiness, path: "\(path).by") }
        guard let share else { return nil }
        return HTTPDNSRoute.Rollout(
            percent: share,
            by: by.flatMap(HTTPDNSRoute.Rollout.Stickiness.init(rawValue:)) ?? .process
        )
    }
}
