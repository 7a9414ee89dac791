// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSConfiguration
import ServerRig
import Testing

#if YAML
struct SchemaTests {
    private let schema: SchemaValidator

    init() throws {
        let text = try Repository.text("Docs/configuration.schema.json")
        schema = SchemaValidator(root: try YAMLDocument.read(text, file: "configuration.schema.json"))
    }

    @Test(
        "Every example of the reference fits the schema",
        arguments: try Repository.examples(of: ["yaml", "json"])
    )
    func good(example: Example) throws {
        #expect(try schema.whyNot(YAMLDocument.read(example.text, file: "example")) == nil)
    }

    @Test("The examples with vendors' accounts fit the schema and are read", arguments: ["alibaba", "tencent"])
    func vendors(name: String) throws {
        let text = try Repository.text("Examples/\(name).yaml")
        #expect(try schema.whyNot(YAMLDocument.read(text, file: "example")) == nil)
        #expect(try HTTPDNSConfigurationFile.settings(text, name: "example.yaml").providers.map(\.name) == [name])
    }

    @Test(
        "The schema refuses every structure that the parser refuses",
        arguments: [
            "{}", "version: 2", "version: 1.0", "mapings: {}", "enabled: yes", "metrics: { host_label: hosts }",
            "agent: { proxy: { port: 0 } }", "agent: { dns: 127.0.0.1 }", "agent: { time_limit: 1 }",
            "serve: { port: 8053 }", "serve: { ttl: 60 }", "serve: { alibaba: { secret: abc } }",
            "serve: { alibaba: { rows_by: name } }", "serve: { alibaba: { unsigned: 1 } }",
            "serve: { tencent: { id: \"\" } }",
            "serve: { alidns: { account: b } }", "serve: { hosts: { x: { fail: 200 } } }",
            "serve: { hosts: { x: { fail: Oops } } }", "serve: { hosts: { x: { delay: 1 } } }",
            "serve: { hosts: { x: { garbage: yes } } }", "serve: { hosts: { x: { cut: -1 } } }",
            "serve: { hosts: { x: { rotate: true } } }", "serve: { hosts: { \"x:443\": { cut: 1 } } }",
            "providers: [a]",
            "providers: { system: { kind: doh, url: https://192.0.2.53/ } }",
            "providers: { a b: { kind: doh, url: https://192.0.2.53/ } }",
            "providers: { a: https://192.0.2.53/ }", "providers: { a: { url: https://192.0.2.53/ } }",
            "providers: { a: { kind: alibaba-v2, url: https://192.0.2.53/ } }",
            "providers: { a: { kind: alibaba-v1, account: 1, encryption: cbc } }",
            "providers: { a: { kind: alibaba-v2, account: 1, encryption: des, encryption_key: { env: A } } }",
            "providers: { a: { kind: alibaba-v2, account: 1, region: mars } }",
            "providers: { a: { kind: alibaba-v2, account: 1, secret: abc } }",
            "providers: { a: { kind: alibaba-v2, account: 1, custom_parameters: [a] } }",
            "providers: { a: { kind: alibaba-v1, account: 1, discovery: often } }",
            "providers: { a: { kind: alibaba-v1, account: \"1/2\" } }", "providers: { a: { kind: doh } }",
            "providers: { a: { kind: tencent, account: 1 } }",
            "providers: { a: { kind: tencent, secret: { env: A } } }",
            "providers: { a: { kind: tencent, account: 1, secret: { env: A }, region: hk } }",
            "providers: { a: { kind: tencent, account: 1, secret: { env: A }, account_refusal_statuses: 500 } }",
            "providers: { a: { kind: tencent, account: 1, secret: { env: A }, account_refusal_statuses: [] } }",
            "providers: { a: { kind: tencent, account: 1, secret: { env: A }, expiry: 600 } }",
            "providers: { a: { kind: tencent, account: 1, encryption_key: abc } }",
            "providers: { a: { kind: doh, url: 192.0.2.53 } }",
            "providers: { a: { kind: doh, url: https://me:x@192.0.2.53/ } }",
            "providers: { a: { kind: doh, url: https://192.0.2.53/, bootstrap: [] } }",
            "providers: { a: { kind: doh, url: https://192.0.2.53/, bootstrap: [dns.example] } }",
            "providers: { a: { kind: doh, url: https://192.0.2.53/, method: GET } }",
            "providers: { a: { kind: doh, url: https://192.0.2.53/, secret: x } }",
            "providers: { a: { kind: dns } }", "providers: { a: { kind: dns, servers: [] } }",
            "providers: { a: { kind: dns, servers: 10.0.0.2, transport: sctp } }",
            "providers: { a: { kind: dns, servers: 10.0.0.2, method: get } }",
            "providers: { a: { kind: json } }", "providers: { a: { kind: json-google, method: get } }",
            "providers: { a: { kind: json-cloudflare, account: b } }",
            "providers: { a: { kind: json-google, url: 192.0.2.53 } }",
            "providers: { a: { kind: json-alidns, account: b, access_key: c, secret: d } }",
            "providers: { a: { kind: json-alidns, account: b, access_key: c, secret: {} } }",
            "providers: { a: { kind: json-alidns, account: b, access_key: c, secret: { env: D, file: e } } }",
            "providers: { a: { kind: json-alidns, account: b c, access_key: c, secret: { env: D } } }",
            "routes: { x: backup }", "routes: { x: [a] }", "routes: { x: { fallback: none } }",
            "routes: { x: { providers: [] } }",
            "routes: { x: { providers: [a], fallback: sys } }", "routes: { x: { providers: [a], families: ipv4 } }",
            "routes: { x: { providers: [a, a] } }", "routes: { x: { providers: [a], rollout: 5 } }",
            "routes: { \"x:443\": system }",
            "routes: { \"a.*.b\": system }", "mappings: { \"*\": system }", "mappings: { \"*x\": system }",
            "mappings: { \"x:0\": system }",
            "mappings: { x: yes }", "mappings: { x: edge.example }", "mappings: { x: [] }", "mappings: { x: }",
            "mappings: { x: {} }",
            "mappings: { x: [203.0.113.7, 203.0.113.7] }", "mappings: { x: 203.0.113.7:0 }",
            "mappings: { x: 10.0.0.0/8 }",
            "mappings: { x: { addresses: {} } }", "mappings: { x: { addresses: { 203.0.113.7: 0 } } }",
            "mappings: { x: { addresses: { 203.0.113.7: 1000001 } } }",
            "mappings: { x: { addresses: { 203.0.113.7: 5% } } }",
            "mappings: { x: { 203.0.113.7: 5 } }", "mappings: { x: { addresses: 203.0.113.7, via: y } }",
            "mappings: { x: { addresses: 203.0.113.7, ttl: 30 } }",
            "mappings: { x: { addresses: 203.0.113.7, ttl: 30sec } }",
            "mappings: { x: { ttl: 30s } }", "mappings: { x: { via: { host: y } } }",
            "mappings: { x: { via: { host: y, keep: [sni] } } }",
            "mappings: { x: { via: \"*.y\" } }", "mappings: { x: { via: y:80 } }",
            "mappings: { x: { last_resort: [203.0.113.7], ttl: 5s } }", "mappings: { x: { last_resort: [] } }",
            "routes: { x: { providers: [a], mode: off } }", "routes: { x: { providers: [a], enabled: 1 } }",
            "routes: { x: { providers: [a], rollout: { percent: 101 } } }",
            "routes: { x: { providers: [a], rollout: { by: key } } }",
            "routes: { x: { providers: [a], rollout: { percent: 1, by: user } } }",
            "policy: { providers_may_answer: all }", "policy: { allow: [office] }", "policy: { allow: [] }",
            "policy: { deny: [] }",
            "cache: { entries: 0 }", "cache: { entries: many }", "cache: { ttl: 30s }",
            "cache: { ttl: { min: 1 } }", "cache: { stale_limit: 1 }", "cache: { bytes: 4MB }",
            "cache: { stale_after: soon }",
            "cache: { refresh_ahead: yes }", "cache: { refresh_idle_names: true }", "cache: { preresolve: [] }",
            "cache: { preresolve: [\"*.a\"] }", "cache: { preresolve: [a, a] }", "cache: { snapshot: a }",
            "cache: { snapshot: { path: a } }", "resolver: { hedge_after: 50 }", "resolver: { families: ipv4 }",
            "resolver: { retries: 3 }", "providers: { a: { kind: doh, url: https://192.0.2.53/, limits: 5 } }",
            "providers: { a: { kind: doh, url: https://192.0.2.53/, limits: { in_flight: 0 } } }",
            "providers: { a: { kind: doh, url: https://192.0.2.53/, limits: { per_second: 0.5 } } }",
            "routes: { x: { providers: [a], order: fast } }", "routes: { x: { providers: [a], second_opinion: 1 } }",
            "routes: { x: { providers: [a], stale_limit: 10 } }",
            "routes: { x: { providers: [a], client_subnet: 10.0.0.1 } }",
            "routes: { x: { providers: [a], https_records: on } }", "routes: { x: { providers: [a], allow: [] } }",
            "routes: { x: { providers: [a], only: [office] } }",
            "client: { timeouts: { connect: 5 } }", "client: { timeouts: { totl: 5s } }", "client: { versions: 3 }",
            "client: { maximum_response_body: 4MB }", "client: { maximum_response_body: 4096 }",
            "client: { ca_file: \"\" }",
            "client: { connections: { maximum_idle: 0 } }", "client: { connections: { loops: 0 } }",
            "client: { connections: { loops: 65 } }", "client: { connections: { loops: all } }",
            "client: { connections: { maximum_per_host: 0 } }",
            "client: { connections: { maximum: none } }", "client: { connections: { maximum_queued: -1 } }",
            "client: { connections: { queue_wait: 5 } }", "client: { connections: { maximum_streams: 0 } }",
            "client: { headers: [a] }", "client: { headers: { \"a b\": x } }", "client: { headers: { X-A: {} } }",
            "client: { headers_by_host: { \"*\": {} } }", "client: { headers_by_host: { a.example: { X-A: 1 } } }",
            "client: { headers_by_host: { a.example: { without: \"a b\" } } }",
            "client: { connections: { on_address_change: x } }", "client: { redirects: none }",
            "client: { redirects: { limit: 101 } }",
            "client: { redirects: { secret_fields: a b } }", "client: { retries: 2 }",
            "client: { retries: { statuses: [302] } }", "client: { retries: { budget: { percent: -1 } } }",
            "client: { retries: { delay: 100 } }", "client: { cookies: on }", "client: { cookies: [memory] }",
            "client: { cookies: { file: \"\" } }", "client: { cookies: { maximum: 0 } }",
            "client: { response_cache: on }", "client: { response_cache: { folder: \"\" } }",
            "client: { response_cache: { mode: both } }", "client: { response_cache: { limit: 5 } }",
            "client: { response_cache: { maximum_entries: 0 } }", "client: { response_cache: { path: x } }",
            "client: { cookies: { maximum_per_domain: 100001 } }", "client: { cookies: { store: memory } }",
            "client: { connections: { selection: fast } }", "client: { connections: { hedge_after: 5 } }",
            "client: { connections: { tcp_user_timeout: 0 } }", "client: { connections: { tcp_keepalive: off } }",
            "client: { connections: { tcp_keepalive: { count: 0 } } }", "client: { connections: { ejection: on } }",
            "client: { connections: { ejection: { statuses: [200] } } }",
            "client: { connections: { ejection: { statuses: [500, 500] } } }",
            "client: { connections: { ejection: { consecutive: 0 } } }",
            "client: { connections: { probing: { maximum_concurrent: 0 } } }",
            "client: { connections: { probing: { every: 5s } } }",
            "client: { connections: { peer_certificates: all } }",
            "client: { proxy: ftp://192.0.2.1 }", "client: { proxy: \"http://me:x@192.0.2.1\" }",
            "client: { proxy: [a] }",
            "client: { proxy: { user: me } }", "client: { proxy: { url: http://a, password: { env: X } } }",
            "client: { proxy: { url: http://a, user: me, password: x } }",
            "client: { proxy: { url: http://a, resolve: here } }", "client: { proxy: { url: http://a, except: [] } }",
            "client: { proxy: { url: http://a, except: [a, a] } }", "client: { unix_socket: \"\" }",
            "client: { local_source: \"eth 0\" }", "client: { local_source: an-interface-too-long }",
            "client: { trust_by_host: [a.example] }", "client: { trust_by_host: { a.example: { pins: [] } } }",
            "client: { trust_by_host: { \"*\": { minimum_version: 1.3 } } }",
            "client: { trust_by_host: { a.example: { pins_by_host: {} } } }",
            "client: { trust: { pins: [abc] } }", "client: { trust: { pins: [] } }", "client: { trust: { pin: x } }",
            "client: { trust: { maximum_version: 1.4 } }", "client: { trust: { ciphers: [] } }",
            "client: { trust: { ciphers: [\"HIGH:!aNULL\"] } }", "client: { trust: { ciphers_tls13: AES128-SHA } }",
            "client: { trust: { curves: [X25519, X25519] } }", "client: { trust: { curves: P256 } }",
            "client: { trust: { minimum_version: 1.1 } }", "client: { trust: { verification: false } }",
            "client: { trust: { client_certificate: { key: x.pem } } }",
            "client: { trust: { client_certificate: { file: \"\" } } }",
            "client: { trust: { pins_by_host: { \"a.*.b\": YhKJKSzoTt2b5FP18fvpHo7fJYqQCjAa3HWY3tvRMwE= } } }",
        ]
    )
    func bad(text: String) throws {
        let text = text.hasPrefix("version") || text == "{}" ? text : "version: 1\n\(text)\n"
        #expect(throws: HTTPDNSConfigurationFileError.self) {
            try HTTPDNSConfigurationFile.settings(text, name: "f.yaml")
        }
        #expect(try schema.whyNot(YAMLDocument.read(text, file: "f.yaml")) != nil)
    }

    @Test("The schema has the parser's keys, and no others")
    func keys() throws {
        let definitions = try #require(schema.root["$defs"])
        let top = try #require(schema.root["properties"])
        func keys(_ node: ConfigurationNode?) -> Set<String> {
            Set((node?["properties"]?.entries ?? []).compactMap(\.key.text))
        }
        func objects(_ node: ConfigurationNode?) -> [ConfigurationNode] {
            (node?["anyOf"]?.items ?? []).filter { $0["properties"] != nil }
        }
        let mapping = objects(definitions["mapping"])
        let via = mapping.compactMap { $0["properties"]?["via"] }.flatMap(objects).first
        let client = top["client"]?["properties"]
        let providers = objects(definitions["provider"])
        try #require(providers.count == 7)
        let kinds = [
            "doh", "dns", "json-google or json-cloudflare", "json-alidns", "alibaba-v1", "alibaba-v2", "tencent",
        ]
        let pairs: [(Set<String>, String)] =
            zip(providers, kinds).map { (keys($0), "a provider of kind \($1)") } + [
                (objects(definitions["secret"]).reduce(into: []) { $0.formUnion(keys($1)) }, "a secret"),
                (keys(definitions["limits"]), "a provider's limits"),
                (keys(definitions["rollout"]), "a route's rollout"),
                (keys(objects(definitions["route"]).first), "a route"),
                (mapping.reduce(into: []) { $0.formUnion(keys($1)) }, "a mapping"), (keys(via), "via"),
                (keys(client?["trust_by_host"]?["additionalProperties"]), "a host's trust"),
                (keys(client?["headers_by_host"]?["additionalProperties"]), "a host's headers"),
                (
                    objects(client?["credentials"]?["items"]).reduce(into: []) { $0.formUnion(keys($1)) },
                    "an entry of client.credentials"
                ),
                (keys(definitions["fault"]), "a host of serve"),
            ]
        // The rest of the schema is generated.
        for (found, name) in pairs {
            let table = try #require(KeyTable.all.first { $0.name == name }, "\(name)")
            #expect(found == Set(table.keys), "\(name)")
        }
    }
}

struct ReferenceTests {
    @Test(
        "Every example of the reference is read",
        arguments: try Repository.examples(of: ["yaml", "json", "hosts"])
    )
    func examples(example: Example) throws {
        _ = try HTTPDNSConfigurationFile.settings(example.text, name: "example." + example.language)
    }

    @Test("The reference names every key and value")
    func complete() throws {
        let text = try Repository.text("Docs/Configuration.md")
        for key in KeyTable.all.flatMap(\.keys) {
            #expect(
                text.contains("`\(key).") || text.contains("`\(key)`") || text.contains(".\(key)`")
                    || text.contains("## \(key)\n")
                    || text.contains("{ \(key):") || text.contains(", \(key):"),
                "\(key)"
            )
        }
        func words(_ facts: [SettingFacts]) -> [Substring] {
            facts.flatMap { facts in
                facts.values.split(separator: "`", omittingEmptySubsequences: false).enumerated()
                    .filter { !$0.offset.isMultiple(of: 2) }.map(\.element) + words(facts.parts)
            }
        }
        for word in words(FileSettings.facts) { #expect(text.contains("`\(word)`"), "\(word)") }
    }
}

/// A fenced block of the reference.
struct Example: Sendable, CustomTestStringConvertible {
    var language: String
    var line: Int
    var text: String
    var testDescription: String { "\(language) on line \(line)" }
}

extension Repository {
    static func examples(of languages: [String]) throws -> [Example] {
        let text = try text("Docs/Configuration.md")
        var examples: [Example] = []
        var open: Example?
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.hasPrefix("```") {
                if let example = open { examples.append(example) }
                open = open == nil ? Example(language: String(line.dropFirst(3)), line: number + 1, text: "") : nil
            } else {
                open?.text += line + "\n"
            }
        }
        let found = examples.filter { languages.contains($0.language) }
        // A table of none would prove nothing.
        try #require(found.count >= 8)
        return found
    }
}
#endif
