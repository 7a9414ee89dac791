// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import HTTPDNSCore
import HTTPDNSPrimitives
import HTTPDNSTesting

@testable import HTTPDNSControl

/// A client with a scripted provider and a manual clock, and a folder for its sockets.
///
/// `one.test` is at 203.0.113.1 for 30 s by the provider, and `map.test` mapped to 203.0.113.7.
final class ControlRig: Sendable {
    let folder: String
    let clock = ManualClock()
    let provider: ScriptedProvider
    let client: HTTPDNSClient

    var path: String { "\(folder)/control.sock" }

    init() async throws {
        // Short: the path of a socket has room for 107 octets.
        folder = "/tmp/httpdns-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        provider = ScriptedProvider(
            scripts: [
                try HTTPDNSName("one.test"): .answer(
                    .addresses([HTTPDNSAddress(v4: 203, 0, 113, 1)], timeToLive: .seconds(30))
                )
            ],
            timeSource: clock
        )
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.providers = [provider]
        configuration.resolver.routes = [
            HTTPDNSRoute(try .init("*.test"), .providers(["scripted"], fallback: .none))
        ]
        configuration.resolver.mappings = [try HTTPDNSMapping.Key("map.test"): .addresses(["203.0.113.7"])]
        configuration.resolver.families = .v4
        configuration.resolver.timeSource = clock
        client = try await HTTPDNSClient(configuration: configuration)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    func open() throws -> ControlSocket { try ControlSocket(client: client, path: path, timeSource: clock) }

    func call() throws -> ControlCall { try ControlCall(path: path) }

    var files: [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder).sorted()) ?? [] }
}
