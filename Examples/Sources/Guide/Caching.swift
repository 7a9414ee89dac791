// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSResponseCache

/// Settings with a cache of responses in memory.
func cachingSettings() -> HTTPDNSClient.Configuration {
    var configuration = HTTPDNSClient.Configuration()
    configuration.responseCache = .memory()
    return configuration
}

/// A cache in a folder that serves stored responses while no server can be reached.
func offlineCache(folder: String) async throws -> HTTPDNSClient.ResponseCache {
    var settings = HTTPDNSClient.ResponseCache.Settings()
    settings.limit = .mebibytes(256)
    settings.servesWhenUnreachable = true
    return try await .disk(folder, settings)
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
