// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// The settings of a route.
extension HTTPDNSRoute {
    fileprivate static let settings: [Setting<Self>] = [
        .init("providers", \.providers, providerNames).means("The providers to query, in this order.")
            .required("write { providers: [NAME] } or system", end: .none),
        .init("fallback", \.fallback, .words(["none": .off, "system": .system]))
            .means("The resolver for names that no provider resolves; see [fallback](#fallback)."),
        .init("families", \.families, .families)
            .means("The address families that are queried, in place of those of `resolver`."),
        .init("order", \.order, .cases())
            .means("The order of the providers: as written with failing ones last, or by the lowest recent latency."),
        .init("second_opinion", \.wantsSecondOpinion, .truth)
            .means("Whether another provider must confirm that a name has [no addresses](#negative-answers)."),
        .init("stale_limit", \.staleLimit, .cacheTime)
            .means("The time for which an expired answer is served, in place of `cache.stale_limit`."),
        .init("ttl", \.self, section: timesToLive)
            .means("The limits for times to live of its answers, in place of `cache.ttl`."),
        .init("negative_ttl", \.negativeTimeToLive, .limit(.seconds(1)...(.seconds(300))))
            .means("The maximum lifetime of a [negative answer](#negative-answers). Without it 300 s."),
        .init("search", \.search, searchForm)
            .means("The zones of the [search list](#search-lists), for providers of kind `dns` alone."),
        .init("ndots", \.ndots, .number(0...15))
            .means("The number of dots from which a name is looked up as it is first. Without it the file's, or 1."),
        .init("client_subnet", \.clientSubnet, subnet)
            .means("The network that providers and their upstream servers see as the client's (RFC 7871)."),
        .init("https_records", \.usesHTTPSRecords, .truth)
            .means("Whether [HTTPS records](Architecture/Resolver.md#https-records) are queried and followed."),
        .init("allow", \.allowed, .blocks)
            .means("Blocks of addresses that may be dialed, in addition to those of `policy.allow`."),
        .init("only", \.only, .blocks).means("The only blocks of addresses that may be dialed."),
        .init("enabled", \.isEnabled, .truth)
            .means("Whether the route is used. Otherwise its names go to the system resolver, past mappings too."),
        .init("rollout", \.rollout, Rollout.form).means("The share of processes or keys for which the route is used."),
        .init("mode", \.mode, .cases())
            .means("The use of the providers' answers; with `shadow` they are only compared with the system's."),
        .init("connect_fallback", \.connectFallback, .truth)
            .means(
                "Whether the system resolver is asked when no address of a provider accepts a connection. "
                    + "Without it as with `fallback`."
            ),
    ]

    private static let timesToLive: [Setting<Self>] = [
        .init("min", \.minimumTimeToLive, .cacheTime).means("The minimum time to live."),
        .init("max", \.maximumTimeToLive, .cacheTime).means("The maximum time to live."),
    ]

    /// Zones, `resolv.conf`, or its path.
    private static let searchForm = SettingForm<HTTPDNSSearchList> { _ in
        SettingFacts(values: "`resolv.conf`, its path, or names of zones")
    } read: { reader, node, path, _ in
        if let text = node.text, text == "resolv.conf" || text.hasPrefix("/") {
            return HTTPDNSSearchList(.file(text == "resolv.conf" ? "/etc/resolv.conf" : text))
        }
        return SettingForm<[HTTPDNSName]>.names.read(&reader, node, path, nil).map { HTTPDNSSearchList(.names($0)) }
    }

    fileprivate var ndots: Int? {
        get { search?.dots }
        set { search?.dots = newValue }
    }

    private static let subnet = SettingForm<HTTPDNSAddressBlock>(
        "a network such as 203.0.113.0/24",
        values: "a network such as `203.0.113.0/24`, at most /24 or /56"
    ) {
        (text, _) throws(ValueMistake) in try AddressBlockText.parseSubnet(text)
    }

    private static let providerNames = SettingForm<[String]>.list(
        of: providerName,
        "the names of providers, one or a list",
        twice: { name, _ in "\(quoted(name)) is listed twice" }
    )

    private static let providerName = SettingForm<String> { _ in
        SettingFacts(values: "names of providers")
    } read: { reader, node, path, _ in
        let known = reader.providers
        return reader.value(of: node, path: path, "the name of a provider") { text throws(ValueMistake) in
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
    private static let settings: [Setting<Self>] = [
        .init("percent", \.percent, percentForm).means(
            "The share of queries that use the route; the others go to the system resolver."
        )
        .required("write { percent: 25 }, or leave rollout out for all"),
        .init("by", \.by, .cases()).means(
            "The unit that decides: the process, or the key of the request (else its host name)."
        ),
    ]

    private static let percentForm = SettingForm<Double>(
        "a number from 0 to 100, such as 25 or 0.5",
        values: "0 to 100, at most two decimals"
    ) {
        (text, _) throws(ValueMistake) in try PercentText.parse(text)
    }

    fileprivate static let form = SettingForm<Self>.section(
        settings,
        name: "a route's rollout",
        textHint: { "write { percent: \(PercentText.digits($0) ?? "25") }" },
        start: { _ in Self(percent: 0) }
    )
}

extension SettingForm<[HTTPDNSRoute]> {
    static let routes = SettingForm(
        entries: [.mapping("a route", HTTPDNSRoute.settings, of: HTTPDNSRoute(.any, .system))]
    ) { reader, node, path, _ in
        if node.isEmpty { return nil }
        let entries = reader.entries(of: node, path: path, "a name, *.suffix or \"*\" for each route")
        var lines: [HTTPDNSRoute.Pattern: Position] = [:]
        return entries?.compactMap { entry in
            let allowed = "a name, *.suffix or \"*\""
            let pattern = reader.value(of: entry.key, path: path, allowed, HostKeyText.parseRoute)
            if let pattern, !reader.isFirst(pattern, entry, in: &lines) { return nil }
            // The settings below an invalid key can still be checked.
            return HTTPDNSRoute.read(&reader, pattern ?? .any, entry)
        }
    }
}

extension HTTPDNSRoute {
    fileprivate static func read(
        _ reader: inout SettingsReader,
        _ pattern: Pattern,
        _ entry: SettingsReader.NamedEntry
    ) -> HTTPDNSRoute? {
        let (node, path, position) = (entry.value, entry.place, entry.key.position)
        if node.text == "system" { return HTTPDNSRoute(pattern, .system, location: reader.location(entry.key)) }
        guard node.isMapping,
            var fields = reader.fields(of: node, KeyTable("a route", settings), path: path)
        else {
            var hint: String?
            if let text = node.text {
                hint =
                    reader.providers.contains(text)
                    ? "write { providers: [\(text)] }"
                    : nearestWord(to: text, in: ["system"]).map { "did you mean \($0)?" }
            } else if case .sequence = node.content {
                hint = "write { providers: [...] }"
            }
            reader.mistakes.add(
                "\(path): found \(node.found); allowed: system or { providers: [NAME], fallback: none|system }",
                at: node.position,
                hint: hint
            )
            return nil
        }
        var route = HTTPDNSRoute(pattern, .providers([], fallback: .off), location: reader.location(entry.key))
        guard fields["providers"] != nil else {
            // Without providers the others are of no use.
            fields.position = position
            reader.read(settings[...2], &fields, path: path, into: &route)
            return nil
        }
        if let refusal = pattern.zone?.refusalOfRules {
            reader.mistakes.add("\(path): \(refusal)", at: position)
        }
        reader.read(settings, &fields, path: path, into: &route)
        if case .suffix(let zone) = pattern, (try? HTTPDNSName("a.\(zone)"))?.isInternal == true,
            !reader.nameServers.isSuperset(of: route.providers)
        {
            reader.mistakes.add(
                "\(path): names below \(zone) are internal and go to no provider but kind dns unless a route names them exactly",
                at: position,
                hint: "name them one by one, or write system"
            )
        }
        if let node = fields["ndots"], fields["search"] == nil {
            reader.mistakes.add(
                "\(path).ndots: there is no search list whose use it could change",
                at: node.position,
                hint: "write search: resolv.conf, or leave ndots out"
            )
        }
        if let other = route.providers.first(where: { !reader.nameServers.contains($0) }), let node = fields["search"] {
            reader.mistakes.add(
                "\(path).search: a search list is for name servers alone, and \(quoted(other)) is no provider of kind dns",
                at: node.position,
                hint: "leave search out, or name providers of kind dns alone"
            )
        }
        if let least = route.minimumTimeToLive, let most = route.maximumTimeToLive, least > most {
            reader.mistakes.add(
                "\(path).ttl: min (\(DurationText.write(least))) is above max (\(DurationText.write(most)))",
                at: fields["ttl"]?.position
            )
        }
        if route.wantsSecondOpinion, route.providers.count == 1 {
            reader.mistakes.add(
                "\(path).second_opinion: there is one provider, and a second opinion needs another",
                at: fields["second_opinion"]?.position,
                hint: "name two providers, or leave second_opinion out"
            )
        }
        return route
    }
}
