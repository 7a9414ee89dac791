// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import Logging
import ServerRig
import Testing

/// What a server shows, and whether it is believed.
@Suite(
    "Trust, over the wire",
    .enabled(if: ServerRig.isAvailable([.nginx, .bind, .openssl]))
)
struct TrustTableTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var host: String
        /// The server's PEM files, without `.pem` and `.key`.
        var certificate: String
        var key: String
        var options: [String] = []
        var code: HTTPDNSClientError.Code?
        /// A part of the error's message.
        var says = ""
        var change: @Sendable (inout HTTPDNSTrust, ServerRig) throws -> Void = { _, _ in }
        /// Whether it is believed once verification is off.
        var isAcceptedInsecurely = true

        init(
            _ description: String,
            _ host: String,
            _ certificate: String,
            key: String? = nil,
            _ code: HTTPDNSClientError.Code? = nil,
            says: String = ""
        ) {
            testDescription = description
            self.host = host
            self.certificate = certificate
            self.key = key ?? certificate
            self.code = code
            self.says = says
        }

        func with(_ change: (inout Case) -> Void) -> Case {
            var changed = self
            change(&changed)
            return changed
        }
    }

    static let cases: [Case] = [
        Case("right", "one.test", "good"),
        Case("right, with a chain of three", "chained.test", "chained-whole", key: "chained"),
        Case("expired", "expired.test", "expired", .certificateRefused, says: "certificate has expired"),
        Case("not valid yet", "future.test", "future", .certificateRefused, says: "certificate is not yet valid"),
        Case("self-signed", "selfsigned.test", "selfsigned", .certificateRefused, says: "self-signed certificate"),
        Case("another's name", "one.test", "wrong", .certificateRefused, says: "certificate is for someone-else.test"),
        Case(
            "the middle of the chain is missing",
            "chained.test",
            "chained",
            .certificateRefused,
            says: "unable to get"
        ),
        Case("another authority", "untrusted.test", "untrusted", .certificateRefused, says: "unable to get"),
        Case("TLS older than allowed", "one.test", "good", .connectFailed, says: "protocol version").with {
            $0.options = ["-tls1_2"]
            $0.change = { settings, _ in settings.minimumVersion = .tls13 }
            $0.isAcceptedInsecurely = false
        },
        Case("TLS 1.2 where that is enough", "one.test", "good").with { $0.options = ["-tls1_2"] },
        Case("the authority itself in place of the chain's root", "chained.test", "chained").with {
            $0.change = { settings, rig in settings.roots = .file(rig.certificateFile("intermediate.pem")) }
        },
    ]

    private func fetch(_ item: Case, insecurely: Bool) async throws -> Int {
        let rig = try await ServerRig.shared()
        let server = try await TLSServer(certificate: item.certificate, key: item.key, options: item.options)
        var configuration = try rig.settings(mappings: [item.host: .addresses(["127.0.0.1"])])
        try item.change(&configuration.trust, rig)
        if insecurely { configuration.trust.verification = .insecurelyAcceptingAnyCertificate }
        var status = 0
        try await withClient(configuration) { client in
            let response = try await client.get("https://\(item.host):\(server.port)/")
            status = response.status.code
            try await response.text()
        }
        return status
    }

    @Test("Each certificate is trusted, or refused with its reason before any request byte", arguments: cases)
    func table(item: Case) async throws {
        guard let code = item.code else {
            #expect(try await fetch(item, insecurely: false) == 200)
            return
        }
        let error = try await refusal { _ = try await fetch(item, insecurely: false) }
        #expect(error.code == code && error.phase == .tls)
        #expect(error.message.contains(item.says), "\(error)")
        #expect(!error.requestMayHaveBeenSent && error.attempts.count == 1)
    }

    @Test("The insecure option accepts every certificate, and nothing else changes", arguments: cases)
    func insecurely(item: Case) async throws {
        guard item.isAcceptedInsecurely else {
            let error = try await refusal { _ = try await fetch(item, insecurely: true) }
            return #expect(error.code == item.code)
        }
        #expect(try await fetch(item, insecurely: true) == 200)
    }

    @Test("A client without certificate checks warns once and still checks key pins")
    func warning() async throws {
        let rig = try await ServerRig.shared()
        let log = RecordedLog()
        var configuration = try rig.settings(mappings: ["one.test": .addresses(["127.0.0.2"])])
        configuration.trust = HTTPDNSTrust()
        configuration.trust.verification = .insecurelyAcceptingAnyCertificate
        configuration.logger = log.logger(.warning)
        try await withClient(configuration) { client in
            for _ in 0..<3 { try await client.get("https://one.test:\(rig.tlsPort)/health").text() }
        }
        #expect(log.lines.count == 1 && log.lines.first?.contains("certificates are not checked") == true)
        configuration.trust.pins = [
            try HTTPDNSTrust.PublicKeyPin("sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
        ]
        try await withClient(configuration) { client in
            let error = try await refusal { _ = try await client.get("https://one.test:\(rig.tlsPort)/health") }
            #expect(error.code == .certificateRefused)
        }
    }
}
