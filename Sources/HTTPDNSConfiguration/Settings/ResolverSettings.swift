// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// The settings below `cache` and `resolver`.
extension HTTPDNSResolver.Configuration {
    static let cacheSettings: [Setting<Self>] = [
        .init("entries", \.cache.entries, .number(1...10_000_000))
            .means("The maximum number of cached names."),
        // Below 64 KiB not even the tables fit.
        .init("bytes", \.cache.bytes, .bytes((64 << 10)...(1 << 40), such: "8MiB"))
            .means("The most bytes of the cache."),
        .init("ttl", \.cache, section: Cache.timesToLive)
            .means("The limits for times to live."),
        .init("stale_limit", \.cache.staleLimit, .cacheTime)
            .means("The time for which an expired answer is served while no newer one is available; `0s` disables it."),
        // RFC 8767 section 5 recommends 1.8 s, and no caller waits a minute.
        .init("stale_after", \.cache.staleAfter, .duration(.zero...(.seconds(60))))
            .means("The wait for a new answer before a stale one is served."),
        .init("refresh_ahead", \.cache.refreshesAhead, .truth)
            .means("Whether names in use are refreshed shortly before their answers expire."),
        // Only names in use are refreshed: the only allowed word is the actual behavior.
        .init("refresh_idle_names", only: .words(["false": false], unquoted: ["false"], later: ["true"]))
            .means("Whether names without queries are refreshed: they never are."),
        .init("preresolve", \.preresolve, .names)
            .means("Names that are resolved at start."),
        .init("snapshot", \.snapshotPath, .snapshot)
            .means("The file in which the cache survives a restart."),
    ]

    static let settings: [Setting<Self>] = [
        .init("families", \.families, .families)
            .means(
                "The address families that are queried. Without it IPv6 only while the machine has a route to IPv6 addresses."
            ),
        .init("internal_zones", \.internalZones, .names)
            .means("Zones whose names are sent to no provider unless a route names them or their zone."),
        .init("hedge_after", \.hedgeAfter, .duration(.zero...(.seconds(60))))
            .means("The minimum wait for one provider before the next one is queried too."),
        .init("attempt_limit", \.attemptLimit, .queryTime)
            .means("The time limit of one query to one provider."),
        .init("time_limit", \.timeLimit, .queryTime)
            .means("The time limit of one resolution with all its queries."),
        // Each has a stack of 512 KiB.
        .init("system_threads", \.systemThreads, .number(1...HTTPDNSResolver.Configuration.maximumSystemThreads))
            .means("The number of concurrent lookups by the system resolver before more of them wait."),
    ]
}

extension HTTPDNSResolver.Configuration.Cache {
    fileprivate static let timesToLive: [Setting<Self>] = [
        .init("min", \.minimumTimeToLive, .cacheTime).means("The minimum time to live."),
        .init("max", \.maximumTimeToLive, .cacheTime).means("The maximum time to live."),
        .init("system", \.systemTimeToLive, .cacheTime).means("The lifetime of the system resolver's addresses."),
    ]
}

extension SettingForm<Duration> {
    /// RFC 8767 section 4 recommends caps of days, as here.
    static let cacheTime = duration(.zero...(.seconds(7 * 24 * 3600)))
    /// Callers have given up long before ten minutes.
    fileprivate static let queryTime = duration(.milliseconds(1)...(.seconds(600)))
}

extension SettingForm<HTTPDNSResolver.Configuration> {
    static let resolver = section(Value.settings, start: { $0 ?? Value() }) { reader, resolver, fields, path in
        let (attempt, total) = (resolver.attemptLimit, resolver.timeLimit)
        if let node = fields["attempt_limit"], fields["time_limit"] != nil, attempt > total,
            fields.bad.isDisjoint(with: ["attempt_limit", "time_limit"])
        {
            reader.mistakes.add(
                "\(path): attempt_limit (\(DurationText.write(attempt))) is above time_limit (\(DurationText.write(total)))",
                at: node.position,
                hint: "one query is never waited for longer than time_limit"
            )
        }
    }

    static let cache = section(Value.cacheSettings, start: { $0 ?? Value() }) { reader, resolver, fields, path in
        let cache = resolver.cache
        if let node = fields["ttl"], cache.minimumTimeToLive > cache.maximumTimeToLive {
            let low = DurationText.write(cache.minimumTimeToLive)
            let high = DurationText.write(cache.maximumTimeToLive)
            reader.mistakes.add(
                "\(path).ttl: min (\(low)) is above max (\(high)\(node.hasKey("max") ? "" : ", the default"))",
                at: node.position
            )
        }
    }
}

extension SettingForm<String> {
    private static let snapshotSettings: [Setting<String>] = [
        .init("file", \.self, .writableFile).means("The file in which the cache survives a restart.")
            .required("write { file: PATH }, or leave snapshot out")
    ]

    fileprivate static let snapshot: SettingForm = {
        let form = section(snapshotSettings, textHint: { "write { file: \($0) }" }, start: { _ in "" })
        return SettingForm(facts: form.facts) { $1.isEmpty ? nil : form.read(&$0, $1, $2, $3) }
    }()
}

extension ConfigurationNode {
    /// Returns the text of a key's value; nil for another value, and without the key.
    func text(of key: String) -> String? {
        guard case .mapping(let entries) = content else { return nil }
        return entries.first { $0.key.text == key }?.value.text
    }

    fileprivate func hasKey(_ key: String) -> Bool {
        guard case .mapping(let entries) = content else { return false }
        return entries.contains { $0.key.text == key }
    }
}
