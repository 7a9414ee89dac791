// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSTesting
import ServerRig

@testable import HTTPDNSControl

/// A client with a scripted provider and a manual clock, and a folder for its sockets.
///
/// `one.test` is at 203.0.113.1 for 30 s by the provider, and `map.test` mapped to 203.0.113.7.
final class ControlRig: Sendable {
    let folder: TemporaryFolder
    let clock = HTTPDNSManualClock()
    let provider: HTTPDNSScriptedProvider
    let client: HTTPDNSClient

    var path: String { folder.path("control.sock") }

    init() async throws {
        folder = try TemporaryFolder()
        provider = HTTPDNSScriptedProvider(
            scripts: [
                try HTTPDNSName("one.test"): .answer(
                    .addresses([HTTPDNSAddress(v4: 203, 0, 113, 1)], timeToLive: .seconds(30))
                )
            ],
            clock: clock
        )
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.providers = [provider]
        configuration.resolver.routes = [
            HTTPDNSRoute(try .init("*.test"), .providers(["scripted"], fallback: .off))
        ]
        configuration.resolver.mappings = [try HTTPDNSMapping.Key("map.test"): .addresses(["203.0.113.7"])]
        configuration.resolver.families = .v4
        configuration.resolver.timeSource = clock
        client = try await HTTPDNSClient(configuration: configuration)
    }

    func open() throws -> HTTPDNSControlSocket {
        try HTTPDNSControlSocket(client: client, path: path, timeSource: clock)
    }

    func call() throws -> ControlCall { try ControlCall(path: path) }
}
