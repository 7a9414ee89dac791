// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSResponseCache

/// Reads a page twice. The second response is the stored one, if the server allows that.
func readTwice(_ url: String) async throws {
    var configuration = HTTPDNSClient.Configuration()
    configuration.responseCache = .memory()
    try await withHTTPDNSClient(configuration: configuration) { client in
        for _ in 1...2 {
            let response = try await client.get(url)
            _ = try await response.body.collect(upTo: .mebibytes(1))
            print(response.status, response.cacheSource ?? .miss)
        }
    }
}

/// Settings with a cache in a folder, which serves stored responses while no server can be reached.
func offlineSettings(folder: String) async throws -> HTTPDNSClient.Configuration {
    var settings = HTTPDNSClient.ResponseCache.Settings()
    settings.limit = .mebibytes(256)
    settings.servesWhenUnreachable = true
    var configuration = HTTPDNSClient.Configuration()
    configuration.responseCache = try await .disk(folder, settings)
    return configuration
}

/// Reads a page of one account, which is stored for this account alone, and validates a stored one.
func page(_ url: String, of account: String, with client: HTTPDNSClient) async throws -> [UInt8] {
    var request = HTTPDNSClient.Request(url: url)
    request.cache.partition = account
    request.cache.policy = .alwaysRevalidate
    let response = try await client.execute(request)
    print(response.cacheSource ?? .miss)
    return try await response.body.collect(upTo: .mebibytes(1))
}
