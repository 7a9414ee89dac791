// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSMonitor
import ServerRig

typealias Monitor = HTTPDNSTrafficMonitor

/// A client for which names are at ports of 127.0.0.1, and a monitor that is started on it.
struct MonitoredClient: Sendable {
    let client: HTTPDNSClient
    let monitor: Monitor

    /// - Parameter hosts: The names and their ports.
    init(
        _ hosts: [String: UInt16],
        _ settings: Monitor.Settings = Monitor.Settings(),
        _ change: (inout HTTPDNSClient.Configuration) throws -> Void = { _ in }
    ) async throws {
        var configuration = HTTPDNSClient.Configuration()
        for (name, port) in hosts {
            configuration.resolver.mappings[try HTTPDNSMapping.Key(name)] = .addresses(["127.0.0.1:\(port)"])
        }
        // A busy machine may need longer than the defaults.
        (configuration.timeouts.connect, configuration.timeouts.tls) = (.seconds(60), .seconds(60))
        (configuration.resolver.timeLimit, configuration.resolver.attemptLimit) = (.seconds(60), .seconds(60))
        try change(&configuration)
        client = try await HTTPDNSClient(configuration: configuration)
        monitor = try Monitor(settings)
        monitor.start(on: client)
    }

    /// Makes a call, and reads its body.
    /// - Returns: The body; nil when the call fails.
    @discardableResult
    func call(_ request: HTTPDNSClient.Request) async -> [UInt8]? {
        guard let response = try? await client.execute(request) else { return nil }
        return try? await response.body.collect(upTo: .mebibytes(64))
    }

    @discardableResult
    func get(_ url: String) async -> [UInt8]? { await call(HTTPDNSClient.Request(url: url)) }
}

extension HTTPDNSTrafficMonitor.Settings {
    static func with(_ change: (inout Self) -> Void) -> Self {
        var settings = Self()
        change(&settings)
        return settings
    }
}
