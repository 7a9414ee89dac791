// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig

extension ServerRig {
    /// The pin of a certificate's public key, as openssl computes it.
    func pin(of certificate: String) async throws -> HTTPDNSTrust.PublicKeyPin {
        let file = certificateFile(certificate)
        let script = """
            openssl x509 -in '\(file)' -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64
            """
        let result = try await Command("sh", ["-c", script]).run()
        return try HTTPDNSTrust.PublicKeyPin(result.output.filter { !$0.isWhitespace })
    }

    /// Settings of a client for tenant.test, whose server asks for a certificate.
    /// - Parameters:
    ///   - name: The client's own certificate: `tenant-a`, `tenant-b`, `tenant-c`, `stranger`; nil: none.
    ///   - authority: The CA file, `tenant-ca-a.pem` or `tenant-ca-b.pem`, which have nothing in common.
    func tenant(_ name: String?, authority: String = "tenant-ca-a.pem", pins: [HTTPDNSTrust.PublicKeyPin] = []) throws
        -> HTTPDNSClient.Configuration
    {
        var configuration = try settings(mappings: ["tenant.test": .addresses(["127.0.0.2"])])
        configuration.trust = HTTPDNSTrust(roots: .file(certificateFile(authority)))
        configuration.trust.clientCertificate = name.map {
            HTTPDNSTrust.ClientCertificate(
                certificateFile: certificateFile("\($0).pem"),
                keyFile: certificateFile("\($0).key")
            )
        }
        configuration.trust.pins = pins
        return configuration
    }

    /// A URL of the server that asks for a certificate.
    func tenantURL(_ target: String) -> String { "https://tenant.test:\(tlsPort)\(target)" }
}
