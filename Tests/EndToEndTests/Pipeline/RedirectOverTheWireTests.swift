// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

/// Against nginx and BIND.
@Suite(
    "Redirects over the wire",
    .enabled(if: ServerRig.isAvailable([.nginx, .bind]))
)
struct RedirectOverTheWireTests {
    @Test("Each hop of a redirect is resolved, pinned and sent under its own name")
    func hops() async throws {
        let rig = try await ServerRig.shared()
        try await rig.setRecords("redirect-a.wild.test", ["127.0.0.2"])
        try await rig.setRecords("redirect-b.wild.test", ["127.0.0.3"])
        let (bind, origin) = (rig.bindLogMark(), rig.accessLogMark())
        let target = "https://redirect-b.wild.test:\(rig.tlsPort)/echo"
        try await withClient(rig.settings()) { client in
            let response = try await client.get(
                "https://redirect-a.wild.test:\(rig.tlsPort)/redirect/302?to=\(target)",
                headerFields: [.authorization: "Bearer canary", .cookie: "a=canary", .accept: "text/plain"]
            )
            #expect(response.exchanges.map { $0.remote.address.description } == ["127.0.0.2", "127.0.0.3"])
            #expect(response.exchanges.map(\.status.code) == [302, 200])
            #expect(response.exchanges[1].droppedFields.map(\.canonicalName).sorted() == ["authorization", "cookie"])
            #expect(response.exchanges[1].request.serverName == "redirect-b.wild.test")
            let echo = try await Echo(response)
            #expect(echo.headers["authorization"] == nil && echo.headers["cookie"] == nil)
            #expect(echo.headers["accept"] == .one("text/plain"))
        }
        for name in ["redirect-a.wild.test", "redirect-b.wild.test"] {
            #expect(try rig.queryCount(of: name, type: "A", since: bind) == 1)
        }
        let lines = try await rig.awaitAccessLog(since: origin, count: 2) { $0.host.hasPrefix("redirect-") }
        #expect(lines.map(\.address) == ["127.0.0.2", "127.0.0.3"])
        #expect(lines.map(\.sni) == ["redirect-a.wild.test", "redirect-b.wild.test"])
    }

    @Test("Five relative redirects within one origin use one connection", arguments: [true, false])
    func oneConnection(isHTTP2: Bool) async throws {
        let rig = try await ServerRig.shared()
        let mark = rig.accessLogMark()
        let name = "redirects-in-place-\(isHTTP2 ? 2 : 1).wild.test"
        let url = "https://\(name):\(isHTTP2 ? rig.tlsPort : rig.http1Port)/hops/5"
        try await withClient(rig.settings()) { client in
            let response = try await client.get(url)
            #expect(response.status == .ok && response.exchanges.count == 6)
            try await response.text()
        }
        let lines = try await rig.awaitAccessLog(since: mark, count: 6) { $0.host.hasPrefix(name) }
        #expect(Set(lines.map(\.connection)).count == 1)
    }

    @Test("Another origin does not see the client certificate that the first one asks for")
    func certificate() async throws {
        let rig = try await ServerRig.shared()
        let mark = rig.accessLogMark()
        let target = "/health?redirected-certificate"
        let configuration = try rig.tenant("tenant-a")
        try await withClient(configuration) { client in
            let direct = try await client.get(rig.tenantURL(target))
            #expect(direct.status == .ok)
            try await direct.text()
            let redirecting = try RawServer(
                .readHead,
                .respond(status: "302 Found", fields: "Location: \(rig.tenantURL(target))\r\n")
            )
            let foreign = try await client.get("http://127.0.0.1:\(redirecting.port)/")
            #expect(foreign.status.code == 400)
            try await foreign.text()
            // The connection without the certificate serves nobody who should come with it.
            let again = try await client.get(rig.tenantURL(target))
            #expect(again.status == .ok)
            try await again.text()
        }
        let lines = try await rig.awaitAccessLog(since: mark, count: 3) { $0.target == target }
        #expect(lines.map(\.clientSubject) == ["CN=tenant-a", "", "CN=tenant-a"])
    }
}
