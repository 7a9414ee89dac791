// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSCore

/// A client for which `one.test` is at a port of 127.0.0.1.
func mappedClient(_ port: UInt16) async throws -> HTTPDNSClient {
    var configuration = HTTPDNSClient.Configuration()
    configuration.resolver.mappings = [try HTTPDNSMapping.Key("one.test"): .addresses(["127.0.0.1:\(port)"])]
    return try await HTTPDNSClient(configuration: configuration)
}
