// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS

func tenants(
    settingsOfFirst: HTTPDNSClient.Configuration,
    settingsOfSecond: HTTPDNSClient.Configuration
) async throws {
    let transport = HTTPDNSLibcurlTransport()
    let first = try await HTTPDNSClient(configuration: settingsOfFirst, on: transport)
    let second = try await HTTPDNSClient(configuration: settingsOfSecond, on: transport)

    try await first.shutdown()
    try await second.shutdown()
}

func trust() throws -> HTTPDNSClient.Configuration {
    let pin = try HTTPDNSTrust.PublicKeyPin("sha256//YhKJKSzoTt2b5FP18fvpHo7fJYqQCjAa3HWY3tvRMwE=")
    let backup = try HTTPDNSTrust.PublicKeyPin("sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")

    var configuration = HTTPDNSClient.Configuration()
    configuration.trust.roots = .file("/etc/app/ca.pem")
    configuration.trust.clientCertificate = HTTPDNSTrust.ClientCertificate(
        certificateFile: "/run/tls/tls.crt",
        keyFile: "/run/tls/tls.key",
        keyPassword: .file("/run/secrets/tls-key")
    )
    configuration.trust.minimumVersion = .tls13
    configuration.trust.ciphersTLS13 = ["TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"]
    configuration.trust.curves = ["X25519", "P-384"]
    try configuration.trust.pin("*.shop.example", to: [pin, backup])

    var bank = configuration.trust
    bank.roots = .file("/etc/app/bank-ca.pem")
    configuration.trustByHost[try HTTPDNSRoute.Pattern("*.bank.example")] = bank
    return configuration
}
