// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import Testing

@testable import HTTPDNS

struct CleartextCredentialTests {
    private static let eager = HTTPDNSClient.Credential.basic(
        user: "me",
        password: HTTPDNSSecret { "canary" },
        preemptive: true
    )
    private static let field = "Basic bWU6Y2FuYXJ5"

    private static func origin(_ text: String) throws -> HTTPDNSClient.Origin {
        try #require(HTTPDNSClient.Origin(text))
    }

    private func sent(_ rig: Rig) -> [String?] { rig.wire.requests.map { $0.headerFields[.authorization] } }

    private func expectRefusal(
        at host: String = "map.test",
        _ location: SourceLocation = #_sourceLocation,
        _ work: () async throws -> Void
    ) async {
        let error = await #expect(throws: HTTPDNSClientError.self, sourceLocation: location) { try await work() }
        #expect(error?.code == .authenticationFailed && error?.phase == .authentication, sourceLocation: location)
        #expect(error?.host == host, sourceLocation: location)
        let text = error?.description ?? ""
        for part in [host, "allowsCleartextCredentials", "client.allows_cleartext_credentials"] {
            #expect(text.contains(part), sourceLocation: location)
        }
        #expect(!text.contains("canary"), sourceLocation: location)
    }

    @Test("Credentials of settings and calls are refused over http before anything is sent")
    func refused() async throws {
        let credentials: [HTTPDNSClient.Credential] = [
            .basic(user: "me", password: HTTPDNSSecret { "canary" }), Self.eager,
            .digest(user: "me", password: HTTPDNSSecret { "canary" }), .bearer(HTTPDNSSecret { "canary" }),
            .bearer { HTTPDNSClient.Credential.Token("canary") },
        ]
        for credential in credentials where credential.fault == nil {
            let rig = try Rig { $0.credentials = [try Self.origin("http://map.test"): credential] }
            await expectRefusal { _ = try await rig.client.get("http://map.test/") }
            let other = try Rig()
            await expectRefusal { _ = try await other.client.get("http://map.test/") { $0.credential = credential } }
            #expect(rig.wire.requests.isEmpty && other.wire.requests.isEmpty)
        }
    }

    @Test("User information of a URL is refused over http, also that of an interceptor")
    func userInformation() async throws {
        let rig = try Rig()
        await expectRefusal { _ = try await rig.client.get("http://me:canary@map.test/") }
        let moving = Around.before { $0.url = "http://me:canary@map.test/" }
        let moved = try Rig { $0.networkInterceptors = [moving] }
        await expectRefusal { _ = try await moved.client.get("https://map.test/") }
        #expect(rig.wire.requests.isEmpty && moved.wire.requests.isEmpty)
    }

    @Test("A credential for loopback is refused if an interceptor redirects the request")
    func sentElsewhere() async throws {
        let moving = Around.before { request in
            request.changeOptions { $0.addresses = .only(["203.0.113.9"]) }
        }
        let rig = try Rig { $0.networkInterceptors = [moving] }
        await expectRefusal(at: "localhost") {
            _ = try await rig.client.get("http://localhost/") { $0.credential = Self.eager }
        }
        #expect(rig.wire.requests.isEmpty)
    }

    @Test("The setting allows credentials over http, for a client or for a call")
    func allowed() async throws {
        let rig = try Rig {
            $0.credentials = [try Self.origin("http://map.test"): Self.eager]
            $0.allowsCleartextCredentials = true
        }
        _ = try await rig.client.get("http://map.test/")
        _ = try await rig.client.get("http://me:canary@map.test/")
        await expectRefusal {
            _ = try await rig.client.get("http://map.test/") { $0.allowsCleartextCredentials = false }
        }
        let call = try Rig()
        _ = try await call.client.get("http://me:canary@map.test/") { $0.allowsCleartextCredentials = true }
        _ = try await call.client.get("http://map.test/") {
            $0.credential = Self.eager
            $0.allowsCleartextCredentials = true
        }
        #expect(sent(rig) == [Self.field, Self.field] && sent(call) == [Self.field, Self.field])
    }

    @Test("Connections that stay on this machine need no setting")
    func local() async throws {
        let hosts = ["127.0.0.1", "127.9.9.9:8080", "[::1]", "localhost", "LOCALHOST.:81", "app.localhost"]
        let rig = try Rig()
        for host in hosts {
            _ = try await rig.client.get("http://\(host)/") { $0.credential = Self.eager }
            _ = try await rig.client.get("http://me:canary@\(host)/")
        }
        #expect(sent(rig) == Array(repeating: Self.field, count: 2 * hosts.count))
        let socket = try Rig { $0.unixSocket = "/run/engine.sock" }
        _ = try await socket.client.get("http://map.test/") { $0.credential = Self.eager }
        _ = try await socket.client.get("http://me:canary@map.test/")
        #expect(sent(socket) == [Self.field, Self.field])
    }

    @Test("Loopback hosts need the setting through a proxy and with addresses of the call")
    func elsewhere() async throws {
        let rig = try Rig()
        await expectRefusal(at: "localhost") {
            _ = try await rig.client.get("http://localhost/") {
                $0.credential = Self.eager
                $0.addresses = .only(["203.0.113.9"])
            }
        }
        let proxied = try Rig { $0.proxy = .through(try HTTPDNSClient.Proxy("http://203.0.113.9:3128")) }
        await expectRefusal(at: "127.0.0.1") {
            _ = try await proxied.client.get("http://127.0.0.1/") { $0.credential = Self.eager }
        }
        await expectRefusal(at: "127.0.0.1") { _ = try await proxied.client.get("http://me:canary@127.0.0.1/") }
        #expect(rig.wire.requests.isEmpty && proxied.wire.requests.isEmpty)
    }

    @Test("A redirect from https to http sends no credential of the new origin")
    func redirects() async throws {
        let wire = ScriptedWire(.redirect(302, to: "http://map.test/b"))
        let rig = try Rig(wire: wire) {
            $0.redirects.allowsDowngrade = true
            for scheme in ["https", "http"] {
                $0.credentials[try Self.origin("\(scheme)://map.test")] = Self.eager
            }
        }
        do {
            _ = try await rig.client.get("https://map.test/a")
            Issue.record("the redirect was followed")
        } catch let error as HTTPDNSClientError {
            #expect(error.code == .authenticationFailed && error.requestMayHaveBeenSent)
        }
        #expect(sent(rig) == [Self.field])
    }

    @Test("A stored or stubbed redirect does not let user information pass over http")
    func answeredRedirect() async throws {
        let answering = Around { request, context, next in
            guard request.url.hasSuffix("/a") else { return try await next(request, context) }
            context.noteStubbed(request)
            return HTTPDNSClient.Response(
                head: HTTPResponse(status: .found, headerFields: [.location: "/b"]),
                body: .bytes([])
            )
        }
        let rig = try Rig { $0.networkInterceptors = [answering] }
        await expectRefusal { _ = try await rig.client.get("http://me:canary@map.test/a") }
        #expect(rig.wire.requests.isEmpty)
    }

    @Test("An Authorization field of the program is sent over http")
    func ownFields() async throws {
        let rig = try Rig { $0.computedHeaders = { _ in [.authorization: "Bearer computed"] } }
        _ = try await rig.client.get("http://map.test/")
        _ = try await rig.client.get("http://me:canary@map.test/", headerFields: [.authorization: "Bearer own"])
        #expect(sent(rig) == ["Bearer computed", "Bearer own"])
    }
}
