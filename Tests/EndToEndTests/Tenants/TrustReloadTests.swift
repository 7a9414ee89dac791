// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

/// Trust settings that a reload exchanges under a running client: the servers are the judges.
@Suite(
    "Reloaded trust settings",
    .enabled(if: ServerRig.isAvailable([.nginx, .bind, .openssl]))
)
struct TrustReloadTests {
    static let strange = "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

    /// What a case's settings are made with.
    struct Facts {
        var rig: ServerRig
        /// The pin of nginx' key.
        var right: HTTPDNSTrust.PublicKeyPin
        var strange: HTTPDNSTrust.PublicKeyPin
    }

    struct Case: Sendable, CustomTestStringConvertible {
        typealias Change = @Sendable (inout HTTPDNSClient.Configuration, Facts) throws -> Void
        var testDescription: String
        var host = "one.test"
        /// `openssl s_server` with these options in place of nginx.
        var options: [String]?
        var before: Change = { _, _ in }
        var after: Change
        /// Whether the server is believed before, and after.
        var isBelieved: (before: Bool, after: Bool)
        /// Whether other hosts go on with the settings before, so that their connections are there when these come back.
        var areKept = false
    }

    static let cases: [Case] = [
        Case(
            testDescription: "a pin of another key",
            before: { settings, facts in settings.trust.pins = [facts.right] },
            after: { settings, facts in settings.trust.pins = [facts.strange] },
            isBelieved: (true, false)
        ),
        Case(
            testDescription: "a backup pin, which is the right one",
            before: { settings, facts in settings.trust.pins = [facts.strange] },
            after: { settings, facts in settings.trust.pins = [facts.strange, facts.right] },
            isBelieved: (false, true)
        ),
        Case(
            testDescription: "pins of the host",
            after: { settings, facts in try settings.trust.pin("*.test", to: [facts.strange]) },
            isBelieved: (true, false)
        ),
        Case(
            testDescription: "TLS 1.3 at least, and a server of TLS 1.2",
            options: ["-tls1_2"],
            after: { settings, _ in settings.trust.minimumVersion = .tls13 },
            isBelieved: (true, false)
        ),
        Case(
            testDescription: "settings of the host's own",
            after: { settings, facts in
                var own = settings.trust
                own.roots = .file(facts.rig.otherCertificateAuthorityFile)
                settings.trustByHost[try HTTPDNSRoute.Pattern("one.test")] = own
            },
            isBelieved: (true, false),
            areKept: true
        ),
        Case(
            testDescription: "other settings of the host's own",
            host: "untrusted.test",
            before: { settings, facts in
                var own = settings.trust
                own.pins = [facts.strange]
                settings.trustByHost[try HTTPDNSRoute.Pattern("*.test")] = own
            },
            after: { settings, facts in
                var own = settings.trust
                own.roots = .file(facts.rig.otherCertificateAuthorityFile)
                settings.trustByHost[try HTTPDNSRoute.Pattern("*.test")] = own
            },
            isBelieved: (false, true)
        ),
        Case(
            testDescription: "another CA file",
            after: { settings, facts in settings.trustRoots = .file(facts.rig.otherCertificateAuthorityFile) },
            isBelieved: (true, false)
        ),
        Case(
            testDescription: "the system's authorities, which know nothing of the rig's",
            after: { settings, _ in settings.trustRoots = .system },
            isBelieved: (true, false)
        ),
        Case(
            testDescription: "verification switched off",
            host: "untrusted.test",
            after: { settings, _ in settings.trust.verification = .insecurelyAcceptingAnyCertificate },
            isBelieved: (false, true)
        ),
    ]

    /// Accepted or refused by the new settings, and by the old ones when they are back.
    @Test("The next request follows the reloaded trust settings, on its own connection", arguments: cases)
    func table(item: Case) async throws {
        let rig = try await ServerRig.shared()
        let facts = Facts(
            rig: rig,
            right: try await rig.pin(of: "good.pem"),
            strange: try HTTPDNSTrust.PublicKeyPin(Self.strange)
        )
        var server: TLSServer?
        if let options = item.options {
            server = try await TLSServer(options: options)
        }
        let address = server == nil ? "127.0.0.2" : "127.0.0.1"
        let url = "https://\(item.host):\(server?.port ?? rig.tlsPort)/"
        var before = try rig.settings(mappings: ["*.test": .addresses([address])])
        var after = before
        try item.before(&before, facts)
        try item.after(&after, facts)

        let transport = HTTPDNSLibcurlTransport()
        let client = try await HTTPDNSClient(configuration: before, on: transport)
        let first = transport.usage
        let keeps = server == nil
        try await check(client, url, isBelieved: item.isBelieved.before, keeps: keeps)
        let result = try await client.reload(after)
        #expect(result.isChanged && result.needsRestart == [])
        #expect(try await !client.reload(after).isChanged)
        try await check(client, url, isBelieved: item.isBelieved.after, keeps: keeps)
        // Settings that come back while a response still holds theirs keep their connections.
        if !item.areKept { await transport.awaitUsage(first) }
        #expect(try await client.reload(before).isChanged)
        try await check(client, url, isBelieved: item.isBelieved.before, isNew: !item.areKept, keeps: keeps)
        await transport.awaitUsage(first)
        try await client.shutdown()
        #expect(transport.usage == HTTPDNSLibcurlTransport.Usage(clients: 0, trustSettings: 0, loops: 0))
    }

    private func check(
        _ client: HTTPDNSClient,
        _ url: String,
        isBelieved: Bool,
        isNew: Bool = true,
        keeps: Bool
    ) async throws {
        guard isBelieved else {
            let error = try await refusal { _ = try await client.get(url) }
            return #expect(
                error.phase == .tls && !error.requestMayHaveBeenSent && error.attempts.count == 1,
                "\(error)"
            )
        }
        let response = try await client.get(url)
        #expect(response.exchanges[0].reusedConnection == !isNew)
        try await response.text()
        guard keeps else { return }
        let again = try await client.get(url)
        #expect(again.exchanges[0].reusedConnection)
        try await again.text()
    }

    @Test(
        "A reloaded client certificate is for the next request, not for those in flight",
        arguments: [(HTTPDNSClient.AllowedVersions.automatic, 48 << 20), (.http1Only, 16 << 20)]
    )
    func clientCertificate(versions: HTTPDNSClient.AllowedVersions, bytes: Int) async throws {
        let rig = try await ServerRig.shared()
        let mark = rig.accessLogMark()
        let tag = "exchanged-\(versions)"
        var settings = try rig.tenant("tenant-a")
        settings.versions = versions
        let transport = HTTPDNSLibcurlTransport()
        let client = try await HTTPDNSClient(configuration: settings, on: transport)
        try await client.get(rig.tenantURL("/health?\(tag)=before")).text()
        // More than all buffers on the way hold: it cannot end before it is read.
        let inFlight = try await client.get(rig.tenantURL("/bytes?count=\(bytes)&\(tag)=inflight"))
        settings.trust.clientCertificate = try rig.tenant("tenant-b").trust.clientCertificate
        try await client.reload(settings)
        #expect(transport.usage == HTTPDNSLibcurlTransport.Usage(clients: 1, trustSettings: 2, loops: 2))
        let after = try await client.get(rig.tenantURL("/health?\(tag)=after"))
        #expect(!after.exchanges[0].reusedConnection)
        try await after.text()
        #expect(try await client.get(rig.tenantURL("/health?\(tag)=after")).exchanges[0].reusedConnection)
        #expect(transport.usage.loops == 2)
        var received = 0
        for try await chunk in inFlight.body { received += chunk.count }
        #expect(received == bytes)
        await transport.awaitUsage(HTTPDNSLibcurlTransport.Usage(clients: 1, trustSettings: 1, loops: 1))
        try await client.shutdown()

        let lines = try await rig.awaitAccessLog(since: mark, count: 4) { $0.target.contains(tag) }
        for line in lines {
            #expect(line.clientSubject == (line.target.hasSuffix("after") ? "CN=tenant-b" : "CN=tenant-a"))
        }
        // No TLS session outlives the settings that it was made with.
        let before = Set(lines.filter { $0.clientSubject == "CN=tenant-a" }.map(\.sessionID))
        #expect(lines.allSatisfy { $0.clientSubject == "CN=tenant-a" || !before.contains($0.sessionID) })
    }

    struct Mistake: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var change: @Sendable (inout HTTPDNSClient.Configuration, ServerRig) throws -> Void
        var says: String
    }

    static let mistakes = [
        Mistake(
            testDescription: "a key of another certificate",
            change: { settings, rig in
                settings.trust.clientCertificate = HTTPDNSTrust.ClientCertificate(
                    certificateFile: rig.certificateFile("tenant-b.pem"),
                    keyFile: rig.certificateFile("tenant-a.key")
                )
            },
            says: "does not belong to the certificate"
        ),
        Mistake(
            testDescription: "authorities that are none",
            change: { settings, rig in settings.trustRoots = .file(rig.certificateFile("tenant-a.key")) },
            says: "is not PEM"
        ),
        Mistake(
            testDescription: "no such file",
            change: { settings, rig in settings.trustRoots = .file(rig.certificateFile("nowhere.pem")) },
            says: "cannot be read: No such file"
        ),
        Mistake(
            testDescription: "a bad file of one host",
            change: { settings, rig in
                var own = settings.trust
                own.roots = .file(rig.certificateFile("tenant-a.key"))
                settings.trustByHost[try HTTPDNSRoute.Pattern("other.test")] = own
            },
            says: "is not PEM"
        ),
        Mistake(
            testDescription: "good trust settings, and a route to nobody",
            change: { settings, rig in
                settings.trust.clientCertificate = try rig.tenant("tenant-b").trust.clientCertificate
                settings.resolver.routes = [
                    HTTPDNSRoute(try .init("one.test"), .providers(["nobody"], fallback: .off))
                ]
            },
            says: "nobody"
        ),
    ]

    @Test("A mistake anywhere in a reload changes no settings, mappings or connections", arguments: mistakes)
    func mistake(item: Mistake) async throws {
        let rig = try await ServerRig.shared()
        let mark = rig.accessLogMark()
        let target = "/health?mistake=\(item.testDescription.filter(\.isLetter))"
        let settings = try rig.tenant("tenant-a")
        let transport = HTTPDNSLibcurlTransport()
        let client = try await HTTPDNSClient(configuration: settings, on: transport)
        try await client.get(rig.tenantURL(target)).text()
        var bad = settings
        bad.resolver.mappings = [try HTTPDNSMapping.Key("tenant.test"): .addresses(["127.0.0.9"])]
        try item.change(&bad, rig)
        let refused = bad
        let error = try await refusal { try await client.reload(refused) }
        #expect(error.code == .configuration && error.message.contains(item.says), "\(error)")
        let again = try await client.get(rig.tenantURL(target))
        #expect(again.exchanges[0].reusedConnection)
        try await again.text()
        #expect(transport.usage == HTTPDNSLibcurlTransport.Usage(clients: 1, trustSettings: 1, loops: 1))
        // What is right is taken afterwards.
        var good = settings
        good.trust.clientCertificate = try rig.tenant("tenant-b").trust.clientCertificate
        try await client.reload(good)
        try await client.get(rig.tenantURL(target)).text()
        try await client.shutdown()
        let lines = try await rig.awaitAccessLog(since: mark, count: 3) { $0.target == target }
        #expect(lines.map(\.clientSubject) == ["CN=tenant-a", "CN=tenant-a", "CN=tenant-b"])
    }

    @Test("The loop of former settings ends when nothing uses it any more")
    func formerLoop() async throws {
        let rig = try await ServerRig.shared()
        var settings = try rig.settings(mappings: ["one.test": .addresses(["127.0.0.2"])])
        let transport = HTTPDNSLibcurlTransport()
        let client = try await HTTPDNSClient(configuration: settings, on: transport)
        try await client.get("https://one.test:\(rig.tlsPort)/health").text()
        settings.trust.minimumVersion = .tls13
        try await client.reload(settings)
        try await client.get("https://one.test:\(rig.tlsPort)/health").text()
        await transport.awaitUsage(HTTPDNSLibcurlTransport.Usage(clients: 1, trustSettings: 1, loops: 1))
        try await client.shutdown()
    }
}

extension HTTPDNSLibcurlTransport {
    /// Waits until this is in use, and nothing else.
    func awaitUsage(_ usage: Usage) async {
        while self.usage != usage, !Task.isCancelled { await Task.yield() }
        #expect(self.usage == usage)
    }
}
