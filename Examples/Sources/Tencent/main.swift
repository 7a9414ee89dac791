// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSVendors

// The token stays where it is, and is read for each query. An account that encrypts has an `encryptionKey` in its place.
let account = HTTPDNSVendorCredential(account: "100000", secret: .environment("TENCENT_TOKEN"))
var settings = HTTPDNSTencentProvider.Configuration(name: "tencent", credential: account)
// A server that speaks the same may take the vendor's place: `Tencent http://127.0.0.1:8053`
settings.url = CommandLine.arguments.dropFirst().first

var configuration = HTTPDNSClient.Configuration()
configuration.resolver.providers = [try HTTPDNSTencentProvider(settings)]
configuration.resolver.routes = [HTTPDNSRoute(.any, .providers(["tencent"], fallback: .system))]
let client = try await HTTPDNSClient(configuration: configuration)
let response = try await client.get("https://www.example.com/") { $0.timeouts.total = .seconds(2) }
print(response.status, response.destination)
try await client.shutdown(drainingFor: .seconds(5))
