internal import HTTPDNS
internal import HTTPDNSPrimitives

extension SettingsReader {
    /// The bounds of the number of names in the cache; at 200 bytes a name the upper one is 2 GB.
    package static let cacheEntries = 1...10_000_000
    /// The bounds of the cache's times to live. RFC 8767 section 4 caps at days, and so does this.
    package static let cacheTimeToLive: ClosedRange<Duration> = .zero...(.seconds(7 * 24 * 3600))

    mutating func readPolicy(_ node: ConfigurationNode) -> AddressPolicy {
        var policy = AddressPolicy()
        guard let fields = fields(of: node, .policy, path: "policy") else { return policy }
        if let node = fields["providers_may_answer"],
            let word = word(of: node, .scopes, path: "policy.providers_may_answer")
        {
            policy.providersMayAnswer = ["public": .public, "private": .private, "loopback": .loopback][word]
        }
        if let node = fields["allow"] {
            let allowed = "blocks of addresses such as 10.0.0.0/8, one or a list"
            for node in elements(of: node, path: "policy.allow", allowed) ?? [] {
                let block = value(of: node, path: "policy.allow", "a block of addresses such as 10.0.0.0/8") {
                    text throws(ValueMistake) in try AddressBlockText.parse(text)
                }
                guard let block else { continue }
                if policy.allowed.contains(block) {
                    mistakes.add("policy.allow: \(block) is listed twice", at: node.position)
                }
                policy.allowed.append(block)
            }
        }
        return policy
    }

    mutating func readCache(_ node: ConfigurationNode) -> ResolverConfiguration.Cache {
        var cache = ResolverConfiguration.Cache()
        guard let fields = fields(of: node, .cache, path: "cache") else { return cache }
        if let node = fields["entries"], let entries = number(of: node, in: Self.cacheEntries, path: "cache.entries") {
            cache.entries = entries
        }
        guard let node = fields["ttl"], let bounds = self.fields(of: node, .cacheTimeToLive, path: "cache.ttl") else {
            return cache
        }
        let minimum = bounds["min"].flatMap { duration(of: $0, in: Self.cacheTimeToLive, path: "cache.ttl.min") }
        let maximum = bounds["max"].flatMap { duration(of: $0, in: Self.cacheTimeToLive, path: "cache.ttl.max") }
        cache.minimumTimeToLive = minimum ?? cache.minimumTimeToLive
        cache.maximumTimeToLive = maximum ?? cache.maximumTimeToLive
        if cache.minimumTimeToLive > cache.maximumTimeToLive {
            let low = DurationText.write(cache.minimumTimeToLive)
            let high = DurationText.write(cache.maximumTimeToLive)
            mistakes.add(
                "cache.ttl: min (\(low)) is above max (\(high)\(bounds["max"] == nil ? ", the default" : ""))",
                at: node.position
            )
        }
        return cache
    }
}
