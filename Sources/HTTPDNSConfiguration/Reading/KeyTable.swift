/// The keys of one part of the file.
package struct KeyTable: Sendable {
    /// How the part is called in errors.
    package var name: String
    /// The keys that are read.
    package var keys: [String]
    /// Keys that are promised for later versions, so that nobody looks for a spelling mistake.
    package var later: [String] = []

    package static let top = KeyTable(
        name: "the top level",
        keys: ["version", "providers", "routes", "mappings", "policy", "cache", "client"],
        later: ["enabled", "metrics"]
    )
    package static let dohProvider = KeyTable(
        name: "a provider of kind doh",
        keys: ["kind", "url", "bootstrap", "method", "ca_file"],
        later: ["region"]
    )
    package static let jsonProvider = KeyTable(
        name: "a provider of kind json-google or json-cloudflare",
        keys: dohProvider.keys.filter { $0 != "method" },
        later: ["region"]
    )
    package static let alidnsProvider = KeyTable(
        name: "a provider of kind json-alidns",
        keys: jsonProvider.keys + ["account", "access_key", "secret"],
        later: ["region"]
    )
    package static let secret = KeyTable(name: "a secret", keys: ["file", "env"])

    /// The keys of a kind of provider.
    static func provider(_ kind: String) -> KeyTable {
        switch kind {
        case "json-google", "json-cloudflare": jsonProvider
        case "json-alidns": alidnsProvider
        default: dohProvider
        }
    }

    package static let route = KeyTable(
        name: "a route",
        keys: ["providers", "fallback", "families"],
        later: ["rollout", "mode", "stale"]
    )
    package static let mapping = KeyTable(
        name: "a mapping",
        keys: ["addresses", "via", "ttl"],
        later: ["last_resort"]
    )
    package static let via = KeyTable(name: "via", keys: ["host", "keep"])
    package static let policy = KeyTable(name: "policy", keys: ["providers_may_answer", "allow"])
    package static let cache = KeyTable(
        name: "cache",
        keys: ["entries", "ttl"],
        later: ["stale", "refresh_idle_names"]
    )
    package static let cacheTimeToLive = KeyTable(name: "cache.ttl", keys: ["min", "max"])
    package static let client = KeyTable(
        name: "client",
        keys: ["timeouts", "ca_file", "connections", "http", "max_response"],
        later: ["on_address_change"]
    )
    package static let timeouts = KeyTable(
        name: "client.timeouts",
        keys: ["connect", "tls", "first_byte", "idle", "total"]
    )
    package static let connections = KeyTable(
        name: "client.connections",
        keys: ["max_idle"],
        later: ["per_host", "total", "idle", "max_age"]
    )

    /// Every part.
    package static let all = [
        top, dohProvider, jsonProvider, alidnsProvider, secret, route, mapping, via, policy, cache, cacheTimeToLive,
        client, timeouts, connections,
    ]
}

/// The words that a value is chosen from.
package struct WordTable: Sendable {
    /// The words that are read.
    package var words: [String]
    /// Words that are promised for later versions.
    package var later: [String] = []

    package static let providerKinds = WordTable(
        words: ["doh", "json-google", "json-cloudflare", "json-alidns"],
        later: ["alibaba-v1", "alibaba-v2", "tencent"]
    )
    package static let methods = WordTable(words: ["get", "post"])
    package static let fallbacks = WordTable(words: ["none", "system"])
    package static let families = WordTable(words: ["v4", "v6", "both"])
    package static let kept = WordTable(words: ["host"])
    package static let scopes = WordTable(words: ["public", "private", "loopback"])
    package static let httpVersions = WordTable(words: ["auto", "1.1"])
}
