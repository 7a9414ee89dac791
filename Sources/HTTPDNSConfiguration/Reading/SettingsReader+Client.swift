// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSPrimitives
internal import HTTPDNSResponseCache
internal import HTTPTypes

extension SettingsReader {
    /// The limits for a time-out.
    package static let timeouts: ClosedRange<Duration> = .milliseconds(1)...(.seconds(24 * 3600))

    /// The limits for bytes a second: 1 B to 1 TiB.
    package static let bandwidthBytes = 1...(1 << 40)

    private static let versions: [String: HTTPDNSClient.AllowedVersions] = [
        "1.0": .http10Only, "1.1": .http1Only, "2": .http2Only,
    ]

    mutating func readClient(_ node: ConfigurationNode, into settings: inout FileSettings) {
        guard let fields = fields(of: node, .client, path: "client") else { return }
        if let node = fields["timeouts"] { settings.timeouts = readTimeouts(node) }
        if let node = fields["ca_file"] { settings.certificateFile = readableFile(of: node, path: "client.ca_file") }
        if let node = fields["trust"] { readTrust(node, into: &settings.trust) }
        var origin = TrustOrigin()
        origin.authorities = fields["ca_file"].map { place(of: $0, "client.ca_file") }
        origin.certificate = fields["trust"].map { place(of: $0, "client.trust") }
        origin.negotiation = origin.certificate
        settings.trustOrigins[settings.wholeTrust] = origin
        if let node = fields["trust_by_host"] { readTrustByHost(node, into: &settings) }
        if let node = fields["connections"] { readConnections(node, into: &settings) }
        if let node = fields["versions"], let word = word(of: node, .httpVersions, path: "client.versions") {
            settings.versions = SettingsReader.versions[word] ?? .automatic
        }
        if let node = fields["maximum_response_body"] {
            settings.maximumResponseBody = readByteLimit(node, path: "client.maximum_response_body")
        }
        if let node = fields["bandwidth"] { settings.bandwidth = readBandwidth(node) }
        if let node = fields["headers"] { settings.headers.fields = readHeaders(node) }
        if let node = fields["headers_by_host"] { settings.headers.byHost = readHeadersByHost(node) }
        if let node = fields["credentials"] { settings.credentials = readCredentials(node) }
        if let node = fields["redirects"] { settings.redirects = readRedirects(node) }
        if let node = fields["retries"] { settings.retries = readRetries(node) }
        if let node = fields["merges_identical_reads"],
            let merges = truth(of: node, path: "client.merges_identical_reads")
        {
            settings.mergesIdenticalReads = merges
        }
        if let node = fields["cookies"] { settings.cookies = readCookies(node) }
        if let node = fields["response_cache"] { settings.responseCache = readResponseCache(node) }
        readEgress(fields, into: &settings)
    }

    /// - Parameter range: The allowed number of bytes.
    private mutating func readByteLimit(
        _ node: ConfigurationNode,
        in range: ClosedRange<Int> = 0...(.max),
        path: String
    ) -> HTTPDNSClient.ByteLimit {
        value(of: node, path: path, "a byte count such as 4MiB, or none") { text throws(ValueMistake) in
            text == "none" ? .unlimited : HTTPDNSClient.ByteLimit.bytes(try ByteCountText.parse(text, in: range))
        } ?? .unlimited
    }

    private mutating func readBandwidth(_ node: ConfigurationNode) -> HTTPDNSClient.Bandwidth {
        var bandwidth = HTTPDNSClient.Bandwidth.unlimited
        guard let fields = fields(of: node, .bandwidth, path: "client.bandwidth") else { return bandwidth }
        let rates: [(String, WritableKeyPath<HTTPDNSClient.Bandwidth, HTTPDNSClient.ByteLimit>)] = [
            ("receiving", \.receiving), ("sending", \.sending),
        ]
        for (key, property) in rates {
            guard let node = fields[key] else { continue }
            bandwidth[keyPath: property] = readByteLimit(node, in: Self.bandwidthBytes, path: "client.bandwidth.\(key)")
        }
        return bandwidth
    }

    /// Returns the prefix of an error about the value of a key.
    func place(of node: ConfigurationNode, _ key: String) -> String {
        "\(HTTPDNSSourceLocation(file, node.position)): \(key)"
    }

    private mutating func readTimeouts(_ node: ConfigurationNode) -> HTTPDNSClient.Configuration.Timeouts {
        var timeouts = HTTPDNSClient.Configuration.Timeouts()
        guard let fields = fields(of: node, .timeouts, path: "client.timeouts") else { return timeouts }
        let limits: [(key: String, property: WritableKeyPath<HTTPDNSClient.Configuration.Timeouts, Duration?>)] = [
            ("connect", \.connect), ("tls", \.tls), ("first_byte", \.firstByte), ("idle", \.idle),
            ("response_head", \.responseHead), ("total", \.total),
        ]
        for (key, property) in limits {
            guard let node = fields[key] else { continue }
            let limit = value(of: node, path: "client.timeouts.\(key)", "a duration such as 30s, or none") {
                text throws(ValueMistake) -> Duration? in
                if text == "none" { return nil }
                do throws(ValueMistake) {
                    return try DurationText.parse(text, in: Self.timeouts)
                } catch {
                    guard let zero = try? DurationText.parse(text, in: .zero...(.zero)), zero == .zero else {
                        throw error
                    }
                    throw ValueMistake(error.message, hint: "for no limit write none")
                }
            }
            if let limit { timeouts[keyPath: property] = limit }
        }
        return timeouts
    }
}

/// The settings for cookies.
extension SettingsReader {
    private static let cookiesForm = "off, memory, or a mapping with the keys file, maximum_per_domain, maximum"

    private mutating func readCookies(_ node: ConfigurationNode) -> HTTPDNSClient.Configuration.Cookies {
        let path = "client.cookies"
        if node.isEmpty { return .off }
        guard case .mapping = node.content else {
            return value(of: node, path: path, Self.cookiesForm) { text throws(ValueMistake) in
                switch text {
                case "off": return .off
                case "memory": return .memory()
                default: throw ValueMistake("found \(quoted(text)); allowed: \(Self.cookiesForm)")
                }
            } ?? .off
        }
        guard let fields = fields(of: node, .cookies, path: path) else { return .off }
        var limits = HTTPDNSClient.CookieJar.Limits()
        let numbers: [(String, WritableKeyPath<HTTPDNSClient.CookieJar.Limits, Int>)] = [
            ("maximum_per_domain", \.maximumPerDomain), ("maximum", \.maximum),
        ]
        for (key, property) in numbers {
            guard let node = fields[key],
                let number = number(of: node, in: HTTPDNSClient.CookieJar.Limits.range, path: "\(path).\(key)")
            else { continue }
            limits[keyPath: property] = number
        }
        guard let node = fields["file"] else { return .memory(limits) }
        return writableFile(of: node, path: "\(path).file").map { .file($0, limits) } ?? .memory(limits)
    }
}

/// The settings for the response cache.
extension SettingsReader {
    /// The limits for the bytes of all stored responses: 64 KiB to 1 TiB.
    package static let responseCacheBytes = 65_536...(1 << 40)
    /// The limits for the number of stored responses.
    package static let responseCacheEntries = 1...10_000_000
    /// The limits for the age at which a stored response is removed.
    package static let responseCacheAge: ClosedRange<Duration> = .seconds(1)...(.seconds(10 * 365 * 86_400))
    private static let responseCacheForm =
        "off, memory, or a mapping with the keys folder, mode, limit, maximum_entries, maximum_age, serves_when_unreachable"

    private mutating func readResponseCache(_ node: ConfigurationNode) -> ResponseCacheSettings? {
        let path = "client.response_cache"
        if node.isEmpty { return nil }
        guard case .mapping = node.content else {
            return value(of: node, path: path, Self.responseCacheForm) {
                text throws(ValueMistake) -> ResponseCacheSettings? in
                switch text {
                case "off": return nil
                case "memory": return ResponseCacheSettings()
                default: throw ValueMistake("found \(quoted(text)); allowed: \(Self.responseCacheForm)")
                }
            } ?? nil
        }
        var settings = ResponseCacheSettings()
        guard let fields = fields(of: node, .responseCache, path: path) else { return nil }
        if let node = fields["folder"] { settings.folder = cacheFolder(of: node, path: "\(path).folder") }
        if let node = fields["mode"] {
            let mode = value(of: node, path: "\(path).mode", "shared, private") { text throws(ValueMistake) in
                guard text == "shared" || text == "private" else {
                    throw ValueMistake("found \(quoted(text)); allowed: shared, private")
                }
                return text == "shared"
            }
            settings.isShared = mode ?? true
        }
        if let node = fields["limit"] {
            let limit = value(of: node, path: "\(path).limit", "a byte count such as 64MiB") {
                text throws(ValueMistake) in try ByteCountText.parse(text, in: Self.responseCacheBytes)
            }
            if let limit { settings.limit = .bytes(limit) }
        }
        if let node = fields["maximum_entries"],
            let number = number(of: node, in: Self.responseCacheEntries, path: "\(path).maximum_entries")
        {
            settings.maximumEntries = number
        }
        if let node = fields["maximum_age"] {
            let age = value(of: node, path: "\(path).maximum_age", "a duration such as 720h") {
                text throws(ValueMistake) in try DurationText.parse(text, in: Self.responseCacheAge)
            }
            if let age { settings.maximumAge = age }
        }
        if let node = fields["serves_when_unreachable"],
            let serves = truth(of: node, path: "\(path).serves_when_unreachable")
        {
            settings.servesWhenUnreachable = serves
        }
        return settings
    }

    private mutating func cacheFolder(of node: ConfigurationNode, path: String) -> String? {
        let file = file
        let allowed = "the path of a folder for this cache alone"
        return value(of: node, path: path, allowed) { text throws(ValueMistake) in
            guard !text.isEmpty else { throw ValueMistake("the path is empty; allowed: \(allowed)") }
            return FilePath.resolve(text, besideFile: file)
        }
    }
}

/// The settings for additional hops of a call: redirects and retries.
extension SettingsReader {
    /// The limits for the number of redirects or retries of a call.
    package static let hopLimit = 0...100
    /// The limits for the waits between attempts.
    package static let retryDelay: ClosedRange<Duration> = .zero...(.seconds(3600))
    /// The limits for a budget's share of calls: more than ten retries for each call are of no use.
    package static let budgetPercent = 0...1000
    /// The limits for the rate at which a budget grows per second.
    package static let budgetPerSecond = 0...100_000
    /// The statuses that can be retried: those of failures (RFC 9110 sections 15.5 and 15.6).
    package static let retriedStatuses = 400...599

    mutating func readRedirects(_ node: ConfigurationNode) -> HTTPDNSClient.RedirectPolicy {
        var policy = HTTPDNSClient.RedirectPolicy()
        guard let fields = fields(of: node, .redirects, path: "client.redirects") else { return policy }
        if let node = fields["limit"],
            let limit = number(of: node, in: Self.hopLimit, path: "client.redirects.limit")
        {
            policy.limit = limit
        }
        if let node = fields["downgrade"], let allows = truth(of: node, path: "client.redirects.downgrade") {
            policy.allowsDowngrade = allows
        }
        if let node = fields["secret_fields"] {
            policy.secretFields = Set(readFieldNames(node, path: "client.redirects.secret_fields"))
        }
        if let node = fields["cross_origin_fields"] {
            policy.crossOriginFields = Set(readFieldNames(node, path: "client.redirects.cross_origin_fields"))
        }
        return policy
    }

    mutating func readFieldNames(_ node: ConfigurationNode, path: String) -> [HTTPField.Name] {
        var names: [HTTPField.Name] = []
        for node in elements(of: node, path: path, "names of header fields, one or a list") ?? [] {
            let name = value(of: node, path: path, "the name of a header field") { text throws(ValueMistake) in
                guard let name = HTTPField.Name(text) else {
                    throw ValueMistake("\(quoted(text)) is no name of a header field; allowed: such as X-Tenant-Token")
                }
                return name
            }
            if let name { names.append(name) }
        }
        return names
    }

    /// Reads the retry policy of the file. The key alone enables retries.
    mutating func readRetries(_ node: ConfigurationNode) -> HTTPDNSClient.RetryPolicy {
        guard !node.isEmpty, let fields = fields(of: node, .retries, path: "client.retries") else { return .never }
        var policy = HTTPDNSClient.RetryPolicy.standard
        if let node = fields["limit"], let limit = number(of: node, in: Self.hopLimit, path: "client.retries.limit") {
            policy.limit = limit
        }
        let durations: [(String, WritableKeyPath<HTTPDNSClient.RetryPolicy, Duration>)] = [
            ("delay", \.delay), ("maximum_delay", \.maximumDelay), ("maximum_retry_after", \.maximumRetryAfter),
            ("network_wait", \.networkWait),
        ]
        for (key, property) in durations {
            guard let node = fields[key],
                let duration = duration(of: node, in: Self.retryDelay, path: "client.retries.\(key)")
            else { continue }
            policy[keyPath: property] = duration
        }
        if let node = fields["statuses"] {
            let nodes = elements(of: node, path: "client.retries.statuses", "statuses, one or a list") ?? []
            policy.statuses = Set(
                nodes.compactMap { number(of: $0, in: Self.retriedStatuses, path: "client.retries.statuses") }
            )
        }
        if let node = fields["budget"] { readBudget(node, into: &policy.budget) }
        return policy
    }

    private mutating func readBudget(_ node: ConfigurationNode, into budget: inout HTTPDNSClient.RetryPolicy.Budget) {
        guard let fields = fields(of: node, .retryBudget, path: "client.retries.budget") else { return }
        if let node = fields["percent"],
            let percent = number(of: node, in: Self.budgetPercent, path: "client.retries.budget.percent")
        {
            budget.percent = percent
        }
        if let node = fields["per_second"],
            let number = number(of: node, in: Self.budgetPerSecond, path: "client.retries.budget.per_second")
        {
            budget.perSecond = number
        }
    }
}
