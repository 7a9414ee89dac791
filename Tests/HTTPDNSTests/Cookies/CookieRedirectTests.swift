// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import ServerRig
import Testing

@testable import HTTPDNS

/// Servers that set a cookie and redirect to the same URL, to find out whether the client keeps cookies.
struct CookieRedirectTests {
    private static func redirect(_ fields: String = "Set-Cookie: a=1\r\n", to target: String = "/") -> RawServer.Step {
        .respond(status: "302 Found", fields: "Location: \(target)\r\n\(fields)")
    }

    /// Without a look at the cookies the second request is a loop.
    @Test("A cookie that a redirect to the same URL sets is sent there")
    func sameURL() async throws {
        let server = try RawServer(.readHead, Self.redirect(), .readHead, .respond("ok"), .hang)
        let client = try await mappedClient(server.port) { $0.cookies = .memory() }
        let response = try await client.get("http://one.test/")
        #expect(response.exchanges.map(\.status.code) == [302, 200])
        _ = try await response.body.collect(upTo: .bytes(10))
        #expect(server.count(of: "GET / ") == 2 && server.count(of: "ookie: a=1\r\n") == 1)
        try await client.shutdown()
    }

    /// The second response is without `Set-Cookie`: its request is no longer among those that were sent.
    @Test("A cookie set on the way to another URL ends no call that comes back")
    func detour() async throws {
        let server = try RawServer(
            .readHead,
            Self.redirect(to: "/login"),
            .readHead,
            Self.redirect("", to: "/"),
            .readHead,
            .respond("ok"),
            .hang
        )
        let client = try await mappedClient(server.port) { $0.cookies = .memory() }
        #expect(try await client.get("http://one.test/").exchanges.map(\.status.code) == [302, 302, 200])
        try await client.shutdown()
    }

    @Test("A server that sets a cookie with each redirect meets the limit of redirects")
    func endless() async throws {
        let server = try RawServer(.repeatForever([.readHead, Self.redirect()]))
        let client = try await mappedClient(server.port) {
            $0.cookies = .memory()
            $0.redirects.limit = 5
        }
        let error = await clientError { try await client.get("http://one.test/") }
        #expect(error?.code == .tooManyRedirects && server.count(of: "GET / ") == 6)
        try await client.shutdown()
    }

    @Test(
        "A redirect to the same URL is a loop where the jar has no part in it",
        arguments: ["no jar", "switched off", "own field", "no Set-Cookie"]
    )
    func loop(reason: String) async throws {
        let server = try RawServer(
            .repeatForever([.readHead, reason == "no Set-Cookie" ? Self.redirect("") : Self.redirect()])
        )
        let client = try await mappedClient(server.port) { if reason != "no jar" { $0.cookies = .memory() } }
        var request = HTTPDNSClient.Request(url: "http://one.test/")
        if reason == "switched off" { request.changeOptions { $0.usesCookies = false } }
        if reason == "own field" { request.headerFields[.cookie] = "own=1" }
        let error = await clientError { [request] in try await client.execute(request) }
        #expect(error?.code == .redirectLoop && server.count(of: "GET / ") == 1)
        try await client.shutdown()
    }
}
