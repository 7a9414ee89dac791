// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

/// Clients with different trust settings on one transport, at one host, address and port: the server's log is the judge.
@Suite(
    "Tenants are never mixed",
    .enabled(if: ServerRig.isAvailable([.nginx, .bind, .openssl]))
)
struct TenantSeparationTests {
    private static let strange = "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

    /// `count` requests, `width` at a time; every fifth ends its connection, so that new ones begin all the time.
    private static func load(_ client: HTTPDNSClient, _ url: String, count: Int, width: Int) async throws {
        try await concurrently(width) { worker in
            for number in stride(from: worker, to: count, by: width) {
                let path = number.isMultiple(of: 5) ? "/once" : "/health"
                let response = try await client.get(url.replacing("PATH", with: path))
                #expect(response.status == .ok)
                try await response.text()
            }
        }
    }

    /// 500 requests each in parallel. A client without permission never gets in.
    @Test(
        "Connections, TLS sessions and identities of clients stay apart under load",
        arguments: [HTTPDNSClient.AllowedVersions.automatic, .http1Only]
    )
    func separated(versions: HTTPDNSClient.AllowedVersions) async throws {
        let rig = try await ServerRig.shared()
        let right = try await rig.pin(of: "tenant.pem")
        let backups = [try await rig.pin(of: "wrong.pem"), try await rig.pin(of: "other.pem")]
        let transport = HTTPDNSLibcurlTransport()
        let mark = rig.accessLogMark()
        func client(_ configuration: HTTPDNSClient.Configuration) async throws -> HTTPDNSClient {
            var configuration = configuration
            configuration.versions = versions
            return try await HTTPDNSClient(configuration: configuration, on: transport)
        }
        let first = try await client(rig.tenant("tenant-a", authority: "tenant-ca-a.pem", pins: [right, backups[0]]))
        let second = try await client(rig.tenant("tenant-b", authority: "tenant-ca-b.pem", pins: [backups[1], right]))
        // The right certificate, and one thing wrong each.
        let otherAuthority = try await client(rig.tenant("tenant-c", authority: "other-ca.pem", pins: [right]))
        let otherPins = try await client(
            rig.tenant("tenant-c", pins: backups + [HTTPDNSTrust.PublicKeyPin(Self.strange)])
        )
        let nobody = try await client(rig.tenant(nil, pins: [right]))
        let stranger = try await client(rig.tenant("stranger", pins: [right]))
        #expect(transport.usage.trustSettings == 6 && transport.usage.clients == 6)

        // Other tests ask the same server at the same time.
        let tag = "separated-\(versions)"
        let url = rig.tenantURL("PATH?\(tag)")
        @Sendable func refusedEverywhere(_ moment: String) async throws {
            for wrong in [otherAuthority, otherPins] {
                let error = try await refusal { _ = try await wrong.get(rig.tenantURL("/health?wrong-\(tag)")) }
                #expect(error.code == .certificateRefused && !error.requestMayHaveBeenSent, "\(moment)")
            }
            for wrong in [nobody, stranger] {
                #expect(try await wrong.get(rig.tenantURL("/health?wrong-\(tag)")).status == .badRequest, "\(moment)")
            }
        }
        try await refusedEverywhere("cold")
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await Self.load(first, url, count: 500, width: 16) }
            tasks.addTask { try await Self.load(second, url, count: 500, width: 16) }
            tasks.addTask { for round in 0..<25 { try await refusedEverywhere("round \(round)") } }
            try await tasks.waitForAll()
        }
        try await refusedEverywhere("warm")

        let lines = try await rig.awaitAccessLog(since: mark, count: 1000) { line in
            line.target.hasSuffix("?\(tag)")
        }
        try await rig.awaitAccessLog(since: mark, count: 2 * 27) {
            $0.target.contains(tag) && $0.target.contains("wrong")
        }
        let all = try rig.accessLog(since: mark).filter { $0.target.contains(tag) }
        let byFirst = lines.filter { $0.clientSubject == "CN=tenant-a" }
        let bySecond = lines.filter { $0.clientSubject == "CN=tenant-b" }
        #expect(byFirst.count == 500 && bySecond.count == 500)
        #expect(Set(byFirst.map(\.connection)).isDisjoint(with: bySecond.map(\.connection)))
        #expect(Set(byFirst.map(\.sessionID)).isDisjoint(with: bySecond.map(\.sessionID)))
        // Sessions were resumed, or their keeping apart proves nothing. Over HTTP/2 all requests may share one connection.
        #expect(
            versions != .http1Only
                || byFirst.contains { $0.sessionReused == "r" } && bySecond.contains { $0.sessionReused == "r" }
        )
        // The wrong ones: none got an answer but 400, and none came in as somebody else.
        let wrong = all.filter { $0.target.contains("wrong") }
        #expect(wrong.count == 2 * 27 && wrong.allSatisfy { $0.status == 400 })
        #expect(wrong.allSatisfy { $0.clientSubject != "CN=tenant-a" && $0.clientSubject != "CN=tenant-b" })
        #expect(all.allSatisfy { $0.clientSubject != "CN=tenant-c" })
        for client in [first, second, otherAuthority, otherPins, nobody, stranger] { try await client.shutdown() }
        #expect(transport.usage == HTTPDNSLibcurlTransport.Usage(clients: 0, trustSettings: 0, loops: 0))
    }

    /// Their trust is equal.
    @Test("Clients that share connections share no mappings, answers or counters")
    func ownResolver() async throws {
        let rig = try await ServerRig.shared()
        let name = "tenant-cache.wild.test"
        let transport = HTTPDNSLibcurlTransport()
        let first = try await HTTPDNSClient(configuration: try rig.settings(), on: transport)
        let second = try await HTTPDNSClient(configuration: try rig.settings(), on: transport)
        #expect(transport.usage.trustSettings == 1)
        let url = "https://\(name):\(rig.tlsPort)/health"
        try first.mappings.apply { $0["mapped-\(name)"] = .addresses(["127.0.0.3"]) }
        #expect(second.mappings.current.generation < first.mappings.current.generation)
        try await rig.setRecords(name, timeToLive: 300, ["127.0.0.2"])
        #expect(try await first.get(url).text() == "127.0.0.2\n")
        // The first has its answer for minutes; the second asks for itself.
        try await rig.setRecords(name, timeToLive: 300, ["127.0.0.4"])
        #expect(second.resolver.counters.misses == 0)
        #expect(try await second.get(url).text() == "127.0.0.4\n")
        #expect(try await first.get(url).text() == "127.0.0.2\n")
        #expect(first.resolver.counters.hits == 1 && second.resolver.counters.hits == 0)
        #expect(first.resolver.counters.misses == 1 && second.resolver.counters.misses == 1)
        // Same trust, same address: the one's connection serves the other.
        try first.mappings.apply { $0[name] = .addresses(["127.0.0.4"]) }
        #expect(try await first.get(url).exchanges[0].reusedConnection)
        try await first.shutdown()
        try await second.shutdown()
    }
}
