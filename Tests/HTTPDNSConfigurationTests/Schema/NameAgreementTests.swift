// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSConfiguration
import HTTPDNSResponseCache
import HTTPDNSVendors
import ServerRig
import Testing

struct NameAgreementTests {
    /// The section, key and property of each exception.
    private let exceptions: [[String]] = nameExceptions.split(separator: "\n").flatMap { row -> [[String]] in
        let names = row.drop { $0 != ":" }.dropFirst().split(separator: " ")
        return names.map { $0.split(omittingEmptySubsequences: false) { ".=".contains($0) }.map(String.init) }
    }

    @Test("A key of the file and its property have one name, or a stated reason", arguments: Section.all)
    func names(section: Section) {
        let keys = section.keys.filter { !section.properties.contains(camelCase($0)) }
        let properties = section.properties.subtracting(section.keys.map(camelCase))
        let found = exceptions.filter { $0.count == 3 && $0[0] == section.name }
        let (exemptKeys, exemptProperties) = (Set(found.map { $0[1] }), Set(found.map { $0[2] }))
        #expect(keys.subtracting(exemptKeys).sorted() == [], "keys without a property of that name")
        #expect(properties.subtracting(exemptProperties).sorted() == [], "properties without a key of that name")
        #expect(exemptKeys.subtracting(keys + [""]).sorted() == [], "stale exceptions: they agree, or are gone")
        #expect(exemptProperties.subtracting(properties.union([""])).sorted() == [], "stale exceptions")
    }

    @Test("Every section of the file is compared, or has a stated reason")
    func sections() {
        let compared = Set(Section.all.flatMap(\.tables))
        let others = Set(notCompared.map(\.table))
        #expect(compared.intersection(others).sorted() == [], "stale exceptions: these are compared")
        #expect(compared.union(others).sorted() == KeyTable.all.map(\.name).sorted())
        #expect(exceptions.filter { $0.count != 3 } == [], "malformed exceptions")
        let unknown = Set(exceptions.map { $0[0] }).subtracting(Section.all.map(\.name))
        #expect(unknown.sorted() == [], "exceptions for sections that do not exist")
    }

    @Test("The reference lists each key whose name in code differs")
    func reference() throws {
        let page = try Repository.text("Docs/Configuration.md")
        let lines = page.split(separator: "\n").drop { $0 != "## Names in code" }.dropFirst()
        let listed = Set(lines.prefix { !$0.hasPrefix("## ") }.flatMap(differingNames))
        // The property of the response cache has the name of its key, in another module.
        let differing = exceptions.filter { !$0[1].isEmpty && !$0[2].isEmpty && $0[2] != "responseCaching" }
        #expect(differing.count > 30)
        for names in differing {
            #expect(listed.contains([names[1], names[2]]), "Names in code lacks \(names[1]): \(names[2])")
        }
    }

    /// Returns the pairs of a key and its name in code that a row of the reference lists.
    private func differingNames(_ row: Substring) -> [[String]] {
        let cells = row.split(separator: " | ", maxSplits: 1)
        guard row.hasPrefix("| `"), cells.count == 2 else { return [] }
        let names = cells.map { cell in
            cell.split(separator: "`", omittingEmptySubsequences: false).enumerated()
                .filter { !$0.offset.isMultiple(of: 2) }.compactMap {
                    $0.element.split(separator: ".").last.map(String.init)
                }
        }
        return names[0].flatMap { key in names[1].map { [key, $0] } }
    }
}

/// The keys of parts of the file, and the stored properties of the values that they set.
struct Section: Sendable, CustomTestStringConvertible {
    let name: String
    let tables: [String]
    let keys: Set<String>
    let properties: Set<String>
    var testDescription: String { name }

    init(_ name: String, _ tables: [String], _ values: Any...) {
        self.name = name
        self.tables = tables
        keys = Set(KeyTable.all.filter { tables.contains($0.name) }.flatMap(\.keys))
        properties = Set(values.flatMap { Mirror(reflecting: $0).children.compactMap(\.label) })
    }

    static let all: [Section] = {
        let account = HTTPDNSVendorCredential(account: "1")
        let alibaba = HTTPDNSAlibabaProvider.Configuration(name: "a", version: .v2, credential: account)
        let tencent = HTTPDNSTencentProvider.Configuration(name: "a", credential: account)
        return [
            // The file has the main settings of the resolver at its top level.
            Section("resolver", ["the top level", "resolver"], HTTPDNSResolver.Configuration()),
            Section(
                "cache",
                ["cache", "cache.ttl", "cache.snapshot"],
                HTTPDNSResolver.Configuration.Cache()
            ),
            Section("limits", ["a provider's limits"], HTTPDNSResolver.Configuration.ProviderLimits()),
            Section("policy", ["policy"], HTTPDNSAddressPolicy()),
            Section("route", ["a route"], HTTPDNSRoute(.any, .system)),
            Section("rollout", ["a route's rollout"], HTTPDNSRoute.Rollout(percent: 1)),
            Section("mapping", ["a mapping"], HTTPDNSMapping(.system)),
            Section("doh", ["a provider of kind doh"], HTTPDNSDoHProvider.Configuration(name: "a", url: "")),
            Section(
                "dns",
                ["a provider of kind dns"],
                HTTPDNSDNSProvider.Configuration(name: "a", servers: .addresses([]))
            ),
            Section(
                "json",
                ["a provider of kind json-google or json-cloudflare"],
                HTTPDNSJSONProvider.Configuration(name: "a", service: .google)
            ),
            Section("alibaba", ["a provider of kind alibaba-v2"], alibaba, account),
            Section("tencent", ["a provider of kind tencent"], tencent, account),
            Section("client", ["client"], HTTPDNSClient.Configuration(), HTTPDNSClient.Options()),
            Section("timeouts", ["client.timeouts"], HTTPDNSClient.Timeouts()),
            Section("connections", ["client.connections"], HTTPDNSClient.Configuration.Connections()),
            Section(
                "keepalive",
                ["client.connections.tcp_keepalive"],
                HTTPDNSClient.Configuration.TCPKeepalive()
            ),
            Section(
                "ejection",
                ["client.connections.ejection"],
                HTTPDNSClient.Configuration.OutlierEjection()
            ),
            Section("probing", ["client.connections.probing"], HTTPDNSClient.Configuration.ActiveProbing()),
            Section("redirects", ["client.redirects"], HTTPDNSClient.RedirectPolicy()),
            Section("retries", ["client.retries"], HTTPDNSClient.RetryPolicy()),
            Section("bandwidth", ["client.bandwidth"], HTTPDNSClient.Bandwidth()),
            Section("budget", ["client.retries.budget"], HTTPDNSClient.RetryPolicy.Budget()),
            Section("cookies", ["client.cookies"], HTTPDNSClient.CookieJar.Limits()),
            Section("response-cache", ["client.response_cache"], HTTPDNSClient.ResponseCache.Settings()),
            Section("trust", ["client.trust"], HTTPDNSTrust()),
            Section("host-trust", ["a host's trust"], HTTPDNSTrust()),
            Section(
                "certificate",
                ["client.trust.client_certificate"],
                HTTPDNSTrust.ClientCertificate(certificateFile: "a")
            ),
        ]
    }()
}

/// The sections that have no value to compare with.
private let notCompared: [(table: String, reason: String)] = [
    ("a provider of kind alibaba-v1", "some keys of alibaba-v2, and its type"),
    ("client.proxy", "mirrors of proxies are empty"),
    ("an entry of client.credentials", "parameters of functions"),
    ("a host's headers", "mirrors of header fields are empty, since values may be secret"),
    ("a provider of kind json-alidns", "the account is a function's parameters"), ("a secret", "two functions"),
    ("via", "a case's parts"),
    ("agent", "local agent"), ("agent.proxy", "local agent"), ("agent.dns", "local agent"),
    ("metrics", "for the program that reports"), ("serve", "local provider"), ("serve.alibaba", "local provider"),
    ("serve.tencent", "local provider"), ("serve.alidns", "local provider"), ("a host of serve", "local provider"),
]

/// The names that differ: on each line a reason, then section.key=property. One side is empty where the other stands alone.
private let nameExceptions = """
    about the file itself, or for other modules: resolver.version= resolver.file_permissions= resolver.metrics= \
        resolver.serve= resolver.agent=
    a group of keys: resolver.client= resolver.resolver= client.=resolver client.=options cache.ttl= cache.snapshot= \
        mapping.=content route.=action
    a part of such a group: route.providers= route.fallback= mapping.addresses= mapping.via= mapping.srv= mapping.last_resort=
    for the agent alone: dns.=excluded
    of the client, as the policy of a request has none: retries.budget= client.=retryBudget
    inside cache.ttl: cache.min=minimumTimeToLive cache.max=maximumTimeToLive cache.system=systemTimeToLive
    inside the route's ttl: route.ttl= route.=minimumTimeToLive route.=maximumTimeToLive
    a part of search: route.ndots=
    the usual abbreviation of the route: route.negative_ttl=negativeTimeToLive
    inside a provider's limits: limits.in_flight=maximumInFlight limits.per_second=queriesPerSecond
    inside client_certificate: certificate.file=certificateFile certificate.key=keyFile \
        certificate.password=keyPassword
    code, which a file cannot contain: resolver.=timeToLiveOverride resolver.=store resolver.=timeSource \
        resolver.=wallClock resolver.=logger client.=computedHeaders client.=redirectHook client.=logger \
        client.=applicationInterceptors client.=networkInterceptors client.=schemeHandlers \
        client.=processInterceptors client.=observers client.=callTracing
    decided before the file is read: client.=watchesFile client.=reloadsOnHangUp
    not public: resolver.=hasIPv6Route resolver.=indexedMappings client.=trustOrigins client.=source \
        client.=environment client.=random client.=wallClock client.=innermost client.=systemResolver keepalive.=isOff
    key or position of the entry: route.=pattern route.=location mapping.=location doh.=name dns.=name json.=name alibaba.=name \
        tencent.=name
    the kind of the provider: doh.kind= dns.kind= json.kind= json.=service alibaba.kind= alibaba.=version tencent.kind=
    account and secrets are keys of the provider: alibaba.=credential tencent.=credential
    the file names a path: doh.ca_file=trustRoots dns.ca_file=trustRoots json.ca_file=trustRoots alibaba.ca_file=trustRoots \
        tencent.ca_file=trustRoots alibaba.addresses_file=addressStore tencent.addresses_file=addressStore \
        host-trust.ca_file=roots
    a Boolean reads as an assertion: cache.refresh_ahead=refreshesAhead route.enabled=isEnabled \
        trust.key_log=writesKeyLog route.second_opinion=wantsSecondOpinion route.https_records=usesHTTPSRecords \
        alibaba.discovery=discoversAddresses tencent.discovery=discoversAddresses tencent.expiry=sendsExpiry \
        tencent.encrypt_client_subnet=encryptsClientSubnet connections.peer_certificates=keepsPeerCertificates \
        redirects.downgrade=allowsDowngrade
    an instruction in the file: policy.allow=allowed policy.deny=denied route.allow=allowed
    the usual abbreviation: mapping.ttl=timeToLive
    the default of all providers: policy.providers_may_answer=
    an abbreviation in capitals: trust.ciphers_tls13=ciphersTLS13 host-trust.ciphers_tls13=ciphersTLS13
    has one value, the behavior: cache.refresh_idle_names=
    of the whole client, not of a host: host-trust.=pinsByHost host-trust.=writesKeyLog
    limits are at the provider in the file: resolver.=providerLimits doh.limits= dns.limits= json.limits= alibaba.limits= \
        tencent.limits=
    the switch of the client is on top of the file: resolver.enabled= client.=isEnabled
    another level (resolver): cache.preresolve= resolver.=preresolve cache.file= resolver.=snapshotPath
    a parameter of Configuration.Cookies.file: cookies.file=
    a computed property of another module, and a parameter of ResponseCache.disk: client.response_cache=responseCaching \
        response-cache.folder=
    set by programs alone, for the cache: response-cache.=maximumEntry response-cache.=maximumGuessedLifetime \
        response-cache.=offlineIgnoresValidation response-cache.=refreshWait response-cache.=equivalentURL \
        response-cache.=mayStore
    another level (trust.roots, headers.byHost): client.ca_file= trust.=roots client.headers_by_host=
    set by programs alone: client.=maximumRequestsInFlight connections.=firstFamily retries.=methods retries.=errors
    """

/// Returns the Swift spelling of a key: `first_byte` is `firstByte`.
func camelCase(_ key: String) -> String {
    let parts = key.split(separator: "_")
    return (parts.prefix(1).map(String.init) + parts.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() })
        .joined()
}
