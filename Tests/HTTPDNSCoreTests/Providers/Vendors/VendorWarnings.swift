// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSTesting
import Logging
import ServerRig
import Testing

@testable import HTTPDNSCore

enum VendorWarnings {
    /// What is warned of while twenty questions, forty seconds apart, are answered by another provider after `provider`.
    static func told(about provider: any HTTPDNSProvider) async throws -> [String] {
        let host = try HTTPDNSName("www.example.com")
        let address = HTTPDNSAddress(v4: 198, 51, 100, 99)
        let time = HTTPDNSManualClock()
        let good = HTTPDNSScriptedProvider(
            name: "good",
            scripts: [
                host: .answer(
                    HTTPDNSProviderAnswer(v4: .addresses([address], timeToLive: .seconds(9), canonicalName: nil))
                )
            ],
            clock: time
        )
        let log = RecordedLog()
        var configuration = HTTPDNSResolver.Configuration()
        configuration.providers = [provider, good]
        configuration.routes = [
            HTTPDNSRoute(.any, .providers([provider.name, "good"], fallback: .off), families: .v4)
        ]
        configuration.logger = log.logger(.warning)
        configuration.timeSource = time
        let resolver = try HTTPDNSResolver(configuration)
        for _ in 0..<20 {
            resolver.removeAllCached()
            let resolution = try await resolver.resolve(HTTPDNSResolver.Query(.name(host), port: 443))
            #expect(resolution.endpoints.map(\.address) == [address])
            time.advance(by: .seconds(40))
        }
        await resolver.shutdown()
        return log.lines
    }
}
