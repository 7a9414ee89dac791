// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import HTTPDNS

struct DumpReport {
    var diagnostics: HTTPDNSClient.Status

    /// Returns the service's object.
    func json() throws -> String {
        try JSONText.text(of: diagnostics, isIndented: true) + "\n"
    }

    func text(_ screen: Screen) -> String {
        var text = head(screen)
        text += section("providers", diagnostics.providers.map(provider), screen)
        text += section("routes", diagnostics.routes.map(route), screen)
        text += section("pools", diagnostics.pools.map(pool), screen)
        text += section("endpoints", troubled.map(endpoint), screen)
        text += section(
            "mappings",
            diagnostics.mappings.rules.map(rule),
            screen,
            more: diagnostics.mappings.isTruncated
        )
        text += section("answers", diagnostics.cache.answers.map(answer), screen, more: diagnostics.cache.isTruncated)
        return text
    }

    private func head(_ screen: Screen) -> String {
        let (mappings, cache, limits) = (diagnostics.mappings, diagnostics.cache, diagnostics.limits)
        let word = SwitchReport.word(diagnostics.killSwitch)
        let isOn = diagnostics.killSwitch.entries.isEmpty
        let layers = mappings.baseGeneration.map { base in
            " (file \(base), program \(mappings.overlayGeneration ?? 0))"
        }
        let bytes = Figures.bytes(cache.bytes)
        var lines = [
            (
                "service",
                "\(diagnostics.library), libcurl \(libcurl)   up \(lifetime(diagnostics.uptimeSeconds))"
            ),
            ("switch", isOn ? screen.style.good(word) : screen.style.bad(PrintableText.line(word))),
            ("mappings", "generation \(mappings.generation)\(layers ?? "")   \(Figures.count(mappings.count, "rule"))"),
            (
                "cache",
                "\(Figures.count(cache.entries)) of \(Figures.count(limits.cacheEntries)) answers   "
                    + "\(bytes) of \(Figures.count(limits.cacheBytes))"
            ),
            ("queries", queries),
            ("requests", requests),
            (
                "limits",
                "resolving \(lifetime(limits.resolutionSeconds))   stale \(lifetime(limits.staleSeconds))   "
                    + "in flight \(Figures.count(limits.requestsInFlight))   "
                    + "idle connections \(Figures.count(limits.idleConnections))"
            ),
        ]
        if let queue { lines.append(("queue", queue)) }
        if let reload = diagnostics.lastReload { lines.insert(("reload", Self.text(of: reload)), at: 2) }
        return lines.map { label, text in
            LabelledLine.text(label, text.split(separator: "   ").map(String.init), labelWidth: 11, screen: screen)
        }.joined()
    }

    /// `7.88.1 (OpenSSL/3.0.19, nghttp2/1.52.0)`; a service with an older version of this library reports the version alone.
    private var libcurl: String {
        guard let capabilities = diagnostics.libcurlCapabilities else { return diagnostics.libcurl }
        let parts = [capabilities.tls ?? "no TLS", capabilities.http2 ?? "no HTTP/2"]
        return "\(diagnostics.libcurl) (\(parts.joined(separator: ", ")))"
    }

    /// Healthy endpoints need no line: `--json` has all.
    private var troubled: [HTTPDNSClient.Status.Endpoint] { diagnostics.endpoints.filter { $0.state != "healthy" } }

    private var requests: String {
        let connections = diagnostics.connections
        var text =
            "\(Figures.count(connections.requestsInFlight)) in flight   "
            + "\(Figures.count(connections.open, "open connection"))"
        if connections.keptPreviousAddress > 0 {
            text += "   kept their previous address \(Figures.count(connections.keptPreviousAddress))"
        }
        if connections.fallbacks + connections.fallbacksFailed + connections.fallbacksShortCircuited > 0 {
            text +=
                "   fell back \(Figures.count(connections.fallbacks + connections.fallbacksShortCircuited))"
                + " (failed \(Figures.count(connections.fallbacksFailed)), "
                + "\(Figures.count(connections.fallenBackHosts, "host")) now)"
        }
        return text
    }

    /// `3 waiting of 4,096   connections 64 for a host, 1,024 in all   at most 2 s`; nil where no connections are limited.
    private var queue: String? {
        let limits = diagnostics.limits
        guard let maximum = limits.requestsWaiting else { return nil }
        let bounds = [
            limits.connectionsPerHost.map { "\(Figures.count($0)) for a host" },
            limits.connections.map { "\(Figures.count($0)) in all" },
        ]
        return
            "\(Figures.count(diagnostics.connections.requestsWaiting)) waiting of \(Figures.count(maximum))   connections "
            + bounds.compactMap { $0 }.joined(separator: ", ")
            + (limits.queueSeconds.map { "   at most \(lifetime($0))" } ?? "")
    }

    private var queries: String {
        let counters = HTTPDNSResolver.Counters(byName: diagnostics.counters)
        let numbers = [
            ("hits", counters.hits), ("misses", counters.misses), ("stale", counters.staleServed),
            ("failures out of the cache", counters.failureHits), ("changes", counters.changes),
        ]
        return numbers.map { "\($0) \(Figures.count($1))" }.joined(separator: "   ")
    }

    /// Returns `ok 12 s ago`, `FAILED 12 s ago: httpdns.yaml:5:31: ...`.
    static func text(of reload: HTTPDNSClient.Status.Reload) -> String {
        let ago = "\(Figures.lifetime(.seconds(reload.seconds))) ago"
        return reload.isApplied
            ? "ok \(ago)" : "FAILED \(ago)\(reload.message.map { ": \(PrintableText.line($0))" } ?? "")"
    }

    private func section(_ name: String, _ rows: [[String]], _ screen: Screen, more: Bool = false) -> String {
        guard !rows.isEmpty else { return "" }
        var columns = Columns()
        for row in rows { columns.append(row.map(PrintableText.line)) }
        let tail = more ? "  ... and more: give hosts, or --limit N\n" : ""
        return "\n\(name)\n" + columns.lines(width: screen.width - 2).map { "  \($0)\n" }.joined() + tail
    }

    /// Returns `healthy`, `suspect`, `quarantined 9 s (refused)`.
    static func state(of provider: HTTPDNSClient.Status.Provider) -> String {
        guard provider.state == "quarantined" else { return provider.state }
        let time = provider.backOffSeconds.map { " \(Figures.lifetime(.seconds($0)))" } ?? ""
        return provider.state + time + (provider.reason.map { " (\($0))" } ?? "")
    }

    private func provider(_ provider: HTTPDNSClient.Status.Provider) -> [String] {
        let latency = provider.percentile95Seconds.map { "p95 \(Figures.phase(.seconds($0)))" } ?? "-"
        let failures = provider.failuresByCode.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        return [
            provider.name, provider.kind, Self.state(of: provider), latency, "\(provider.inFlight) in flight",
            "\(Figures.count(provider.queries)) queries", failures.joined(separator: ", "),
        ]
    }

    private func route(_ route: HTTPDNSClient.Status.Route) -> [String] {
        var notes: [String] = []
        if !route.isEnabled { notes.append("DISABLED") }
        if route.mode != "use" { notes.append(route.mode) }
        if let percent = route.rolloutPercent {
            notes.append("rollout \(Figures.fixed(percent, places: 2)) % by \(route.rolloutBy ?? "process")")
        }
        let providers = route.action == "system" ? "system" : route.providers.joined(separator: ", ")
        return [
            route.pattern, providers, route.fallback.map { "fallback \($0)" } ?? "", answers(of: route),
            notes.joined(separator: ", "), route.location ?? "",
        ]
    }

    /// Returns `812 fresh, 3 stale, 2 system, 1 failed`, without zeros.
    private func answers(of route: HTTPDNSClient.Status.Route) -> String {
        let counts = [
            (route.fresh, "fresh"), (route.stale, "stale"), (route.system, "system"),
            (route.failures.values.reduce(0, +), "failed"),
        ]
        return counts.filter { $0.0 > 0 }.map { "\(Figures.count($0.0)) \($0.1)" }.joined(separator: ", ")
    }

    private func pool(_ pool: HTTPDNSClient.Status.Pool) -> [String] {
        [
            "\(pool.host):\(pool.port)", pool.endpoint, Figures.count(pool.connections, "connection"),
            pool.requests.map { Figures.count($0, "request") } ?? "",
        ]
    }

    private func endpoint(_ endpoint: HTTPDNSClient.Status.Endpoint) -> [String] {
        [
            endpoint.endpoint, endpoint.state, endpoint.backOffSeconds.map { "for \(lifetime($0))" } ?? "",
            Figures.count(endpoint.consecutiveFailures, "failure") + " in a row",
            endpoint.host.map { "TLS of \($0)" } ?? "",
        ]
    }

    private func rule(_ rule: HTTPDNSClient.Status.Mappings.Rule) -> [String] {
        let targets = rule.targets.joined(separator: " ")
        let action = rule.action == "addresses" ? targets : "\(rule.action) \(targets)".trimmingTrailingBlanks()
        let replaced = rule.replaces.map { " (replaces \($0))" } ?? ""
        return [rule.key, action, rule.origin == "overlay" ? "program\(replaced)" : rule.location ?? "settings"]
    }

    private func answer(_ answer: HTTPDNSClient.Status.Answer) -> [String] {
        let what =
            answer.addresses.isEmpty
            ? "- \(answer.negative ?? answer.failure ?? "")" : answer.addresses.joined(separator: " ")
        let left = answer.secondsLeft.map { answer.isStale ? "STALE" : "\(lifetime($0)) left" } ?? "-"
        let failure = answer.addresses.isEmpty ? nil : answer.failure.map { "asking failed: \($0)" }
        return [
            answer.host, what, answer.provider ?? answer.source ?? "-", left,
            answer.ageSeconds.map { "\(lifetime($0)) old" } ?? "", failure ?? "",
        ]
    }

    private func lifetime(_ seconds: Double) -> String { Figures.lifetime(.seconds(seconds)) }
}
#endif
