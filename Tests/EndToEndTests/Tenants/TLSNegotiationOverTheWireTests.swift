// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

/// TLS versions, cipher suites and curves, as nginx has negotiated them.
@Suite(
    "TLS negotiation, over the wire",
    .enabled(if: ServerRig.isAvailable([.nginx, .openssl]))
)
struct TLSNegotiationOverTheWireTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// The directives of nginx.
        var server = "ssl_protocols TLSv1.2 TLSv1.3;"
        /// The version, suite and curve in nginx's log, as far as they are known; nil: a part of the refusal's message.
        var negotiated: [String] = []
        var refusal: String?
        var change: @Sendable (inout HTTPDNSTrust) -> Void
    }

    private static let suites = ["ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384"]

    static let cases: [Case] = [
        Case(testDescription: "defaults", negotiated: ["TLSv1.3"]) { _ in },
        Case(testDescription: "newest version", negotiated: ["TLSv1.2"]) { $0.maximumVersion = .tls12 },
        Case(testDescription: "one suite of TLS 1.2", negotiated: ["TLSv1.2", suites[0]]) {
            ($0.maximumVersion, $0.ciphers) = (.tls12, [suites[0]])
        },
        Case(testDescription: "the other suite of TLS 1.2", negotiated: ["TLSv1.2", suites[1]]) {
            ($0.maximumVersion, $0.ciphers) = (.tls12, [suites[1]])
        },
        Case(testDescription: "suites of TLS 1.2 do not limit TLS 1.3", negotiated: ["TLSv1.3"]) {
            $0.ciphers = [suites[0]]
        },
        Case(testDescription: "one suite of TLS 1.3", negotiated: ["TLSv1.3", "TLS_CHACHA20_POLY1305_SHA256"]) {
            $0.ciphersTLS13 = ["TLS_CHACHA20_POLY1305_SHA256"]
        },
        Case(testDescription: "one curve", negotiated: ["TLSv1.3", "", "secp384r1"]) { $0.curves = ["P-384"] },
        Case(testDescription: "one curve of TLS 1.2", negotiated: ["TLSv1.2", "", "prime256v1"]) {
            ($0.maximumVersion, $0.curves) = (.tls12, ["prime256v1"])
        },
        Case(
            testDescription: "a server of TLS 1.3 alone",
            server: "ssl_protocols TLSv1.3;",
            refusal: "protocol version"
        ) { $0.maximumVersion = .tls12 },
        Case(
            testDescription: "a server of another suite",
            server: "ssl_protocols TLSv1.2; ssl_ciphers \(suites[1]);",
            refusal: "handshake failure"
        ) { $0.ciphers = [suites[0]] },
        Case(
            testDescription: "a server of the same suite",
            server: "ssl_protocols TLSv1.2; ssl_ciphers \(suites[1]);",
            negotiated: ["TLSv1.2", suites[1]]
        ) { $0.ciphers = suites },
        Case(
            testDescription: "a server of another curve",
            server: "ssl_protocols TLSv1.3; ssl_ecdh_curve X25519;",
            refusal: "handshake failure"
        ) { $0.curves = ["P-384"] },
        Case(
            testDescription: "a server of the same curve",
            server: "ssl_protocols TLSv1.3; ssl_ecdh_curve secp384r1;",
            negotiated: ["TLSv1.3", "", "secp384r1"]
        ) { $0.curves = ["X25519", "P-384"] },
    ]

    @Test("Settings decide version, suite and curve, which the exchange names", arguments: cases)
    func negotiated(item: Case) async throws {
        let rig = try await ServerRig.shared()
        let server = try await NginxOrigin(rig, tlsDirectives: item.server)
        var configuration = try rig.settings(mappings: ["one.test": .addresses(["127.0.0.1"])])
        item.change(&configuration.trust)
        var named: [HTTPDNSClient.Exchange.TLSParameters] = []
        try await withClient(configuration) { client in
            let url = "https://one.test:\(server.port)/"
            guard let text = item.refusal else {
                for isReused in [false, true] {
                    let response = try await client.get(url)
                    #expect(response.status == .ok)
                    try await response.text()
                    #expect(response.exchanges.last?.reusedConnection == isReused)
                    named.append(try #require(response.exchanges.last?.tls))
                }
                return
            }
            let error = try await refusal { _ = try await client.get(url) }
            #expect(error.code == .connectFailed && error.phase == .tls && error.message.contains(text), "\(error)")
            #expect(error.hint?.contains("in common") == true && !error.requestMayHaveBeenSent)
        }
        let lines = try server.negotiations()
        #expect(lines.count == (item.refusal == nil ? 2 : 0))
        #expect(named.map { [$0.version, $0.cipherSuite] } == lines.map { [$0.version, $0.cipher] })
        for line in lines {
            let found = [line.version, line.cipher, line.curve]
            for (expected, value) in zip(item.negotiated, found) where !expected.isEmpty { #expect(value == expected) }
        }
    }

    @Test("Clients with other ciphers share no connection on one transport")
    func separate() async throws {
        let rig = try await ServerRig.shared()
        let server = try await NginxOrigin(rig, tlsDirectives: "ssl_protocols TLSv1.2;")
        let transport = HTTPDNSLibcurlTransport()
        for suite in Self.suites + Self.suites {
            var configuration = try rig.settings(mappings: ["one.test": .addresses(["127.0.0.1"])])
            configuration.trust.ciphers = [suite]
            let client = try await HTTPDNSClient(configuration: configuration, on: transport)
            for _ in 0..<2 { try await client.get("https://one.test:\(server.port)/").text() }
            try await client.shutdown()
        }
        await transport.shutdown()
        let lines = try server.negotiations()
        #expect(lines.map(\.cipher) == (Self.suites + Self.suites).flatMap { [$0, $0] })
    }

    @Test("A client with an unknown cipher or curve is not made")
    func unknown() async throws {
        let rig = try await ServerRig.shared()
        let changes: [(inout HTTPDNSTrust) -> Void] = [
            { $0.ciphers = ["ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA255"] },
            { $0.ciphersTLS13 = ["TLS_AES_512_GCM_SHA256"] }, { $0.curves = ["P-255"] },
            { ($0.minimumVersion, $0.maximumVersion) = (.tls13, .tls12) },
        ]
        for change in changes {
            var configuration = try rig.settings(mappings: [:])
            change(&configuration.trust)
            let error = try await refusal { _ = try await HTTPDNSClient(configuration: configuration) }
            #expect(error.code == .configuration && error.underlying is HTTPDNSTrust.Error, "\(error)")
            var ofHost = try rig.settings(mappings: [:])
            ofHost.trustByHost[try HTTPDNSRoute.Pattern("bank.test")] = configuration.trust
            let same = try await refusal { _ = try await HTTPDNSClient(configuration: ofHost) }
            #expect(same.message == error.message)
        }
    }
}
