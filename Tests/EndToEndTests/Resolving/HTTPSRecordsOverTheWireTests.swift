// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

/// Requests to port 443, where nothing listens on the rig's addresses: only a record of type HTTPS leads to nginx. Its log has
/// the address, the port and the version.
@Suite("HTTPS records, over the wire", .enabled(if: ServerRig.isAvailable([.nginx, .bind])))
struct HTTPSRecordsOverTheWireTests {
    /// Records of names that begin with the case's own name; PORT stands for the port of nginx.
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var records: [(name: String, type: String, values: [String])]
        var address: String
    }

    private static func settings(_ rig: ServerRig) throws -> HTTPDNSClient.Configuration {
        var configuration = try rig.settings()
        configuration.resolver.routes[0].usesHTTPSRecords = true
        configuration.resolver.families = .v4
        configuration.makePatient()
        return configuration
    }

    private static func name(_ prefix: String) -> String { "\(prefix).wild.test" }

    static let cases: [Case] = [
        Case(
            testDescription: "port",
            records: [("rr-port", "A", ["127.0.0.2"]), ("rr-port", "HTTPS", ["1 . alpn=h2 port=PORT"])],
            address: "127.0.0.2"
        ),
        Case(
            testDescription: "address",
            records: [
                ("rr-address", "A", ["127.0.0.2"]), ("rr-address-edge", "A", ["127.0.0.3"]),
                ("rr-address", "HTTPS", ["1 rr-address-edge.wild.test. alpn=h2 port=PORT"]),
            ],
            address: "127.0.0.3"
        ),
        Case(
            testDescription: "alias",
            records: [
                ("rr-alias", "A", ["127.0.0.2"]), ("rr-alias-pool", "A", ["127.0.0.4"]),
                ("rr-alias", "HTTPS", ["0 rr-alias-pool.wild.test."]),
                ("rr-alias-pool", "HTTPS", ["1 . alpn=h2 port=PORT"]),
            ],
            address: "127.0.0.4"
        ),
        Case(
            testDescription: "priority",
            records: [
                ("rr-priority", "A", ["127.0.0.2"]), ("rr-priority-first", "A", ["127.0.0.3"]),
                ("rr-priority-last", "A", ["127.0.0.4"]),
                (
                    "rr-priority", "HTTPS",
                    [
                        "9 rr-priority-last.wild.test. alpn=h2 port=PORT",
                        "2 rr-priority-first.wild.test. alpn=h2 port=PORT",
                    ]
                ),
            ],
            address: "127.0.0.3"
        ),
        Case(
            testDescription: "unknown mandatory key",
            records: [
                ("rr-mandatory", "A", ["127.0.0.2"]), ("rr-mandatory-new", "A", ["127.0.0.3"]),
                ("rr-mandatory-old", "A", ["127.0.0.4"]),
                (
                    "rr-mandatory", "HTTPS",
                    [
                        "1 rr-mandatory-new.wild.test. alpn=h2 port=PORT mandatory=key667 key667=new",
                        "2 rr-mandatory-old.wild.test. alpn=h2 port=PORT mandatory=alpn,port",
                    ]
                ),
            ],
            address: "127.0.0.4"
        ),
    ]

    @Test("A request follows address, port and alias of the records under its own name", arguments: cases)
    func followed(item: Case) async throws {
        let rig = try await ServerRig.shared()
        for (prefix, type, values) in item.records {
            let values = values.map { $0.replacing("PORT", with: "\(rig.tlsPort)") }
            try await rig.setRecords(Self.name(prefix), timeToLive: 60, type: type, values)
        }
        let host = Self.name(item.records[0].name)
        let mark = rig.accessLogMark()
        try await withClient(Self.settings(rig)) { client in
            let response = try await client.get("https://\(host)/echo")
            #expect(response.version == .http2)
            let echo = try await Echo(response)
            #expect(echo.host == host && echo.sni == host)
        }
        let line = try #require(try await rig.awaitAccessLog(since: mark) { $0.sni == host }.first)
        #expect(line.address == item.address && line.port == rig.tlsPort && line.host == host)
    }

    /// nginx offers HTTP/2 and HTTP/1.1 on this port.
    @Test(
        "The record's ALPN and the request's versions decide which version is offered",
        arguments: [
            ("alpn=http/1.1", .automatic, "HTTP/1.1"), ("alpn=http/1.1 no-default-alpn", .automatic, "HTTP/1.1"),
            ("alpn=h3", .automatic, "HTTP/1.1"), ("alpn=h2", .automatic, "HTTP/2.0"), ("", .automatic, "HTTP/2.0"),
            ("alpn=h2 no-default-alpn", .automatic, "HTTP/2.0"), ("alpn=h2", .http1Only, "HTTP/1.1"),
            ("alpn=http/1.1", .http10Only, "HTTP/1.0"), ("alpn=h2 no-default-alpn", .http1Only, nil),
            ("alpn=http/1.1", .http2Only, nil), ("alpn=h3 no-default-alpn", .automatic, nil),
        ] as [(String, HTTPDNSClient.AllowedVersions, String?)]
    )
    func versions(parameters: String, allowed: HTTPDNSClient.AllowedVersions, protocol: String?) async throws {
        let rig = try await ServerRig.shared()
        let prefix = "rrv-\(parameters)-\(allowed)".lowercased().map { $0.isLetter || $0.isNumber ? $0 : "-" }
        let host = Self.name(String(prefix))
        try await rig.setRecords(host, timeToLive: 60, ["127.0.0.2"])
        try await rig.setRecords(host, timeToLive: 60, type: "HTTPS", ["1 . port=\(rig.tlsPort) \(parameters)"])
        let mark = rig.accessLogMark()
        try await withClient(Self.settings(rig)) { client in
            let request = HTTPDNSClient.Request(url: "https://\(host)/health") { $0.versions = allowed }
            guard let `protocol` else {
                // The name's own address is left, at the port of the URL.
                let error = try await refusal { _ = try await client.execute(request) }
                #expect(error.code == .connectFailed && error.attempts.map(\.endpoint.port) == [443], "\(error)")
                return
            }
            let response = try await client.execute(request)
            #expect((response.version == .http2) == (`protocol` == "HTTP/2.0"))
            try await response.text()
            // The same server at a URL with a port of its own, which the records are not about (RFC 9460 section 9.1).
            let plain = try await client.get("https://\(host):\(rig.tlsPort)/health")
            #expect(plain.version == .http2)
            try await plain.text()
        }
        guard let `protocol` else {
            return #expect(try rig.accessLog(since: mark).filter { $0.sni == host }.isEmpty)
        }
        let lines = try await rig.awaitAccessLog(since: mark, count: 2) { $0.sni == host }
        #expect(lines.map(\.protocol) == [`protocol`, "HTTP/2.0"])
    }

    /// The address would be connected to otherwise.
    @Test("Records without a common version, and no other address, are an error with a hint")
    func noVersion() async throws {
        let rig = try await ServerRig.shared()
        let (host, edge) = (Self.name("rr-none"), Self.name("rr-none-edge"))
        try await rig.setRecords(host, timeToLive: 60, type: "HTTPS", ["1 \(edge). alpn=http/1.1 port=\(rig.tlsPort)"])
        try await rig.setRecords(edge, timeToLive: 60, ["127.0.0.2"])
        try await withClient(Self.settings(rig)) { client in
            let url = "https://\(host)/health"
            let error = try await refusal { _ = try await client.get(url) { $0.versions = .http2Only } }
            #expect(error.code == .resolveFailed && error.phase == .resolve && error.message.contains(host), "\(error)")
            #expect(error.hint?.contains("alpn") == true && error.attempts.isEmpty)
            #expect(try await client.get(url).version == .http11)
        }
    }
}
