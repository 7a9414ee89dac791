// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS

// The article Connections, "Which connection is used".
func choosingAddresses() -> HTTPDNSClient.Configuration {
    var configuration = HTTPDNSClient.Configuration()
    configuration.connections.selection = .fastest
    configuration.connections.hedgeAfter = .milliseconds(80)
    configuration.connections.ejection = HTTPDNSClient.Configuration.OutlierEjection()
    configuration.connections.probing = HTTPDNSClient.Configuration.ActiveProbing()
    return configuration
}

func connectingAhead(_ client: HTTPDNSClient) async throws {
    try await client.preconnect(to: "https://img.shop.example/")
}
