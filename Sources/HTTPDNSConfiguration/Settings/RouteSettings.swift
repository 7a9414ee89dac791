// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// The settings of a route.
extension HTTPDNSRoute {
    static let settings: [Setting<Self>] = [
        .init("providers", \.providers, providerNames).means("The providers to query, in this order."),
        .init("fallback", \.fallback, .words(["none": .off, "system": .system]))
            .means("The resolver for names that no provider resolves."),
        .init("families", \.families, .families).means("The address families that are queried."),
        .init("order", \.order, .cases()).means("The order of the providers."),
        .init("second_opinion", \.wantsSecondOpinion, .truth)
            .means("Whether another provider must confirm that a name does not exist."),
        .init("stale_limit", \.staleLimit, .cacheTime)
            .means("The time for which an expired answer is served, in place of `cache.stale_limit`."),
        .init("client_subnet", \.clientSubnet, subnet)
            .means("The network that providers see as the client's (RFC 7871)."),
        .init("https_records", \.usesHTTPSRecords, .truth).means("Whether HTTPS records are queried."),
        .init("allow", \.allowed, .blocks)
            .means("Blocks of addresses that may be dialed, in addition to those of `policy.allow`."),
        .init("only", \.only, .blocks).means("The only blocks of addresses that may be dialed."),
        .init("enabled", \.isEnabled, .truth).means("Whether the route is used; names go to the system without it."),
        .init("rollout", \.rollout, Rollout.form).means("The share of processes or keys for which the route is used."),
        .init("mode", \.mode, .cases())
            .means("The use of the providers' answers; with `shadow` they are only compared with the system's."),
        .init("connect_fallback", \.connectFallback, .truth)
            .means("Whether the system's addresses are tried after those of providers."),
    ]

    private static let subnet = SettingForm<HTTPDNSAddressBlock>("a network such as 203.0.113.0/24") {
        (text, _) throws(ValueMistake) in try AddressBlockText.parseSubnet(text)
    }

    private static let providerNames = SettingForm<[String]> { reader, node, path, _ in
        let known = reader.providers
        var names: [String] = []
        for node in reader.elements(of: node, path: path, "the names of providers, one or a list") ?? [] {
            let name = reader.value(of: node, path: path, "the name of a provider") { text throws(ValueMistake) in
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
                reader.mistakes.add("\(path): \(quoted(name)) is listed twice", at: node.position)
            }
            names.append(name)
        }
        return names
    }

    /// The names of the providers in ``action``.
    fileprivate var providers: [String] {
        get { if case .providers(let names, _) = action { names } else { [] } }
        set { action = .providers(newValue, fallback: fallback) }
    }
    fileprivate var fallback: Fallback {
        get { if case .providers(_, let fallback) = action { fallback } else { .off } }
        set { action = .providers(providers, fallback: newValue) }
    }
}

extension HTTPDNSRoute.Rollout {
    static let settings: [Setting<Self>] = [
        .init("percent", \.percent, percentForm).means("The share in percent."),
        .init("by", \.by, .cases()).means("The unit that is drawn for the rollout."),
    ]

    private static let percentForm = SettingForm<Double>("a number from 0 to 100, such as 25 or 0.5") {
        (text, _) throws(ValueMistake) in try PercentText.parse(text)
    }

    fileprivate static let form = SettingForm<Self>(settings, of: { Self(percent: 0) }, name: "a route's rollout") {
        reader,
        node,
        path,
        _ in
        if let text = node.text, !node.isEmpty {
            reader.mistakes.add(
                "\(path): found \(node.found); allowed: a mapping with the keys percent, by",
                at: node.position,
                hint: "write { percent: \(PercentText.digits(text) ?? "25") }"
            )
            return nil
        }
        let table = KeyTable("a route's rollout", settings)
        guard var fields = reader.fields(of: node, table, path: path) else { return nil }
        guard fields["percent"] != nil else {
            let hint = "write { percent: 25 }, or leave rollout out for all"
            reader.missing("percent", path, at: node.position, hint: hint)
            return nil
        }
        var rollout = Self(percent: 0)
        reader.read(settings[...], &fields, path: path, into: &rollout)
        return rollout
    }
}

extension SettingsReader {
    mutating func readRoutes(_ node: ConfigurationNode, path: String) -> [HTTPDNSRoute] {
        guard !node.isEmpty, let entries = entries(of: node, path: path, "a name, *.suffix or \"*\" for each route")
        else { return [] }
        var lines: [HTTPDNSRoute.Pattern: Position] = [:]
        return entries.compactMap { text, entry in
            let place = "\(path)[\(quoted(text))]"
            let pattern = value(of: entry.key, path: path, "a name, *.suffix or \"*\"") { text throws(ValueMistake) in
                try HostKeyText.parseRoute(text)
            }
            guard let pattern else {
                // The key is invalid, but the settings below it can still be checked.
                _ = readRoute(.any, entry, path: place)
                return nil
            }
            if let first = lines[pattern] {
                mistakes.add(
                    "\(place) is the same name as on line \(first.line): \(pattern)",
                    at: entry.key.position,
                    hint: "keep one of them"
                )
                return nil
            }
            lines[pattern] = entry.key.position
            return readRoute(pattern, entry, path: place)
        }
    }

    private mutating func readRoute(
        _ pattern: HTTPDNSRoute.Pattern,
        _ entry: ConfigurationNode.Entry,
        path: String
    ) -> HTTPDNSRoute? {
        let node = entry.value
        let settings = HTTPDNSRoute.settings
        if node.text == "system" { return HTTPDNSRoute(pattern, .system, location: location(entry.key)) }
        guard case .mapping = node.content, var fields = fields(of: node, KeyTable("a route", settings), path: path)
        else {
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
        var route = HTTPDNSRoute(pattern, .providers([], fallback: .off), location: location(entry.key))
        let isComplete = fields["providers"] != nil
        if isComplete, let refusal = pattern.zone?.refusalOfRules {
            mistakes.add("\(path): \(refusal)", at: entry.key.position)
        } else if isComplete, case .suffix(let zone) = pattern, let below = try? HTTPDNSName("a.\(zone)"),
            below.isInternal
        {
            mistakes.add(
                "\(path): names below \(zone) are internal and go to no provider unless a route names them exactly",
                at: entry.key.position,
                hint: "name them one by one, or write system"
            )
        }
        // Without providers the others are of no use.
        read(isComplete ? settings[...] : settings[1...2], &fields, path: path, into: &route)
        guard isComplete else {
            missing("providers", path, at: entry.key.position, hint: "write { providers: [NAME] } or system")
            return nil
        }
        if route.wantsSecondOpinion, route.providers.count == 1 {
            mistakes.add(
                "\(path).second_opinion: there is one provider, and a second opinion needs another",
                at: fields["second_opinion"]?.position,
                hint: "name two providers, or leave second_opinion out"
            )
        }
        return route
    }
}
