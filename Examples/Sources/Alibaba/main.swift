// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSVendors

// The account's secrets stay where they are, and are read for each query.
let account = HTTPDNSVendorCredential(
    account: "100000",
    secret: .environment("ALIBABA_SECRET"),
    encryptionKey: .environment("ALIBABA_AES_KEY")
)
var settings = HTTPDNSAlibabaProvider.Configuration(name: "alibaba", version: .v2, credential: account)
settings.encryption = .gcm
// A server that speaks the same may take the vendor's place: `Alibaba http://127.0.0.1:8053`
if let url = CommandLine.arguments.dropFirst().first { settings.url = url }

var configuration = HTTPDNSClient.Configuration()
configuration.resolver.providers = [try HTTPDNSAlibabaProvider(settings)]
configuration.resolver.routes = [HTTPDNSRoute(.any, .providers(["alibaba"], fallback: .system))]
let client = try await HTTPDNSClient(configuration: configuration)
let response = try await client.get("https://www.example.com/") { $0.timeouts.total = .seconds(2) }
print(response.status, response.destination)
try await client.shutdown(drainingFor: .seconds(5))
