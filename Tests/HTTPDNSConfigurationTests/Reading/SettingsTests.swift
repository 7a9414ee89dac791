// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSConfiguration
import Testing

#if YAML
struct SettingsTests {
    private func mappings(_ lines: String) throws -> [HTTPDNSMapping.Key: HTTPDNSMapping] {
        let text = "version: 1\nmappings:\n" + lines.split(separator: "\n").map { "  \($0)\n" }.joined()
        return try HTTPDNSConfigurationFile.settings(text, name: "f.yaml").configuration.resolver.mappings
    }

    private func targets(_ value: String) throws -> [HTTPDNSMapping.Target] {
        let rule = try mappings("a.example: \(value)").values.first
        guard case .addresses(let targets)? = rule?.action else { return [] }
        return targets
    }

    private let v4 = HTTPDNSAddress(v4: 203, 0, 113, 7)
    private let v6 = HTTPDNSAddress("2001:db8::7")!

    @Test("The smallest file gives the defaults")
    func smallest() throws {
        let settings = try HTTPDNSConfigurationFile.settings("version: 1", name: "f.yaml")
        #expect(
            settings.providers.isEmpty && settings.configuration.resolver.routes.isEmpty
                && settings.configuration.resolver.mappings.isEmpty
        )
        #expect(settings.configuration.resolver.policy == HTTPDNSAddressPolicy())
        #expect(settings.configuration.resolver.cache == HTTPDNSResolver.Configuration.Cache())
        #expect(settings.configuration.timeouts == HTTPDNSClient.Timeouts())
        #expect(settings.configuration.versions == .automatic)
        #expect(
            settings.configuration.maximumResponseBody == nil && !settings.configuration.mergesIdenticalReads
        )
        #expect(settings.configuration.connections == HTTPDNSClient.Configuration.Connections())
    }

    /// Key pins are for all hosts or for some.
    @Test("Trust settings are read: key pins, minimum TLS version and verification")
    func trust() throws {
        let pin = try HTTPDNSTrust.PublicKeyPin("sha256//YhKJKSzoTt2b5FP18fvpHo7fJYqQCjAa3HWY3tvRMwE=")
        let text = """
            version: 1
            client:
              trust:
                pins: \(pin)
                pins_by_host: { "*.Shop.example": [\(pin)] }
                minimum_version: 1.3
                verification: insecurely-accepting-any-certificate
            """
        let trust = try HTTPDNSConfigurationFile.settings(text, name: "f.yaml").configuration.trust
        #expect(trust.pins == [pin] && trust.pinsByHost == ["*.shop.example": [pin]])
        #expect(trust.minimumVersion == .tls13 && trust.verification == .insecurelyAcceptingAnyCertificate)
        #expect(
            try HTTPDNSConfigurationFile.settings("version: 1", name: "f.yaml").configuration.trust == HTTPDNSTrust()
        )
    }

    @Test("TLS versions, ciphers and curves are read, for all hosts and for one")
    func tlsNegotiation() throws {
        let text = """
            version: 1
            client:
              trust:
                maximum_version: 1.2
                ciphers: [ECDHE-ECDSA-AES128-GCM-SHA256, ECDHE-RSA-AES128-GCM-SHA256]
                curves: X25519
              trust_by_host:
                bank.example:
                  minimum_version: 1.3
                  maximum_version: 1.3
                  ciphers_tls13: TLS_AES_256_GCM_SHA384
                  curves: [P-384, P-256]
            """
        let configuration = try HTTPDNSConfigurationFile.parse(text, name: "f.yaml")
        #expect(configuration.trust.maximumVersion == .tls12 && configuration.trust.curves == ["X25519"])
        #expect(configuration.trust.ciphers == ["ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256"])
        var bank = configuration.trust
        (bank.minimumVersion, bank.maximumVersion) = (.tls13, .tls13)
        (bank.ciphersTLS13, bank.curves) = (["TLS_AES_256_GCM_SHA384"], ["P-384", "P-256"])
        #expect(configuration.trustByHost == [try HTTPDNSRoute.Pattern("bank.example"): bank])
    }

    @Test("Sections without content have no effect")
    func emptyParts() throws {
        let text = "version: 1\nproviders:\nroutes: {}\nmappings: ~\npolicy:\ncache: { ttl: }\nclient: null\n"
        let settings = try HTTPDNSConfigurationFile.settings(text, name: "f.yaml")
        #expect(
            settings.configuration.resolver.mappings.isEmpty
                && settings.configuration.resolver.cache == HTTPDNSResolver.Configuration.Cache()
        )
        for (nothing, isOn) in [("", false), (" ~", false), (" null", false), (" {}", true)] {
            let text = "version: 1\nclient:\n  connections:\n    ejection:\(nothing)\n    probing:\(nothing)\n"
            let connections = try HTTPDNSConfigurationFile.settings(text, name: "f.yaml").configuration.connections
            #expect(connections.ejection == (isOn ? HTTPDNSClient.Configuration.OutlierEjection() : nil))
            #expect(connections.probing == (isOn ? HTTPDNSClient.Configuration.ActiveProbing() : nil))
        }
    }

    @Test(
        "An address is read in each of its forms",
        arguments: [
            ("203.0.113.7", "203.0.113.7", nil), ("203.0.113.7:8443", "203.0.113.7", 8443),
            ("2001:db8::7", "2001:db8::7", nil), ("\"2001:DB8:0::7\"", "2001:db8::7", nil),
            ("\"[2001:db8::7]\"", "2001:db8::7", nil), ("\"[2001:db8::7]:8443\"", "2001:db8::7", 8443),
            ("'[::1]:65535'", "::1", 65535), ("::1", "::1", nil), ("[2001:db8::7]", "2001:db8::7", nil),
            ("[203.0.113.7:1]", "203.0.113.7", 1), ("{ addresses: 203.0.113.7 }", "203.0.113.7", nil),
            ("|-\n    203.0.113.7", "203.0.113.7", nil),
        ] as [(String, String, UInt16?)]
    )
    func addressForms(written: String, address: String, port: UInt16?) throws {
        #expect(try targets(written) == [HTTPDNSMapping.Target(try #require(HTTPDNSAddress(address)), port: port)])
    }

    @Test("Lists keep their order, and weights their addresses")
    func severalAddresses() throws {
        #expect(try targets("[203.0.113.7, \"2001:db8::7\"]") == [.init(v4), .init(v6)])
        #expect(try targets("\n  - 2001:db8::7\n  - 203.0.113.7") == [.init(v6), .init(v4)])
        let weighted = try targets("{ addresses: { 203.0.113.7: 95, \"[2001:db8::7]:8443\": 5 } }")
        #expect(weighted == [.init(v4, weight: 95), .init(v6, port: 8443, weight: 5)])
        #expect(
            try targets("{ addresses: [203.0.113.7, 203.0.113.7:8443] }") == [.init(v4), .init(v4, port: 8443)]
        )
    }

    @Test(
        "The key of a mapping is canonical",
        arguments: [
            ("Img.Shop.EXAMPLE", "img.shop.example"), ("img.shop.example.", "img.shop.example"),
            ("\"*.Shop.example\"", "*.shop.example"), ("img.shop.example:8443", "img.shop.example:8443"),
            ("\"*.shop.example:8443\"", "*.shop.example:8443"), ("b\u{fc}cher.example", "xn--bcher-kva.example"),
            ("no", "no"), ("db", "db"), ("_grpc.shop.example", "_grpc.shop.example"), ("\"y\"", "y"),
        ]
    )
    func keys(written: String, canonical: String) throws {
        #expect(try mappings("\(written): 203.0.113.7").keys.map(\.description) == [canonical])
    }

    @Test("A rule has its kind, its time to live and its line")
    func rules() throws {
        let rules = try mappings(
            """
            # the first line of the rules is line 3
            a.example: system
            b.example: { via: Edge.CDN.example, ttl: 90s }
            c.example: { via: { host: edge.cdn.example, keep: [host] } }

            d.example: { addresses: 203.0.113.7, ttl: 500ms }
            """.replacing("500ms", with: "1500ms").replacing("\n\n", with: "\n#\n")
        )
        let edge = try HTTPDNSName("edge.cdn.example")
        func rule(_ name: String) throws -> HTTPDNSMapping {
            try #require(rules[HTTPDNSMapping.Key(.exact(HTTPDNSName(name)))])
        }
        func line(_ line: Int) -> HTTPDNSSourceLocation {
            HTTPDNSSourceLocation(file: "f.yaml", line: line)
        }
        #expect(try rule("a.example") == HTTPDNSMapping(.system, location: line(4)))
        let via = HTTPDNSMapping(.via(edge, usesTargetIdentity: false), timeToLive: .seconds(90), location: line(5))
        #expect(try rule("b.example") == via)
        #expect(try rule("c.example") == HTTPDNSMapping(.via(edge, usesTargetIdentity: true), location: line(6)))
        let last = HTTPDNSMapping(.addresses([.init(v4)]), timeToLive: .milliseconds(1500), location: line(8))
        #expect(try rule("d.example") == last)
    }

    @Test("Routes have their providers, fallback, address families and line")
    func routes() throws {
        let settings = try HTTPDNSConfigurationFile.settings(
            """
            version: 1
            routes:
              "*": { providers: [one, two], fallback: system }
              "*.Shop.example": { providers: two, families: v4 }
              db: { providers: [one], fallback: none, families: both }
              legacy.example: system
            providers:
              two: { kind: doh, url: https://192.0.2.54/dns-query, method: post }
              one: { kind: doh, url: https://doh.example/q, bootstrap: [192.0.2.53, "[2001:db8::53]"] }
              unused: { kind: doh, url: "http://127.0.0.1:8053/dns-query" }
            """,
            name: "conf/f.yaml"
        )
        func line(_ line: Int) -> HTTPDNSSourceLocation {
            HTTPDNSSourceLocation(file: "conf/f.yaml", line: line)
        }
        #expect(
            settings.configuration.resolver.routes == [
                HTTPDNSRoute(.any, .providers(["one", "two"], fallback: .system), location: line(3)),
                HTTPDNSRoute(
                    .suffix(try HTTPDNSName("shop.example")),
                    .providers(["two"], fallback: .off),
                    families: .v4,
                    location: line(4)
                ),
                HTTPDNSRoute(
                    .exact(try HTTPDNSName("db")),
                    .providers(["one"], fallback: .off),
                    families: .both,
                    location: line(5)
                ),
                HTTPDNSRoute(.exact(try HTTPDNSName("legacy.example")), .system, location: line(6)),
            ]
        )
        #expect(settings.providers.map(\.name) == ["two", "one", "unused"])
        #expect(settings.providers[0].kind == .doh && settings.providers[0].method == .post)
        #expect(settings.providers[1].kind == .doh && settings.providers[1].method == .get)
        #expect(settings.providers[1].bootstrap?.map(\.description) == ["192.0.2.53", "2001:db8::53"])
        #expect(settings.providers[1].position.line == 9)
    }

    @Test("Policy, cache and client settings are read")
    func values() throws {
        let settings = try HTTPDNSConfigurationFile.settings(
            """
            version: "1"
            policy: { providers_may_answer: loopback, allow: [10.1.0.0/16, "fd00::/8", 169.254.1.1], deny: 10.1.2.0/24 }
            cache: { entries: 12, ttl: { min: 1s, max: 10m } }
            client:
              timeouts: { connect: 250ms, tls: 3s, first_byte: none, idle: 2m, response_head: 90s, total: 1h }
              connections: { maximum_per_host: 4, maximum: 9, maximum_streams: 50, maximum_queued: 0, \
            queue_wait: 2s, maximum_idle: 7, loops: 3 }
              versions: 1.1
              maximum_response_body: 64KiB
              bandwidth: { receiving: 4MiB, sending: none }
              merges_identical_reads: true
              allows_cleartext_credentials: true
            """,
            name: "f.yaml"
        )
        #expect(settings.answerScope == .loopback)
        #expect(
            settings.configuration.resolver.policy.allowed.map(\.description) == [
                "10.1.0.0/16", "fd00::/8", "169.254.1.1/32",
            ]
        )
        #expect(settings.configuration.resolver.policy.denied.map(\.description) == ["10.1.2.0/24"])
        #expect(settings.configuration.resolver.cache.entries == 12)
        #expect(
            settings.configuration.resolver.cache.minimumTimeToLive == .seconds(1)
                && settings.configuration.resolver.cache.maximumTimeToLive == .seconds(600)
        )
        var timeouts = HTTPDNSClient.Timeouts()
        (timeouts.connect, timeouts.tls, timeouts.firstByte) = (.milliseconds(250), .seconds(3), nil)
        (timeouts.idle, timeouts.responseHead, timeouts.total) = (.seconds(120), .seconds(90), .seconds(3600))
        #expect(settings.configuration.timeouts == timeouts)
        #expect(settings.configuration.connections.maximumIdle == 7 && settings.configuration.connections.loops == 3)
        #expect(
            settings.configuration.connections.maximumPerHost == 4 && settings.configuration.connections.maximum == 9
        )
        #expect(settings.configuration.connections.maximumStreams == 50)
        #expect(
            settings.configuration.connections.maximumQueued == 0
                && settings.configuration.connections.queueWait == .seconds(2)
        )
        #expect(settings.configuration.versions == .http1Only)
        #expect(settings.configuration.maximumResponseBody == .kibibytes(64))
        #expect(settings.configuration.bandwidth == HTTPDNSClient.Bandwidth(receiving: .mebibytes(4)))
        let configuration = try settings.clientConfiguration(file: "f.yaml")
        #expect(configuration.bandwidth == settings.configuration.bandwidth)
        #expect(settings.configuration.mergesIdenticalReads && settings.configuration.allowsCleartextCredentials)
    }

    /// Names in any case.
    @Test("Default header fields are read: for all hosts and some, with lists of values")
    func headers() throws {
        let settings = try HTTPDNSConfigurationFile.settings(
            """
            version: 1
            client:
              headers: { User-Agent: shop/1.4, x-list: [a, b], X-Empty: "" }
              headers_by_host:
                "*.partner.example": { fields: { user-agent: shop-partner/1 }, without: [X-LIST] }
                one.example:
            """,
            name: "f.yaml"
        )
        let list = try #require(HTTPField.Name("X-List"))
        let empty = try #require(HTTPField.Name("X-Empty"))
        let headers = try settings.clientConfiguration(file: "f.yaml").headers
        #expect(headers.fields[.userAgent] == "shop/1.4" && headers.fields[values: list] == ["a", "b"])
        #expect(headers.fields[empty] == "" && headers.fields.count == 4)
        let partner = try #require(headers.byHost[try HTTPDNSRoute.Pattern("*.partner.example")])
        #expect(partner.fields[.userAgent] == "shop-partner/1" && partner.without == [list])
        #expect(
            headers.byHost[try HTTPDNSRoute.Pattern("one.example")]
                == HTTPDNSClient.Configuration.DefaultHeaders.HostHeaders()
        )
        let none = try HTTPDNSConfigurationFile.settings(
            "version: 1\nclient: { headers: , headers_by_host: ~ }",
            name: "f.yaml"
        )
        #expect(none.configuration.headers == HTTPDNSClient.Configuration.DefaultHeaders())
    }

    /// Values that the file omits keep their defaults.
    @Test("Redirects and retries are read; without their key nothing is retried")
    func hops() throws {
        let settings = try HTTPDNSConfigurationFile.settings(
            """
            version: 1
            client:
              redirects: { limit: 5, downgrade: true, secret_fields: [X-Tenant-Token, x-b], cross_origin_fields: accept }
              retries:
                limit: 1
                delay: 50ms
                maximum_delay: 1s
                maximum_retry_after: 0s
                statuses: 503
                network_wait: 2m
                budget: { percent: 5, per_second: 0 }
            """,
            name: "f.yaml"
        )
        let configuration = try settings.clientConfiguration(file: "f.yaml")
        #expect(
            configuration.redirects == settings.configuration.redirects
                && configuration.retries == settings.configuration.retries
        )
        #expect(settings.configuration.redirects.limit == 5 && settings.configuration.redirects.allowsDowngrade)
        let own = try ["X-Tenant-Token", "X-B"].map { try #require(HTTPField.Name($0)) }
        #expect(
            settings.configuration.redirects.secretFields == Set(own)
        )
        #expect(settings.configuration.redirects.crossOriginFields == [.accept])
        var retries = HTTPDNSClient.RetryPolicy()
        (retries.limit, retries.statuses, retries.delay) = (1, [503], .milliseconds(50))
        (retries.maximumDelay, retries.maximumRetryAfter) = (.seconds(1), .zero)
        retries.networkWait = .seconds(120)
        #expect(settings.configuration.retries == retries)
        let budget = settings.configuration.retryBudget
        #expect(budget.percent == 5 && budget.perSecond == 0)
        for (text, expected) in [("{}", HTTPDNSClient.RetryPolicy.standard), ("", .off)] {
            let text = "version: 1\nclient: { versions: auto, retries: \(text) }"
            #expect(try HTTPDNSConfigurationFile.settings(text, name: "f.yaml").configuration.retries == expected)
        }
        #expect(
            try HTTPDNSConfigurationFile.settings("version: 1\nclient: {}", name: "f.yaml").configuration.retries
                == .off
        )
    }

    /// A proxy comes from its URL, from all of its keys, or from the environment.
    @Test("A proxy, a Unix socket and an interface are read as egress paths")
    func egress() throws {
        func settings(_ client: String) throws -> HTTPDNSClient.Configuration {
            try HTTPDNSConfigurationFile.settings("version: 1\nclient: { \(client) }", name: "/etc/f.yaml")
                .clientConfiguration(file: "/etc/f.yaml")
        }
        #expect(try settings("").proxy == .off && settings("proxy: none").proxy == .off)
        #expect(try settings("proxy: environment").proxy == .environment)
        var proxy = try HTTPDNSClient.Proxy("http://proxy.example:3128")
        #expect(try settings("proxy: http://proxy.example:3128").proxy == .through(proxy))
        proxy.resolvesLocally = true
        var credential = HTTPDNSClient.Proxy.Credential(user: "me", password: .environment("PROXY_PASSWORD"))
        credential.scheme = .digest
        proxy.credential = credential
        let written = try settings(
            """
            proxy: { url: "http://proxy.example:3128", user: me, password: { env: PROXY_PASSWORD }, scheme: digest, resolve: local, \
            except: [.local.example, 10.0.0.0/8] }
            """
        )
        let exceptions = try HTTPDNSClient.Proxy.Exceptions([".local.example", "10.0.0.0/8"])
        #expect(written.proxy == .through(proxy, except: exceptions))
        #expect(written.proxy.description == "http://proxy.example:3128 except .local.example,10.0.0.0/8")
        #expect(try settings("unix_socket: run/app.sock").unixSocket == "/etc/run/app.sock")
        #expect(try settings("local_source: eth0").localSource == .interface("eth0"))
        #expect(try settings("local_source: 192.0.2.7").localSource == .address(HTTPDNSAddress(v4: 192, 0, 2, 7)))
    }

    @Test("Connection settings are read, and omitted ones keep the values of code")
    func connections() throws {
        let settings = try HTTPDNSConfigurationFile.settings(
            """
            version: 1
            client:
              connections:
                tcp_user_timeout: none
                tcp_keepalive: { idle: 75s, count: 3 }
                selection: round_robin
                hedge_after: 80ms
                ejection: { statuses: 503, consecutive: 2, duration: 10m }
                probing: {}
                peer_certificates: true
            """,
            name: "f.yaml"
        )
        var connections = HTTPDNSClient.Configuration.Connections()
        #expect(
            try HTTPDNSConfigurationFile.settings("version: 1", name: "f.yaml").configuration.connections == connections
        )
        connections.tcpUserTimeout = nil
        (connections.tcpKeepalive.idle, connections.tcpKeepalive.count) = (.seconds(75), 3)
        connections.selection = .roundRobin
        connections.hedgeAfter = .milliseconds(80)
        var ejection = HTTPDNSClient.Configuration.OutlierEjection()
        ejection.statuses = [503]
        ejection.consecutive = 2
        (ejection.duration, ejection.maximumDuration) = (.seconds(600), .seconds(600))
        connections.ejection = ejection
        connections.probing = HTTPDNSClient.Configuration.ActiveProbing()
        connections.keepsPeerCertificates = true
        #expect(settings.configuration.connections == connections)
        #expect(try HTTPDNSConfigurationFile.parse("version: 1", name: "f.yaml").connections != connections)
        let never = "version: 1\nclient: { connections: { tcp_keepalive: none } }"
        #expect(
            try HTTPDNSConfigurationFile.settings(never, name: "f.yaml").configuration.connections.tcpKeepalive
                == .off
        )
    }

    @Test("A host's trust settings win over those for all hosts, one by one")
    func trustByHost() throws {
        let text = """
            version: 1
            client:
              trust:
                minimum_version: 1.3
                pins_by_host: { "*.shop.example": YhKJKSzoTt2b5FP18fvpHo7fJYqQCjAa3HWY3tvRMwE= }
              trust_by_host:
                lab.shop.example: { verification: insecurely-accepting-any-certificate }
                "*.pay.example": { pins: AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=, minimum_version: 1.2 }
            """
        let configuration = try HTTPDNSConfigurationFile.parse(text, name: "f.yaml")
        var lab = configuration.trust
        #expect(lab.minimumVersion == .tls13 && !lab.pinsByHost.isEmpty)
        lab.verification = .insecurelyAcceptingAnyCertificate
        var pay = HTTPDNSTrust()
        pay.pins = [try HTTPDNSTrust.PublicKeyPin("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")]
        #expect(
            configuration.trustByHost == [
                try HTTPDNSRoute.Pattern("lab.shop.example"): lab, try HTTPDNSRoute.Pattern("*.pay.example"): pay,
            ]
        )
    }

    @Test("Values become a client's configuration")
    func configuration() throws {
        let configuration = try HTTPDNSConfigurationFile.parse(
            "version: 1\nmappings: { a.example: 203.0.113.7 }\ncache: { entries: 5 }\n"
                + "client: { versions: 1.1, maximum_response_body: none }",
            name: "f.yaml"
        )
        #expect(configuration.resolver.mappings.count == 1)
        #expect(configuration.resolver.cache.entries == 5)
        #expect(configuration.versions == .http1Only && configuration.maximumResponseBody == nil)
        #expect(configuration.connections == HTTPDNSClient.Configuration().connections)
        #expect(configuration.isEnabled)
    }

    @Test("JSON gives the same settings as YAML")
    func json() throws {
        let json = """
            {\t"version":1,
            \t"mappings":{"A.example":["203.0.113.7","2001:db8::7"],"b\\u00fccher.example":{"addresses":{"203.0.113.7":95}}},
            \t"cache":{"entries":12,"ttl":{"min":"1s"}},"client":{"versions":"1.1"}}
            """
        let yaml = """
            version: 1
            mappings: { A.example: [203.0.113.7, "2001:db8::7"], b\u{fc}cher.example: { addresses: { 203.0.113.7: 95 } } }
            cache: { entries: 12, ttl: { min: 1s } }
            client: { versions: 1.1 }
            """
        let (left, right) = (
            try HTTPDNSConfigurationFile.settings(json, name: "f"),
            try HTTPDNSConfigurationFile.settings(yaml, name: "f")
        )
        #expect(
            left.configuration.resolver.mappings == right.configuration.resolver.mappings
                && left.configuration.resolver.mappings.count == 2
        )
        #expect(
            left.configuration.resolver.cache == right.configuration.resolver.cache
                && left.configuration.resolver.cache.entries == 12
        )
        #expect(
            left.configuration.versions == right.configuration.versions && left.configuration.versions == .http1Only
        )
    }

    @Test(
        "A byte order mark, CR LF, a document mark and a version directive change nothing",
        arguments: [
            "\u{feff}version: 1\nmappings: { a.example: 203.0.113.7 }\n",
            "version: 1\r\nmappings:\r\n  a.example: 203.0.113.7\r\n",
            "%YAML 1.1\n---\nversion: 1\nmappings: { a.example: 203.0.113.7 }\n...\n",
            "version: 1\rmappings: { a.example: 203.0.113.7 }",
        ]
    )
    func frames(text: String) throws {
        #expect(try HTTPDNSConfigurationFile.settings(text, name: "f.yaml").configuration.resolver.mappings.count == 1)
    }

    @Test("Ten thousand rules have their own addresses and lines")
    func many() throws {
        let lines = (0..<10_000).map {
            "h\($0).shop.example: [10.0.\($0 / 256).\($0 % 256), \"2001:db8::\($0 % 9 + 1)\"]\n"
        }
        let rules = try mappings(lines.joined())
        #expect(rules.count == 10_000)
        let rule = try #require(rules[HTTPDNSMapping.Key(.exact(HTTPDNSName("h9999.shop.example")))])
        #expect(rule.location == HTTPDNSSourceLocation(file: "f.yaml", line: 10_002))
        #expect(
            rule.action
                == .addresses([.init(HTTPDNSAddress(v4: 10, 0, 39, 15)), .init(HTTPDNSAddress("2001:db8::1")!)])
        )
    }
}
#endif
