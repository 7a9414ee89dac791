// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNS
internal import HTTPDNSPrimitives
package import HTTPDNSResponseCache

/// The settings below `client`.
extension HTTPDNSClient.Configuration {
    static let settings: [Setting<Self>] = [
        .init("timeouts", \.options.timeouts, section: HTTPDNSClient.Timeouts.settings)
            .means("The time limits of a call."),
        .init("ca_file", \.trust.roots, .authorities)
            .means("The PEM file of the only authorities trusted for origins."),
        .init("trust", \.trust, .trust)
            .means("The client certificate, key pins, TLS versions, cipher suites and curves."),
        .own("trust_by_host", entries: [HTTPDNSTrust.hostFacts])
            .means("Trust settings for single hosts. Keys that are left out have the values of `trust`."),
        .init("connections", \.connections, section: Connections.settings)
            .means("The number, the life and the selection of connections."),
        .init(
            "versions",
            \.options.versions,
            .words(
                ["auto": .automatic, "1.0": .http10Only, "1.1": .http1Only, "2": .http2Only],
                unquoted: ["1.0", "1.1", "2"]
            )
        )
        .means("The versions of HTTP: `auto` is HTTP/2 where TLS offers it, `2` is HTTP/2 also in clear text."),
        .init("maximum_response_body", \.options.maximumResponseBody, .byteLimit(0...(.max)))
            .means("The maximum size of a response body after decoding."),
        .init("bandwidth", \.bandwidth, section: HTTPDNSClient.Bandwidth.settings)
            .means("The maximum rates of all bodies together."),
        .init("headers", \.headers.fields, .headers)
            .means("Header fields for requests without a field of the same name. Write no secrets here."),
        .init("headers_by_host", \.headers.byHost, .headersByHost)
            .means("Header fields for a name or `*.suffix`. They replace fields of `headers`."),
        .init("credentials", \.credentials, .credentials).means("The credentials for origins."),
        .init("allows_cleartext_credentials", \.options.allowsCleartextCredentials, .truth)
            .means("Whether credentials may be sent over http, except to this machine, where it is always allowed."),
        .init("redirects", \.options.redirects, section: HTTPDNSClient.RedirectPolicy.settings)
            .means("The redirects that are followed."),
        .init("retries", \.retrySettings, .section(RetrySettings.settings) { _ in RetrySettings() })
            .means("The retries of failed requests."),
        .init("merges_identical_reads", \.options.mergesIdenticalReads, .truth)
            .means("Whether calls with identical GET or HEAD requests in flight share one request."),
        .init(
            "cookies",
            \.cookies,
            .section(
                CookieSettings.settings,
                words: ["off": .off, "memory": .memory()],
                start: { _ in CookieSettings() },
                end: { settings in settings.file.map { .file($0, settings.limits) } ?? .memory(settings.limits) }
            )
        )
        .means("The cookies of servers. They are in memory without a file."),
        .init(
            "response_cache",
            \.responseCacheSettings,
            .section(
                ResponseCacheSettings.settings,
                words: ["off": nil, "memory": ResponseCacheSettings()],
                start: { _ in ResponseCacheSettings() },
                end: { $0 }
            )
        )
        .means("The cache of responses. It is in memory without a folder."),
        .init("proxy", \.options.proxy, ProxySettings.form)
            .means("The proxy of requests. Variables of the environment are read only with the value `environment`."),
        .init("unix_socket", \.options.unixSocket, .unixSocket)
            .means("The Unix socket to which all requests connect instead of addresses. Not beside `proxy`."),
        .init("local_source", \.localSource, .localSource)
            .means("The network interface or local address from which connections are made."),
        .init(
            "reachable_networks",
            \.options.reachableNetworks,
            .words(["any": .any, "public_internet": .publicInternet])
        )
        .means("The networks that requests may reach, for addresses from every source."),
    ]

    /// The settings of the response cache of a file; nil for none.
    package var responseCacheSettings: ResponseCacheSettings? {
        get { responseCaching as? ResponseCacheSettings }
        set { responseCaching = newValue }
    }
}

extension SettingForm<HTTPDNSClient.Configuration> {
    static let client = section(Value.settings, start: { $0 ?? Value() }) { reader, client, fields, path in
        var origin = TrustOrigin()
        origin.authorities = fields["ca_file"].map { reader.place(of: $0, "\(path).ca_file") }
        origin.certificate = fields["trust"].map { reader.place(of: $0, "\(path).trust") }
        origin.negotiation = origin.certificate
        client.trustOrigins[client.trust] = origin
        if let node = fields["trust_by_host"] {
            HTTPDNSTrust.readByHost(&reader, node, path: "\(path).trust_by_host", into: &client)
        }
        if client.proxy != .off, client.unixSocket != nil, let node = fields["unix_socket"] {
            reader.mistakes.add(
                "\(path).unix_socket: there is a client.proxy too, and nothing goes through a proxy to a Unix socket",
                at: node.position,
                hint: "keep one of them"
            )
        }
    }
}

/// The section `retries`: the policy of the requests, and the budget of the client.
private struct RetrySettings {
    var policy = HTTPDNSClient.RetryPolicy.standard
    var budget = HTTPDNSClient.RetryPolicy.Budget()
}

extension HTTPDNSClient.Configuration {
    private var retrySettings: RetrySettings {
        get { RetrySettings(policy: options.retries, budget: retryBudget) }
        set { (options.retries, retryBudget) = (newValue.policy, newValue.budget) }
    }
}

/// The settings below `client.cookies`.
private struct CookieSettings {
    /// The file in which persistent cookies survive a restart; nil for none.
    var file: String?
    var limits = HTTPDNSClient.CookieJar.Limits()
}

/// The limit of most times.
private let day = Duration.seconds(24 * 3600)

extension HTTPDNSClient.Timeouts {
    fileprivate static let settings: [Setting<Self>] = [
        .init("connect", \.connect, limit).means("The time for connecting."),
        .init("tls", \.tls, limit).means("The time for the TLS handshake."),
        .init("first_byte", \.firstByte, limit).means("The time until the first byte of the response."),
        .init("idle", \.idle, limit).means("The time between two reads or writes."),
        .init("response_head", \.responseHead, limit).means("The time of a call until its response head."),
        .init("total", \.total, limit).means("The time of the whole call, its body included."),
    ]

    private static let limit = SettingForm<Duration?>.limit(
        .milliseconds(1)...day,
        zeroHint: "for no limit write none"
    )
}

extension HTTPDNSClient.Configuration.Connections {
    fileprivate static let settings: [Setting<Self>] = [
        .init("maximum_per_host", \.maximumPerHost, number)
            .means("The maximum number of connections to one host and port."),
        .init("maximum", \.maximum, number).means("The maximum number of connections to all hosts."),
        .init("maximum_streams", \.maximumStreams, .number(1...1_000_000))
            .means("The maximum number of concurrent requests on an HTTP/2 connection, if its server allows as many."),
        .init("maximum_queued", \.maximumQueued, .number(0...1_000_000))
            .means("The maximum number of requests that wait for a connection."),
        .init("queue_wait", \.queueWait, .limit(.milliseconds(1)...day))
            .means("The time limit of that wait, in addition to the request's own limits."),
        .init("maximum_idle", \.maximumIdle, number).means("The maximum number of idle connections."),
        .init("loops", \.loops, .loops)
            .means(
                "The maximum number of threads for requests; `automatic` is one for each processor core, at most 4."
            ),
        .init("idle_timeout", \.idleTimeout, .duration(.seconds(1)...day))
            .means("The time after which an idle connection is closed."),
        .init("maximum_age", \.maximumAge, .duration(.seconds(2)...day))
            .means("The age from which a connection gets no new requests."),
        .init("happy_eyeballs_delay", \.happyEyeballsDelay, .duration(delay))
            .means("The delay before the next address of a request is tried concurrently."),
        .init("address_stickiness", \.addressStickiness, .duration(.zero...day))
            .means("The time for which requests keep an address with open connections that a newer answer lacks."),
        .init("on_address_change", \.onAddressChange, .words(["move_now": .moveNow, "warm_then_move": .warmThenMove]))
            .means(
                "The move to the new addresses of a rotating name: immediately, or after one request has connected."
            ),
        .init("tcp_user_timeout", \.tcpUserTimeout, .limit(.milliseconds(1)...day))
            .means(
                "The time that sent bytes may stay unacknowledged before a connection is closed (TCP_USER_TIMEOUT)."
            ),
        .init("tcp_keepalive", \.tcpKeepalive, .tcpKeepalive)
            .means("The probes of the kernel on connections that carry no data."),
        .init(
            "selection",
            \.selection,
            .words([
                "automatic": .automatic, "given": .given, "round_robin": .roundRobin, "random": .random,
                "fastest": .fastest,
            ])
        )
        .means("The order in which addresses are tried."),
        .init("hedge_after", \.hedgeAfter, .limit(delay))
            .means("The wait for a response before a safe request (GET, HEAD, OPTIONS, TRACE) is sent a second time."),
        .init(
            "ejection",
            \.ejection,
            .section(HTTPDNSClient.Configuration.OutlierEjection.settings) { _ in .init() }
        )
        .means("Outlier ejection: addresses with failing responses are tried last for a while."),
        .init("probing", \.probing, .section(HTTPDNSClient.Configuration.ActiveProbing.settings) { _ in .init() })
            .means("Active probing: connections without a request check addresses."),
        .init("peer_certificates", \.keepsPeerCertificates, .truth)
            .means("Whether exchanges contain the certificates of servers."),
    ]

    /// As many as there are local ports.
    private static let number = SettingForm<Int>.number(1...65_535)
    private static let delay: ClosedRange<Duration> = .milliseconds(10)...(.seconds(60))
}

extension HTTPDNSClient.Configuration.TCPKeepalive {
    fileprivate static let settings: [Setting<Self>] = [
        .init("idle", \.idle, time)
            .means("The time without data before the first probe, in whole seconds (TCP_KEEPIDLE)."),
        .init("interval", \.interval, time).means("The time between two probes, in whole seconds (TCP_KEEPINTVL)."),
        .init("count", \.count, .number(HTTPDNSTransfer.TCPKeepalive.counts))
            .means("The number of unanswered probes that end a connection (TCP_KEEPCNT)."),
    ]

    private static let time = SettingForm<Duration>.duration(HTTPDNSTransfer.TCPKeepalive.times)
}

extension SettingForm<HTTPDNSClient.Configuration.TCPKeepalive> {
    fileprivate static let tcpKeepalive = section(
        Value.settings,
        words: ["none": .off],
        namesWords: false,
        start: { $0 ?? Value() },
        end: { $0 }
    )
}

extension HTTPDNSClient.Configuration.OutlierEjection {
    fileprivate static let settings: [Setting<Self>] = [
        .init("statuses", \.statuses, .set(of: .number(400...599), "statuses from 400 to 599", isUnique: true))
            .means("The statuses of failures."),
        .init("consecutive", \.consecutive, .number(1...1_000))
            .means("The number of consecutive failures that eject an address for a host."),
        .init("duration", \.duration, .duration(.seconds(1)...day)) {
            $0.duration = $1
            $0.maximumDuration = max($0.maximumDuration, $1)
        }
        .means("The duration of the first ejection; later ones double."),
        .init("maximum_duration", \.maximumDuration, ofSection: { .duration($0.duration...day) })
            .means("The maximum duration of an ejection, at least `duration`."),
    ]
}

extension HTTPDNSClient.Configuration.ActiveProbing {
    fileprivate static let settings: [Setting<Self>] = [
        .init("interval", \.interval, .duration(.seconds(1)...day))
            .means("The interval between two probes of an address that was used in the last ten minutes."),
        .init("maximum_concurrent", \.maximumConcurrent, .number(1...1_000))
            .means("The maximum number of concurrent probes."),
    ]
}

extension HTTPDNSClient.Bandwidth {
    fileprivate static let settings: [Setting<Self>] = [
        .init("receiving", \.receiving, rate).means("The maximum number of bytes of response bodies in a second."),
        .init("sending", \.sending, rate).means("The maximum number of bytes of request bodies in a second."),
    ]

    private static let rate = SettingForm<HTTPDNSByteCount?>.byteLimit(1...(1 << 40))
}

extension HTTPDNSClient.RedirectPolicy {
    fileprivate static let settings: [Setting<Self>] = [
        .init("limit", \.limit, .number(0...100)).means("The maximum number of redirects of one call; 0 follows none."),
        .init("downgrade", \.allowsDowngrade, .truth).means("Whether a redirect may lead from https to http."),
        .init("secret_fields", \.secretFields, .fieldNames)
            .means("Header fields that are dropped at another origin, in addition to the usual ones."),
        .init("cross_origin_fields", \.crossOriginFields, .fieldNames)
            .means(
                "The only header fields that are sent to another origin. Without it all but those that look like secrets."
            ),
    ]
}

extension RetrySettings {
    fileprivate static let settings: [Setting<Self>] = [
        .init("limit", \.policy.limit, .number(0...100)).means("The maximum number of retries of one request."),
        .init("delay", \.policy.delay, wait)
            .means("The maximum of the first, random delay; it doubles for each further retry."),
        .init("maximum_delay", \.policy.maximumDelay, wait).means("The maximum delay."),
        .init("maximum_retry_after", \.policy.maximumRetryAfter, wait).means(
            "The longest `Retry-After` that is honored."
        ),
        .init("statuses", \.policy.statuses, .set(of: .number(400...599), "statuses, one or a list"))
            .means("The statuses that are retried."),
        .init("budget", \.budget, section: HTTPDNSClient.RetryPolicy.Budget.settings).means(
            "The limit for the retries of all calls together."
        ),
        .init("network_wait", \.policy.networkWait, wait)
            .means(
                "The time for which a request is repeated while no address accepts a connection, or no name resolves."
            ),
    ]

    private static let wait = SettingForm<Duration>.duration(.zero...(.seconds(3600)))
}

extension HTTPDNSClient.RetryPolicy.Budget {
    fileprivate static let settings: [Setting<Self>] = [
        .init("percent", \.percent, .number(0...1000))
            .means("The number of retries for every 100 calls of 10 seconds."),
        .init("per_second", \.perSecond, .number(0...100_000))
            .means("The number of additional retries in each second."),
    ]
}

extension CookieSettings {
    fileprivate static let settings: [Setting<Self>] = [
        .init("file", \.file, .writableFile).means("The file in which persistent cookies survive a restart."),
        .init("maximum_per_domain", \.limits.maximumPerDomain, number)
            .means("The maximum number of cookies of one domain."),
        .init("maximum", \.limits.maximum, number).means("The maximum number of cookies."),
    ]

    private static let number = SettingForm<Int>.number(HTTPDNSClient.CookieJar.Limits.range)
}

extension ResponseCacheSettings {
    fileprivate static let settings: [Setting<Self>] = [
        .init("folder", \.folder, .path("the path of a folder for this cache alone")).means(
            "The folder in which responses survive a restart."
        ),
        .init("mode", \.isShared, .words(["shared": true, "private": false], suggests: false))
            .means("The rules about sharing responses between users."),
        .init("limit", \.limit, .bytes(65_536...(1 << 40), such: "64MiB"))
            .means("The most bytes of all stored responses."),
        .init("maximum_entries", \.maximumEntries, .number(1...10_000_000))
            .means("The maximum number of stored responses."),
        .init("maximum_age", \.maximumAge, .duration(.seconds(1)...(.seconds(10 * 365 * 86_400)), such: "720h"))
            .means("The age from which a stored response is not used."),
        .init("serves_when_unreachable", \.servesWhenUnreachable, .truth)
            .means("Whether a stored response is served when no server can be reached."),
    ]
}
