// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSPrimitives

extension SettingsReader {
    /// The limits for the wait for one provider before the next one is queried too; zero queries it immediately.
    package static let hedging: ClosedRange<Duration> = .zero...(.seconds(60))
    /// The limits for the time of one query, and of one resolution. Callers have given up long before ten minutes.
    package static let resolving: ClosedRange<Duration> = .milliseconds(1)...(.seconds(600))
    /// The limits for the threads of the system path. Each has a stack of 512 KiB.
    package static let systemThreads = 1...HTTPDNSResolver.Configuration.maximumSystemThreads

    mutating func readResolver(_ node: ConfigurationNode, into settings: inout FileSettings) {
        guard let fields = fields(of: node, .resolver, path: "resolver") else { return }
        settings.families = fields["families"].flatMap { families(of: $0, path: "resolver.families") }
        if let node = fields["internal_zones"] {
            settings.internalZones = readNames(node, path: "resolver.internal_zones")
        }
        settings.hedgeAfter = fields["hedge_after"].flatMap {
            duration(of: $0, in: Self.hedging, path: "resolver.hedge_after")
        }
        settings.attemptLimit = fields["attempt_limit"].flatMap {
            duration(of: $0, in: Self.resolving, path: "resolver.attempt_limit")
        }
        settings.timeLimit = fields["time_limit"].flatMap {
            duration(of: $0, in: Self.resolving, path: "resolver.time_limit")
        }
        settings.systemThreads = fields["system_threads"].flatMap {
            number(of: $0, in: Self.systemThreads, path: "resolver.system_threads")
        }
        if let attempt = settings.attemptLimit, let total = settings.timeLimit, attempt > total {
            mistakes.add(
                "resolver: attempt_limit (\(DurationText.write(attempt))) is above time_limit (\(DurationText.write(total)))",
                at: fields["attempt_limit"]?.position,
                hint: "one query is never waited for longer than time_limit"
            )
        }
    }
}

extension SettingsReader {
    /// The limits for the number of names in the cache; at 200 bytes a name the upper one is 2 GB.
    package static let cacheEntries = 1...10_000_000
    /// The limits for the cache's times to live and stale times. RFC 8767 section 4 recommends caps of days, as here.
    package static let cacheTimeToLive: ClosedRange<Duration> = .zero...(.seconds(7 * 24 * 3600))
    /// The limits for the wait before a stale answer is served. RFC 8767 section 5 recommends 1.8 s, and no caller waits a
    /// minute.
    package static let staleAfter: ClosedRange<Duration> = .zero...(.seconds(60))
    /// The limits for the cache's bytes: below 64 KiB not even the tables fit.
    package static let cacheBytes = (64 << 10)...(1 << 40)

    mutating func readCache(_ node: ConfigurationNode, into settings: inout FileSettings) {
        guard let fields = fields(of: node, .cache, path: "cache") else { return }
        if let node = fields["entries"], let entries = number(of: node, in: Self.cacheEntries, path: "cache.entries") {
            settings.cache.entries = entries
        }
        if let node = fields["bytes"] {
            let bytes = value(of: node, path: "cache.bytes", "a byte count such as 8MiB") {
                text throws(ValueMistake) in try ByteCountText.parse(text, in: Self.cacheBytes)
            }
            if let bytes { settings.cache.bytes = .bytes(bytes) }
        }
        if let node = fields["ttl"] { readTimeToLive(node, into: &settings.cache) }
        if let node = fields["stale_limit"],
            let limit = duration(of: node, in: Self.cacheTimeToLive, path: "cache.stale_limit")
        {
            settings.cache.staleLimit = limit
        }
        if let node = fields["stale_after"],
            let wait = duration(of: node, in: Self.staleAfter, path: "cache.stale_after")
        {
            settings.cache.staleAfter = wait
        }
        if let node = fields["refresh_ahead"], let refreshes = truth(of: node, path: "cache.refresh_ahead") {
            settings.cache.refreshesAhead = refreshes
        }
        if let node = fields["refresh_idle_names"] {
            // Only names in use are refreshed: the only allowed word is the actual behavior.
            _ = word(of: node, .idleRefresh, path: "cache.refresh_idle_names")
        }
        if let node = fields["preresolve"] { settings.preresolve = readNames(node, path: "cache.preresolve") }
        if let node = fields["snapshot"] { settings.snapshotFile = readSnapshot(node) }
    }

    private mutating func readTimeToLive(
        _ node: ConfigurationNode,
        into cache: inout HTTPDNSResolver.Configuration.Cache
    ) {
        guard let bounds = fields(of: node, .cacheTimeToLive, path: "cache.ttl") else { return }
        let minimum = bounds["min"].flatMap { duration(of: $0, in: Self.cacheTimeToLive, path: "cache.ttl.min") }
        let maximum = bounds["max"].flatMap { duration(of: $0, in: Self.cacheTimeToLive, path: "cache.ttl.max") }
        cache.minimumTimeToLive = minimum ?? cache.minimumTimeToLive
        cache.maximumTimeToLive = maximum ?? cache.maximumTimeToLive
        let system = bounds["system"].flatMap { duration(of: $0, in: Self.cacheTimeToLive, path: "cache.ttl.system") }
        cache.systemTimeToLive = system ?? cache.systemTimeToLive
        guard cache.minimumTimeToLive > cache.maximumTimeToLive else { return }
        let low = DurationText.write(cache.minimumTimeToLive)
        let high = DurationText.write(cache.maximumTimeToLive)
        mistakes.add(
            "cache.ttl: min (\(low)) is above max (\(high)\(bounds["max"] == nil ? ", the default" : ""))",
            at: node.position
        )
    }

    mutating func readNames(_ node: ConfigurationNode, path: String) -> [HTTPDNSName] {
        var names: [HTTPDNSName] = []
        for node in elements(of: node, path: path, "names, one or a list") ?? [] {
            let name = value(of: node, path: path, "a name") { text throws(ValueMistake) in
                try HostKeyText.parseName(text, addressHint: "an address needs no resolving")
            }
            guard let name else { continue }
            if names.contains(name) {
                mistakes.add("\(path): \(name) is listed twice", at: node.position)
            } else {
                names.append(name)
            }
        }
        return names
    }

    private mutating func readSnapshot(_ node: ConfigurationNode) -> String? {
        if node.isEmpty { return nil }
        if let text = node.text {
            mistakes.add(
                "cache.snapshot: found \(node.found); allowed: a mapping with the keys file",
                at: node.position,
                hint: "write { file: \(text) }"
            )
            return nil
        }
        guard let fields = fields(of: node, .snapshot, path: "cache.snapshot") else { return nil }
        guard let node = fields["file"] else {
            mistakes.add(
                "cache.snapshot: the key \"file\" is missing",
                at: node.position,
                hint: "write { file: PATH }, or leave snapshot out"
            )
            return nil
        }
        return writableFile(of: node, path: "cache.snapshot.file")
    }
}
