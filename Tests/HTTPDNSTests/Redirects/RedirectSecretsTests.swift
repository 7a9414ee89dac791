// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import ServerRig
import Testing

@testable import HTTPDNS

/// What does not cross to another origin.
struct RedirectSecretsTests {
    /// Canaries in sixteen places of one request, all of which go to the first server.
    private func request(port: UInt16) throws -> HTTPDNSClient.Request {
        var request = HTTPDNSClient.Request(
            method: .post,
            url: "http://canary-user:canary-password@one.test:\(port)/a?token=canary-query#canary-fragment",
            body: .text("canary-body")
        )
        for (name, value) in Self.fields {
            request.headerFields.append(HTTPField(name: try Self.name(name), value: value))
        }
        var marked = HTTPField(name: try Self.name("X-Anything"), value: "canary-marked")
        marked.indexingStrategy = .disallow
        request.headerFields.append(marked)
        request.changeOptions { $0.hostHeader = "canary-host.test" }
        return request
    }

    private static let fields = [
        ("X-Auth-Token", "canary-auth"), ("Cookie", "a=canary-cookie"), ("Cookie", "b=canary-second"),
        ("Cookie2", "canary-cookie2"), ("Referer", "http://one.test/?canary-referer"), ("X-Api-Key", "canary-key"),
        ("x-aMz-security-TOKEN", "canary-amazon"), ("X-Vault-Token", "canary-vault"), ("X-Tenant", "canary-listed"),
        ("Content-Type", "text/canary-type"), ("Accept", "text/plain"), ("X-Trace", "kept"),
    ]

    private static func name(_ text: String) throws -> HTTPField.Name { try #require(HTTPField.Name(text)) }

    private func client(_ ports: [String: UInt16]) async throws -> HTTPDNSClient {
        var configuration = HTTPDNSClient.Configuration()
        for (name, port) in ports {
            configuration.resolver.mappings[try HTTPDNSMapping.Key(name)] = .addresses(["127.0.0.1:\(port)"])
        }
        configuration.redirects.secretFields.insert(try Self.name("x-tenant"))
        configuration.allowsCleartextCredentials = true
        return try await HTTPDNSClient(configuration: configuration)
    }

    private static func redirect(_ status: Int, _ place: String) -> RawServer.Step {
        .respond("more", status: "\(status) X", fields: "Location: \(place)\r\n")
    }

    /// Canaries in sixteen places.
    @Test("Another origin sees no secret of the redirected request", arguments: [301, 302, 303])
    func otherOrigin(status: Int) async throws {
        let second = try RawServer(.readHead, .respond("ok"))
        let first = try RawServer(
            .readHead,
            .read(11),
            Self.redirect(status, "http://two.test:\(second.port)/b")
        )
        let client = try await client(["one.test": first.port, "two.test": second.port])
        let response = try await client.execute(request(port: first.port))
        #expect(response.status == .ok)
        try await client.shutdown()
        let (before, after) = (first.connections[0].text, second.connections[0].text)
        // The teeth: all but the fragment went to the first server.
        for canary in [
            "auth", "cookie", "second", "cookie2", "referer", "key", "amazon", "vault", "listed", "marked", "type",
            "query", "host.test", "body",
        ] {
            #expect(before.contains("canary-\(canary)"), "\(canary)")
        }
        #expect(before.contains("Authorization: Basic Y2FuYXJ5LXVzZXI6Y2FuYXJ5LXBhc3N3b3Jk\r\n"))
        #expect(!after.lowercased().contains("canary") && !after.contains("Authorization"), "\(after)")
        #expect(after.hasPrefix("GET /b HTTP/1.1\r\nHost: two.test:\(second.port)\r\n"))
        #expect(after.contains("X-Trace: kept\r\n") && after.contains("Accept: text/plain\r\n"))
        let dropped = Set(response.exchanges[1].droppedFields.map(\.canonicalName))
        #expect(
            dropped == [
                "content-type", "x-auth-token", "cookie", "cookie2", "referer", "x-api-key",
                "x-amz-security-token", "x-vault-token", "x-tenant", "x-anything", "authorization",
            ]
        )
        #expect(response.exchanges[0].droppedFields.isEmpty)
    }

    @Test(
        "Fields with names that look like secrets stay behind, and others go along",
        arguments: [
            ("X-Consul-Token", true), ("X-Gitlab-Token", true), ("Ocp-Apim-Subscription-Key", true),
            ("CF-Access-Client-Secret", true), ("X-Shopify-Access-Token", true), ("X-Apikey", true),
            ("X-Client-Credentials", true), ("X-Hub-Signature-256", true), ("x_session_id", true), ("X-AuthInfo", true),
            ("X-Authority", true), ("X-Author", false), ("Idempotency-Key", false), ("X-Keyboard", false),
            ("Accept-Language", false), ("traceparent", false),
        ]
    )
    func patterns(name: String, staysBehind: Bool) async throws {
        let rig = try Rig(
            wire: ScriptedWire { request, _ in
                let isFirst = request.url.host == .name("one.test")
                return isFirst
                    ? .ok(from: request, status: .found, fields: [.location: "https://two.test/"])
                    : .ok(from: request)
            }
        )
        let request = HTTPDNSClient.Request(url: "https://one.test/", headerFields: [try Self.name(name): "canary"])
        let response = try await rig.client.execute(request)
        let sent = rig.wire.requests.map { $0.headerFields.contains { $0.value == "canary" } }
        #expect(sent == [true, !staysBehind])
        #expect(response.exchanges.last?.droppedFields.map { $0.rawName } == (staysBehind ? [name] : []))
    }

    @Test("With a list of fields for other origins only these go along")
    func list() throws {
        var policy = HTTPDNSClient.RedirectPolicy()
        policy.crossOriginFields = [try Self.name("X-Partner-Token"), .accept, .authorization]
        let names = ["X-Partner-Token", "Accept", "Accept-Language", "Authorization", "X-Vault-Token"]
        let kept = try names.filter { !policy.withholds(HTTPField(name: try Self.name($0), value: "a")) }
        #expect(kept == ["X-Partner-Token", "Accept"])
    }

    /// No request gets there with it (RequestCheckTests); should one ever, it stays behind all the same.
    @Test(
        "A proxy's login does not reach another origin",
        arguments: [("https://one.test/b", false), ("https://two.test/", true)]
    )
    func proxyLogin(location: String, isDropped: Bool) throws {
        let name = try Self.name("Proxy-Authorization")
        let redirected = try RedirectedRequest(
            HTTPDNSClient.Request(url: "https://one.test/a", headerFields: [name: "Basic canary-proxy"]),
            at: try HTTPDNSRewriter.Canonicalizer.canonicalize("https://one.test/a").parsed,
            status: try #require(RedirectStatus(.temporaryRedirect)),
            location: location,
            policy: HTTPDNSClient.RedirectPolicy()
        )
        #expect(redirected.request.headerFields.contains(name) == !isDropped)
        #expect(redirected.droppedFields == (isDropped ? [name] : []))
    }

    @Test(
        "Another Host goes along within its origin alone",
        arguments: [
            ("b", true), ("https://one.test/b", true), ("//ONE.test:443/", true), ("https://one.test:8443/b", false),
            ("https://two.test/", false), ("https://virtual.test/", false),
        ]
    )
    func host(location: String, isKept: Bool) throws {
        let request = HTTPDNSClient.Request(url: "https://one.test/a") { $0.hostHeader = "virtual.test" }
        let redirected = try RedirectedRequest(
            request.resolved(from: .none),
            at: try HTTPDNSRewriter.Canonicalizer.canonicalize("https://one.test/a").parsed,
            status: try #require(RedirectStatus(.found)),
            location: location,
            policy: HTTPDNSClient.RedirectPolicy()
        )
        #expect(redirected.request.options.hostHeader == (isKept ? "virtual.test" : nil))
    }

    @Test("Another port or scheme is another origin, and dropped fields do not come back")
    func samePlaceAgain() async throws {
        let third = try RawServer(.readHead, .read(11), .respond("ok"))
        let second = try RawServer(.readHead, .read(11), Self.redirect(307, "http://one.test:\(third.port)/again"))
        let first = try RawServer(.readHead, .read(11), Self.redirect(308, "http://one.test:\(second.port)/"))
        // Each on a port of its own: the rule names none.
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.mappings[try HTTPDNSMapping.Key("one.test")] = .addresses(["127.0.0.1"])
        let client = try await HTTPDNSClient(configuration: configuration)
        var request = try request(port: first.port)
        request.headerFields[.authorization] = "Bearer canary-token"
        var policy = HTTPDNSClient.RedirectPolicy()
        policy.secretFields = [try Self.name("x-tenant")]
        // The key may go to partners, and nothing else that looks like a secret.
        policy.crossOriginFields = [try Self.name("X-Api-Key"), .contentType]
        request.changeOptions { [policy] in $0.redirects = policy }
        let response = try await client.execute(request)
        try await client.shutdown()
        #expect(response.status == .ok && response.exchanges.count == 3)
        #expect(first.connections[0].text.contains("Bearer canary-token"))
        for server in [second, third] {
            let text = server.connections[0].text
            // 307 and 308 send the body again, and what describes it; the list may name a field that usually holds a key.
            #expect(text.contains("canary-body") && text.contains("canary-type") && text.contains("canary-key"))
            for gone in ["token", "cookie", "listed", "marked", "referer", "host.test"] {
                #expect(!text.contains("canary-\(gone)"), "\(gone): \(text)")
            }
        }
    }

    /// The URL's user and password, too.
    @Test("A redirect within the origin keeps all fields and another Host")
    func sameOrigin() async throws {
        let server = try RawServer(
            .readHead,
            .read(11),
            Self.redirect(307, "/b"),
            .readHead,
            .read(11),
            .respond("ok")
        )
        let client = try await client(["one.test": server.port])
        let response = try await client.execute(request(port: server.port))
        try await client.shutdown()
        #expect(response.status == .ok && server.connections.count == 1)
        #expect(response.exchanges[1].droppedFields.isEmpty && response.exchanges[1].reusedConnection)
        let text = server.connections[0].text
        let start = try #require(text.firstRange(of: "POST /b")).lowerBound
        let second = text[start...]
        for (name, value) in Self.fields where name != "Cookie" {
            #expect(second.contains("\(name): \(value)\r\n"), "\(name)")
        }
        #expect(second.contains("Authorization: Basic Y2FuYXJ5LXVzZXI6Y2FuYXJ5LXBhc3N3b3Jk\r\n"))
        #expect(second.contains("Cookie: a=canary-cookie; b=canary-second\r\n"))
        #expect(second.contains("canary-marked") && second.hasSuffix("canary-body"))
        #expect(second.contains("Host: canary-host.test\r\n") && !second.contains("Host: one.test"))
    }

    @Test("Addresses that a request names hold for its host, and for no other one")
    func pins() async throws {
        let wire = ScriptedWire { request, number in
            let places = ["/same", "https://one.test/tls", "http://two.test/other", "http://one.test/back"]
            return number < places.count ? .redirect(307, to: places[number], from: request) : .ok(from: request)
        }
        for (pin, expected) in [
            (
                "203.0.113.99",
                ["203.0.113.99:80", "203.0.113.99:80", "203.0.113.99:443", "203.0.113.2:80", "203.0.113.1:80"]
            )
        ] {
            let rig = try Rig(wire: wire) { $0.redirects.allowsDowngrade = true }
            _ = try await rig.client.get("http://one.test/") { $0.addresses = .only([.init(pin)]) }
            #expect(rig.wire.requests.map { $0.endpoints[0].description } == expected)
        }
        let ported = ScriptedWire(.redirect(307, to: "https://one.test/tls"))
        let rig = try Rig(wire: ported)
        _ = try await rig.client.get("http://one.test/") { $0.addresses = .only(["203.0.113.99:8080"]) }
        #expect(rig.wire.requests.map { $0.endpoints[0].description } == ["203.0.113.99:8080", "203.0.113.1:443"])
    }

    @Test("The client certificate is for the origin that the caller named")
    func certificate() async throws {
        let wire = ScriptedWire { request, number in
            let places = ["/same", "https://two.test/", "/there", "https://one.test/back"]
            return number < places.count ? .redirect(307, to: places[number], from: request) : .ok(from: request)
        }
        let rig = try Rig(wire: wire)
        _ = try await rig.client.get("https://one.test/")
        #expect(rig.wire.requests.map(\.withholdsCertificate) == [false, false, true, true, false])
    }
}
