// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Glibc
import HTTPDNSCurl
import HTTPDNSTesting
import Logging
import ServerRig
import Testing

@testable import HTTPDNS

/// What the step sends, to whom, and how often.
struct CredentialTests {
    private static let me = HTTPDNSClient.Credential.basic(user: "me", password: HTTPDNSSecret { "canary" })
    private static let field = "Basic bWU6Y2FuYXJ5"
    private static let eager = HTTPDNSClient.Credential.basic(
        user: "me",
        password: HTTPDNSSecret { "canary" },
        preemptive: true
    )

    private static func origin(_ text: String) throws -> HTTPDNSClient.Origin {
        try #require(HTTPDNSClient.Origin(text))
    }

    /// A server that asks for Basic, everywhere.
    private static func guarded(_ request: TransferRequest, _ number: Int) -> HopAnswer {
        if request.headerFields[.authorization] == field { return .ok(from: request) }
        return .ok(
            from: request,
            status: .unauthorized,
            fields: [.wwwAuthenticate: "Digest realm=b, nonce=c, Basic realm=\"a\", charset=\"UTF-8\""],
            chunks: [Array("who are you?".utf8)]
        )
    }

    private func rig(
        _ credentials: [HTTPDNSClient.Origin: HTTPDNSClient.Credential] = [:],
        wire: ScriptedWire = ScriptedWire { guarded($0, $1) },
        _ change: (inout HTTPDNSClient.Configuration) throws -> Void = { _ in }
    ) throws -> Rig {
        try Rig(wire: wire) {
            $0.credentials = credentials
            try change(&$0)
        }
    }

    private func sent(_ rig: Rig) -> [String?] { rig.wire.requests.map { $0.headerFields[.authorization] } }

    @Test("A challenge is answered, and the folder of its path is remembered")
    func basic() async throws {
        let rig = try rig([Self.origin("https://map.test"): Self.me])
        let first = try await rig.client.get("https://map.test/a/b?c")
        #expect(first.status == .ok && first.exchanges.map(\.status.code) == [401, 200])
        #expect(try await rig.client.get("https://map.test/a/d").exchanges.count == 1)
        #expect(try await rig.client.get("https://map.test/e").exchanges.count == 2)
        #expect(sent(rig) == [nil, Self.field, Self.field, nil, Self.field])
        let strategies = rig.wire.requests.flatMap { $0.headerFields.filter { $0.name == .authorization } }
        #expect(strategies.allSatisfy { $0.indexingStrategy == .disallow })
    }

    @Test(
        "A Basic challenge is answered whatever follows its scheme",
        arguments: [
            "Basic", "basic realm=\"a", "Basic realm=a b", "Basic realm=\"a\" charset=\"UTF-8\"", "Basic \"a\"",
            "Basic realm=a, realm=b", "Basic realm=", "Basic realm", "Basic, realm=\"a\"", "Basic YWJj",
            "Basic realm=\"a\"; charset=x", "Basic =", "Digest realm=\"a\"b, nonce=\"c, Basic\", Basic realm=a",
            "Negotiate, Basic realm=a", "x=\"y\", BASIC realm=\"a\\",
        ]
    )
    func basicForms(challenge: String) async throws {
        let wire = ScriptedWire { request, _ in
            request.headerFields[.authorization] == Self.field
                ? .ok(from: request)
                : .ok(from: request, status: .unauthorized, fields: [.wwwAuthenticate: challenge])
        }
        let rig = try rig([Self.origin("https://map.test"): Self.me], wire: wire)
        #expect(try await rig.client.get("https://map.test/").status == .ok)
    }

    @Test("Challenges that cannot be answered are named in the log, without their text")
    func unanswered() async throws {
        for (credential, challenge, isNamed) in [
            (Self.me, "Negotiate canary, Digest nonce=canary", true), (Self.me, "Basic realm=a", false),
        ] {
            let wire = ScriptedWire(then: .status(.unauthorized, [.wwwAuthenticate: challenge]))
            let log = RecordedLog()
            let rig = try rig([Self.origin("https://map.test"): credential], wire: wire) {
                $0.logger = log.logger(.info)
            }
            #expect(try await rig.client.get("https://map.test/").status == .unauthorized)
            let lines = log.lines.filter { $0.contains("challenges not answered") }
            #expect(lines.count == (isNamed ? 1 : 0), "\(log.lines)")
            #expect(lines.allSatisfy { $0.contains("https://map.test") && !$0.contains("canary") })
        }
    }

    @Test("A preemptive credential is sent with the first request")
    func preemptive() async throws {
        let rig = try rig([Self.origin("https://map.test"): Self.eager])
        #expect(try await rig.client.get("https://map.test/").exchanges.count == 1)
    }

    private enum Use: CaseIterable { case basic, bearer, proxy }

    /// A FIFO takes the place of a file system that hangs.
    @Test("The file of a secret delays no request beyond its limits", arguments: Use.allCases)
    private func hangingSecret(use: Use) async throws {
        let folder = try TemporaryFolder()
        try #require(mkfifo(folder.path("secret"), 0o600) == 0)
        let secret = HTTPDNSSecret.file(folder.path("secret"))
        let rig = try Rig {
            let origin = try Self.origin("https://map.test")
            switch use {
            case .basic: $0.credentials = [origin: .basic(user: "me", password: secret, preemptive: true)]
            case .bearer: $0.credentials = [origin: .bearer(secret)]
            case .proxy:
                var proxy = try HTTPDNSClient.Proxy("http://192.0.2.1:3128")
                proxy.credential = HTTPDNSClient.Proxy.Credential(user: "me", password: secret)
                $0.proxy = .through(proxy)
            }
        }
        let request = HTTPDNSClient.Request(url: "https://map.test/") { $0.timeouts.total = .milliseconds(100) }
        // A read of the pipe gives up after 30 s, and a busy machine may take a call as long.
        var shortest = Duration.seconds(3600)
        for _ in 0..<3 where shortest >= .seconds(20) {
            let began = ContinuousClock.now
            do {
                _ = try await rig.client.execute(request)
                Issue.record("a request without its secret")
            } catch let error as HTTPDNSClientError {
                #expect(error.code == .timedOut)
                #expect(error.isCallDeadline)
                #expect(!error.requestMayHaveBeenSent)
            }
            shortest = min(shortest, began.duration(to: .now))
        }
        #expect(shortest < .seconds(20))
        let task = Task { try await rig.client.get("https://map.test/") }
        task.cancel()
        await #expect(throws: CancellationError.self) { _ = try await task.value }
        #expect(rig.wire.requests.isEmpty)
    }

    @Test("A refused credential is returned as 401 with its body, after one answer")
    func refused() async throws {
        let wire = ScriptedWire(then: .status(.unauthorized, [.wwwAuthenticate: "Basic realm=a"]))
        let rig = try rig([Self.origin("https://map.test"): Self.me], wire: wire)
        let response = try await rig.client.get("https://map.test/")
        #expect(response.status == .unauthorized && response.exchanges.count == 2 && wire.requests.count == 2)
        #expect(try await response.body.collect(upTo: .bytes(5)) == Array("hello".utf8))
    }

    @Test("A server cannot ask for a weaker scheme than the credential's")
    func noDowngrade() async throws {
        let wire = ScriptedWire(then: .status(.unauthorized, [.wwwAuthenticate: "Basic realm=a"]))
        for credential in [
            HTTPDNSClient.Credential.digest(user: "me", password: HTTPDNSSecret { "canary" }),
            .bearer(HTTPDNSSecret { "token" }),
        ] where credential.fault == nil {
            let rig = try rig([Self.origin("https://map.test"): credential], wire: wire)
            #expect(try await rig.client.get("https://map.test/").exchanges.count == 1)
        }
        #expect(!wire.requests.contains { $0.headerFields[.authorization]?.hasPrefix("Basic") == true })
    }

    @Test(
        "Another scheme, host or port gets no credential",
        arguments: ["http://map.test/", "https://one.test/", "https://map.test:8443/"]
    )
    func otherOrigins(url: String) async throws {
        let rig = try rig([Self.origin("https://map.test"): Self.eager])
        #expect(try await rig.client.get(url).status == .unauthorized)
        #expect(sent(rig) == [nil])
    }

    @Test("After a redirect the credential is the target's own, or none")
    func redirects() async throws {
        for (target, expected) in [
            ("https://one.test/", nil), ("https://two.test/", "Basic b3RoZXI6eA=="), ("https://map.test/b", Self.field),
        ] {
            let wire = ScriptedWire(.status(.found, [.location: target]))
            let other = HTTPDNSClient.Credential.basic(
                user: "other",
                password: HTTPDNSSecret { "x" },
                preemptive: true
            )
            let rig = try rig([Self.origin("https://two.test"): other], wire: wire)
            let response = try await rig.client.get("https://map.test/a") { $0.credential = Self.eager }
            #expect(response.status == .ok && response.exchanges.count == 2)
            #expect(sent(rig) == [Self.field, expected], "\(target)")
        }
    }

    @Test("A refused credential after a redirect leaves URL and exchanges right")
    func refusedAfterRedirect() async throws {
        let wire = ScriptedWire { request, number in
            guard number == 0 else {
                return .ok(from: request, status: .unauthorized, fields: [.wwwAuthenticate: "Basic realm=a"])
            }
            return .ok(from: request, status: .found, fields: [.location: "https://one.test/b"])
        }
        let rig = try rig([Self.origin("https://one.test"): Self.eager], wire: wire)
        let response = try await rig.client.get("https://map.test/a")
        #expect(response.status == .unauthorized && response.url == "https://one.test/b")
        #expect(response.exchanges.map(\.status.code) == [302, 401] && sent(rig) == [nil, Self.field])
    }

    @Test("A changed URL of an interceptor does not get the caller's credential")
    func interceptors() async throws {
        let moving = Around.before { $0.url = "https://one.test/" }
        let rig = try rig { $0.applicationInterceptors = [moving] }
        let request = HTTPDNSClient.Request(url: "https://map.test/") { $0.credential = Self.eager }
        #expect(try await rig.client.execute(request).status == .unauthorized)
        #expect(sent(rig) == [nil])
    }

    @Test("A network interceptor takes no credential to another origin, and no answer")
    func networkInterceptors() async throws {
        for (own, credential) in [(nil, Self.eager), (nil, Self.me), ("Own", Self.eager)] {
            let moving = Around.before { request in
                request.url = "https://one.test/"
                if let own { request.headerFields[.authorization] = own }
            }
            let rig = try rig([Self.origin("https://map.test"): credential]) { $0.networkInterceptors = [moving] }
            let response = try await rig.client.get("https://map.test/")
            #expect(response.status == .unauthorized && response.exchanges.count == 1)
            #expect(sent(rig) == [own])
        }
    }

    @Test("A network interceptor keeps the credential at its origin")
    func sameOrigin() async throws {
        let changing = Around.before { $0.url = "https://map.test/other" }
        let rig = try rig([Self.origin("https://map.test"): Self.me]) { $0.networkInterceptors = [changing] }
        #expect(try await rig.client.get("https://map.test/").status == .ok)
        #expect(sent(rig) == [nil, Self.field])
    }

    @Test("The answer to a challenge goes to the addresses of the rewritten request")
    func addresses() async throws {
        let rewritten = try await rig().client.rewrite("https://map.test/")
        let rig = try rig([Self.origin("https://map.test"): Self.me]) {
            $0.resolver.mappings = [try HTTPDNSMapping.Key("map.test"): .addresses(["203.0.113.99"])]
        }
        #expect(try await rig.client.execute(rewritten).exchanges.count == 2)
        #expect(Set(rig.wire.requests.map(\.endpoints)).count == 1)
        #expect(rig.wire.requests.allSatisfy { $0.endpoints.count == 2 })
    }

    @Test("An Authorization field of the request and user information of its URL win")
    func ownField() async throws {
        let rig = try rig([Self.origin("https://map.test"): Self.eager])
        let own = try await rig.client.get("https://map.test/", headerFields: [.authorization: "Own"])
        #expect(own.status == .unauthorized && own.exchanges.count == 1)
        #expect(try await rig.client.get("https://a:b@map.test/").exchanges.count == 1)
        #expect(sent(rig) == ["Own", "Basic YTpi"])
    }

    @Test("A request can use another credential than the client, or none")
    func ofRequest() async throws {
        let rig = try rig([Self.origin("https://map.test"): Self.me])
        var request = HTTPDNSClient.Request(url: "https://map.test/") { $0.credential = .off }
        #expect(try await rig.client.execute(request).status == .unauthorized)
        request.changeOptions { $0.credential = .bearer(HTTPDNSSecret { "token" }) }
        #expect(try await rig.client.execute(request).status == .unauthorized)
        #expect(sent(rig) == [nil, "Bearer token"])
    }

    @Test("The challenge to a stream is returned, and the next request has the credential")
    func spentStream() async throws {
        let wire = ScriptedWire { request, number in
            if case .stream(_, let chunks) = request.body { for try await _ in chunks {} }
            return Self.guarded(request, number)
        }
        let rig = try rig([Self.origin("https://map.test"): Self.me], wire: wire)
        for status in [401, 200] {
            let stream = HTTPDNSClient.Request.Body.stream(Chunks([[1]]))
            let response = try await rig.client.post("https://map.test/", body: stream)
            #expect(response.exchanges.map(\.status.code) == [status])
        }
        #expect(sent(rig) == [nil, Self.field])
    }

    @Test("A retry keeps its credential, and a challenge is no retry")
    func retries() async throws {
        let wire = ScriptedWire { request, number in
            number == 1 ? .ok(from: request, status: .serviceUnavailable) : Self.guarded(request, number)
        }
        var policy = HTTPDNSClient.RetryPolicy.standard
        policy.delay = .zero
        let rig = try rig([Self.origin("https://map.test"): Self.me], wire: wire) { $0.retries = policy }
        let response = try await rig.client.get("https://map.test/")
        #expect(response.exchanges.map(\.status.code) == [401, 503, 200])
        #expect(sent(rig) == [nil, Self.field, Self.field])
    }

    @Test("A reload replaces credentials")
    func reload() async throws {
        let rig = try rig()
        #expect(try await rig.client.get("https://map.test/").status == .unauthorized)
        var changed = rig.configuration
        changed.credentials = [try Self.origin("https://map.test"): Self.me]
        try await rig.client.reload(changed)
        #expect(try await rig.client.get("https://map.test/").status == .ok)
    }

    @Test("A password that cannot be read is an error that names the origin")
    func unreadable() async throws {
        let credential = HTTPDNSClient.Credential.basic(user: "me", password: .file("/nowhere/secret"))
        let rig = try rig([Self.origin("https://map.test"): credential])
        let error = await clientError { try await rig.client.get("https://map.test/") }
        #expect(error?.code == .authenticationFailed && error?.requestMayHaveBeenSent == true)
        #expect(error?.message.contains("https://map.test") == true && error?.message.contains("/nowhere") == true)
    }

    @Test("Settings refuse credentials that cannot be sent")
    func invalid() async throws {
        let secret = HTTPDNSSecret { "canary" }
        var cases: [HTTPDNSClient.Credential] = [
            .basic(user: "a:b", password: secret), .basic(user: "a\nb", password: secret),
            .bearer(renewsAhead: .seconds(-1)) { HTTPDNSClient.Credential.Token("t") },
        ]
        if !DigestHash.isAvailable { cases.append(.digest(user: "me", password: secret)) }
        for credential in cases {
            var configuration = HTTPDNSClient.Configuration()
            configuration.credentials = [try Self.origin("https://map.test"): credential]
            let error = await clientError { [configuration] in try await HTTPDNSClient(configuration: configuration) }
            #expect(error?.code == .configuration && error?.message.contains("https://map.test") == true)
            let rig = try rig()
            let request = HTTPDNSClient.Request(url: "https://map.test/") { $0.credential = credential }
            let refused = await clientError { try await rig.client.execute(request) }
            #expect(refused?.code == .invalidRequest)
        }
    }

    @Test("No text of a credential has its user, password or token")
    func redaction() {
        let values: [Any] = [
            Self.me, HTTPDNSClient.Credential.digest(user: "canary", password: .text("canary")),
            HTTPDNSClient.Credential.bearer(.text("canary")), HTTPDNSClient.Credential.Token("canary"),
        ]
        for value in values {
            var text = "\(value)" + String(reflecting: value)
            dump(value, to: &text)
            #expect(!text.contains("canary") && !text.contains("me\""), "\(text)")
        }
    }
}
