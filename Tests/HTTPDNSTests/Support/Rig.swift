// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

// For all files of the module.
@_exported public import ClientRig
import HTTPDNS
import HTTPDNSCurl
import HTTPDNSTesting

/// A client on a scripted wire, a scripted provider and a manual clock.
///
/// `one.test` is at 203.0.113.1 for 30 s and `two.test` at 203.0.113.2, both by the provider; `map.test` is mapped to
/// 203.0.113.7 and 2001:db8::7; `sys.test` is known to the system resolver alone.
struct Rig {
    let clock = HTTPDNSManualClock()
    let provider: HTTPDNSScriptedProvider
    let system: ScriptedSystemResolver
    let wire: ScriptedWire
    let client: HTTPDNSClient
    let configuration: HTTPDNSClient.Configuration

    init(
        wire: ScriptedWire = ScriptedWire(),
        timeToLive: Duration = .seconds(30),
        answerScope: HTTPDNSAddressPolicy.Scope = .public,
        configure: (inout HTTPDNSClient.Configuration) throws -> Void = { _ in }
    ) throws {
        let provider = HTTPDNSScriptedProvider(
            answerScope: answerScope,
            scripts: [
                try HTTPDNSName("one.test"): .answer(
                    .addresses([HTTPDNSAddress(v4: 203, 0, 113, 1)], timeToLive: timeToLive)
                ),
                try HTTPDNSName("two.test"): .answer(
                    .addresses([HTTPDNSAddress(v4: 203, 0, 113, 2)], timeToLive: timeToLive)
                ),
            ],
            clock: clock
        )
        system = ScriptedSystemResolver([try HTTPDNSName("sys.test"): .success([HTTPDNSAddress(v4: 203, 0, 113, 50)])])
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.providers = [provider]
        configuration.resolver.routes = [
            HTTPDNSRoute(try .init("*.test"), .providers(["scripted"], fallback: .off)),
            HTTPDNSRoute(try .init("sys.test"), .system),
        ]
        configuration.resolver.mappings = [
            try HTTPDNSMapping.Key("map.test"): .addresses(["203.0.113.7", "2001:db8::7"])
        ]
        configuration.resolver.timeSource = clock
        configuration.environment = { _ in nil }
        try configure(&configuration)
        self.configuration = configuration
        self.provider = provider
        self.wire = wire
        client = HTTPDNSClient(
            configuration: configuration,
            resolver: try HTTPDNSResolver(
                configuration.resolver,
                isEnabled: configuration.isEnabled,
                systemResolver: system,
                random: { _ in 0 }
            ),
            sender: wire
        )
    }
}
