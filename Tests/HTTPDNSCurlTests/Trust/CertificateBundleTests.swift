// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Testing

@testable import HTTPDNSCurl

struct CertificateBundleTests {
    private func path(_ roots: HTTPDNSTrust.Roots, variable: String? = nil, existing: [String]) throws -> String {
        try CertificateBundle.path(for: roots, environment: { $0 == "SSL_CERT_FILE" ? variable : nil }) {
            existing.contains($0)
        }
    }

    @Test(
        "The system's roots are found on the layouts of the distributions",
        arguments: [
            ["/etc/ssl/certs/ca-certificates.crt"], ["/etc/pki/tls/certs/ca-bundle.crt"],
            ["/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem"], ["/etc/ssl/cert.pem"],
        ]
    )
    func layouts(existing: [String]) throws {
        #expect(try path(.system, existing: existing) == existing[0])
    }

    @Test("SSL_CERT_FILE wins, and is not passed over when it cannot be read")
    func variable() throws {
        let known = CertificateBundle.knownPaths
        #expect(try path(.system, variable: "/my.pem", existing: known + ["/my.pem"]) == "/my.pem")
        let failure = #expect(throws: TransferFailure.self) { try path(.system, variable: "/my.pem", existing: known) }
        #expect(failure?.message == "SSL_CERT_FILE names /my.pem, which cannot be read")
    }

    @Test("A machine without roots is reported with the places and the package")
    func missing() {
        let failure = #expect(throws: TransferFailure.self) { try path(.system, existing: []) }
        #expect(failure?.code == .trustRootsMissing)
        for path in CertificateBundle.knownPaths { #expect(failure?.message.contains(path) == true) }
        #expect(failure?.message.contains("ca-certificates") == true)
    }

    @Test("A CA file that cannot be read is named")
    func file() throws {
        #expect(try path(.file("/a.pem"), existing: ["/a.pem"]) == "/a.pem")
        let failure = #expect(throws: TransferFailure.self) { try path(.file("/a.pem"), existing: []) }
        #expect(failure?.message == "the CA file /a.pem cannot be read")
    }
}
