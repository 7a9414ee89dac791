// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS

enum UntrustedURLs {
    static func client() async throws -> HTTPDNSClient {
        var configuration = HTTPDNSClient.Configuration()
        configuration.reachableNetworks = .publicInternet

        return try await HTTPDNSClient(configuration: configuration)
    }
}
