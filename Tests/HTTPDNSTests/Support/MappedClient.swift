// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS

/// A client for which `one.test` is at a port of 127.0.0.1.
func mappedClient(
    _ port: UInt16,
    _ change: (inout HTTPDNSClient.Configuration) throws -> Void = { _ in }
) async throws -> HTTPDNSClient {
    var configuration = HTTPDNSClient.Configuration()
    configuration.resolver.mappings = [try HTTPDNSMapping.Key("one.test"): .addresses(["127.0.0.1:\(port)"])]
    // A busy machine may need longer than the defaults.
    (configuration.timeouts.connect, configuration.timeouts.tls) = (.seconds(60), .seconds(60))
    (configuration.timeouts.firstByte, configuration.timeouts.idle) = (.seconds(60), .seconds(60))
    try change(&configuration)
    return try await HTTPDNSClient(configuration: configuration)
}
