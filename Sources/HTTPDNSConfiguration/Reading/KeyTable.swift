// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The keys of a section of the file.
package struct KeyTable: Sendable {
    /// The name of the section in errors.
    package var name: String
    /// The supported keys.
    package var keys: [String]
    /// Keys that are planned for later versions, so that the error does not suggest a spelling mistake.
    package var later: [String] = []

    package static let top = KeyTable(
        name: "the top level",
        keys: [
            "version", "enabled", "file_permissions", "providers", "routes", "mappings", "policy", "cache", "resolver",
            "client", "metrics",
            "serve",
        ]
    )
    package static let dohProvider = KeyTable(
        name: "a provider of kind doh",
        keys: ["kind", "url", "bootstrap", "method", "ca_file", "answer_scope", "limits"],
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
    package static let alibabaV1Provider = KeyTable(
        name: "a provider of kind alibaba-v1",
        keys: jsonProvider.keys + ["account", "secret", "region", "custom_parameters", "discovery", "addresses_file"]
    )
    package static let alibabaV2Provider = KeyTable(
        name: "a provider of kind alibaba-v2",
        keys: alibabaV1Provider.keys + ["encryption", "encryption_key"]
    )
    package static let tencentProvider = KeyTable(
        name: "a provider of kind tencent",
        keys: jsonProvider.keys + [
            "account", "secret", "encryption_key", "region", "expiry", "encrypt_client_subnet",
            "account_refusal_statuses", "discovery", "addresses_file",
        ]
    )
    package static let limits = KeyTable(name: "a provider's limits", keys: ["in_flight", "per_second"])
    package static let secret = KeyTable(name: "a secret", keys: ["file", "env"])

    /// Returns the keys of a kind of provider.
    static func provider(_ kind: String) -> KeyTable {
        switch kind {
        case "json-google", "json-cloudflare": jsonProvider
        case "json-alidns": alidnsProvider
        case "alibaba-v1": alibabaV1Provider
        case "alibaba-v2": alibabaV2Provider
        case "tencent": tencentProvider
        default: dohProvider
        }
    }

    package static let route = KeyTable(
        name: "a route",
        keys: [
            "providers", "fallback", "families", "order", "second_opinion", "stale_limit", "client_subnet",
            "https_records",
            "allow", "only", "enabled", "rollout", "mode", "connect_fallback",
        ]
    )
    package static let rollout = KeyTable(name: "a route's rollout", keys: ["percent", "by"])
    package static let mapping = KeyTable(
        name: "a mapping",
        keys: ["addresses", "via", "ttl", "last_resort"]
    )
    package static let via = KeyTable(name: "via", keys: ["host", "keep"])
    package static let policy = KeyTable(name: "policy", keys: ["providers_may_answer", "allow", "deny"])
    package static let cache = KeyTable(
        name: "cache",
        keys: [
            "entries", "bytes", "ttl", "stale_limit", "stale_after", "refresh_ahead", "refresh_idle_names",
            "preresolve",
            "snapshot",
        ]
    )
    package static let cacheTimeToLive = KeyTable(name: "cache.ttl", keys: ["min", "max", "system"])
    package static let snapshot = KeyTable(name: "cache.snapshot", keys: ["file"])
    package static let resolver = KeyTable(
        name: "resolver",
        keys: ["families", "internal_zones", "hedge_after", "attempt_limit", "time_limit", "system_threads"]
    )
    package static let client = KeyTable(
        name: "client",
        keys: [
            "timeouts", "ca_file", "trust", "trust_by_host", "connections", "versions",
            "maximum_response_body", "bandwidth", "headers", "headers_by_host", "credentials", "redirects", "retries",
            "merges_identical_reads", "cookies", "response_cache", "proxy",
            "unix_socket", "local_source", "reachable_networks",
        ]
    )
    package static let timeouts = KeyTable(
        name: "client.timeouts",
        keys: ["connect", "tls", "first_byte", "idle", "response_head", "total"]
    )
    package static let connections = KeyTable(
        name: "client.connections",
        keys: [
            "maximum_per_host", "maximum", "maximum_streams", "maximum_queued", "queue_wait", "maximum_idle",
            "loops", "idle_timeout", "maximum_age", "happy_eyeballs_delay", "address_stickiness",
            "on_address_change", "tcp_user_timeout", "tcp_keepalive", "selection", "hedge_after", "ejection",
            "probing", "peer_certificates",
        ]
    )
    package static let redirects = KeyTable(
        name: "client.redirects",
        keys: ["limit", "downgrade", "secret_fields", "cross_origin_fields"]
    )
    package static let retries = KeyTable(
        name: "client.retries",
        keys: [
            "limit", "delay", "maximum_delay", "maximum_retry_after", "statuses", "budget", "network_wait",
        ]
    )
    package static let bandwidth = KeyTable(name: "client.bandwidth", keys: ["receiving", "sending"])
    package static let retryBudget = KeyTable(name: "client.retries.budget", keys: ["percent", "per_second"])
    package static let keepalive = KeyTable(
        name: "client.connections.tcp_keepalive",
        keys: ["idle", "interval", "count"]
    )
    package static let cookies = KeyTable(name: "client.cookies", keys: ["file", "maximum_per_domain", "maximum"])
    package static let responseCache = KeyTable(
        name: "client.response_cache",
        keys: ["folder", "mode", "limit", "maximum_entries", "maximum_age", "serves_when_unreachable"]
    )
    package static let ejection = KeyTable(
        name: "client.connections.ejection",
        keys: ["statuses", "consecutive", "duration", "maximum_duration"]
    )
    package static let probing = KeyTable(name: "client.connections.probing", keys: ["interval", "maximum_concurrent"])
    package static let metrics = KeyTable(name: "metrics", keys: ["host_label"])

    package static let serve = KeyTable(name: "serve", keys: ["ttl", "alibaba", "tencent", "alidns", "hosts"])
    package static let servedAlibaba = KeyTable(
        name: "serve.alibaba",
        keys: ["account", "secret", "encryption_key", "unsigned", "rows_by", "disabled"]
    )
    package static let servedTencent = KeyTable(name: "serve.tencent", keys: ["id", "token", "encryption_key"])
    package static let servedAlidns = KeyTable(name: "serve.alidns", keys: ["account", "access_key", "secret"])
    package static let servedHost = KeyTable(
        name: "a host of serve",
        keys: ["delay", "fail", "garbage", "cut", "rotate"]
    )

    /// All sections.
    package static let all = [
        top, dohProvider, jsonProvider, alidnsProvider, alibabaV1Provider, alibabaV2Provider, tencentProvider, secret,
        limits, route, rollout, mapping, via, policy, cache, cacheTimeToLive, snapshot, resolver, client, timeouts,
        connections, keepalive, ejection, probing, trust, clientCertificate, hostTrust, hostHeaders, redirects, retries,
        retryBudget, bandwidth, cookies, responseCache, proxy, credential,
        metrics, serve, servedAlibaba, servedTencent, servedAlidns, servedHost,
    ]
}

/// The allowed words of a value.
package struct WordTable: Sendable {
    /// The supported words.
    package var words: [String]
    /// Words that are planned for later versions.
    package var later: [String] = []

    package static let providerKinds = WordTable(
        words: ["doh", "json-google", "json-cloudflare", "json-alidns", "alibaba-v1", "alibaba-v2", "tencent"]
    )
    package static let alibabaRegions = WordTable(words: ["cn", "hk", "sg", "de", "us", "global"])
    package static let alibabaEncryptions = WordTable(words: ["cbc", "gcm"])
    package static let tencentRegions = WordTable(words: ["cn", "intl"])
    package static let methods = WordTable(words: ["get", "post"])
    package static let fallbacks = WordTable(words: ["none", "system"])
    package static let families = WordTable(words: ["v4", "v6", "both"])
    package static let kept = WordTable(words: ["host"])
    package static let scopes = WordTable(words: ["public", "private", "loopback"])
    /// The use of providers' answers.
    package static let modes = WordTable(words: ["use", "shadow"])
    /// The unit that is drawn for a rollout.
    package static let stickiness = WordTable(words: ["process", "key"])
    /// The migration of requests when a provider's answer changes.
    package static let addressChanges = WordTable(words: ["move_now", "warm_then_move"])
    /// The order in which several addresses are tried.
    package static let selections = WordTable(words: ["automatic", "given", "round_robin", "random", "fastest"])
    /// The label for hosts in metrics: never the host names themselves, whose number has no limit.
    package static let hostLabels = WordTable(words: ["routes"])
    /// The treatment of a file that others may write.
    package static let filePermissions = WordTable(words: ["warn", "refuse"])
    package static let orders = WordTable(words: ["given", "fastest"])
    /// The truth values of YAML 1.2; `yes` and `no` stay text.
    package static let truth = WordTable(words: ["true", "false"])
    /// Whether unused names are refreshed.
    package static let idleRefresh = WordTable(words: ["false"], later: ["true"])
    package static let httpVersions = WordTable(words: ["auto", "1.0", "1.1", "2"])
    /// The meaning of the rows in a batch of Alibaba's version 1.
    package static let servedRows = WordTable(words: ["host", "type"])
    package static let servedGarbage = WordTable(words: ServeSettings.Garbage.allCases.map(\.rawValue))
    package static let servedRotations = WordTable(words: ServeSettings.Rotation.allCases.map(\.rawValue))
    /// The response codes that have a name in the DNS, and the errors of Alibaba's table that the local provider supports.
    package static let servedFailures = WordTable(words: [
        "SERVFAIL", "REFUSED", "InvalidAccount", "AccountNotExists", "UnsignedInterfaceDisabled", "InvalidSignature",
        "SignatureExpired",
        "InvalidDuration", "ServiceLevelDeny", "InvalidHost", "TooManyHosts", "SdnsNotSupported", "MissingArgument",
        "InternalError",
    ])
}
