// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import Logging

/// Returns a client that logs; its resolver uses the same logger.
public func makeLoggingClient() async throws -> HTTPDNSClient {
    var configuration = HTTPDNSClient.Configuration()
    configuration.logger = Logger(label: "httpdns")

    return try await HTTPDNSClient(configuration: configuration)
}

/// Logs one line for each call of a client.
public func logCalls(of client: HTTPDNSClient) {
    client.logCalls(to: Logger(label: "calls"))
}
