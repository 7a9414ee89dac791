// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSCore
import HTTPDNSCurl
import HTTPDNSPrimitives
import HTTPDNSTesting
import HTTPTypes

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

/// An interceptor made of a closure.
struct Around: HTTPDNSClient.Interceptor {
    typealias Next = (HTTPDNSClient.Request, HTTPDNSClient.InterceptionContext) async throws -> HTTPDNSClient.Response

    let body:
        @Sendable (HTTPDNSClient.Request, HTTPDNSClient.InterceptionContext, Next) async throws ->
            HTTPDNSClient.Response

    init(
        _ body:
            @escaping @Sendable (HTTPDNSClient.Request, HTTPDNSClient.InterceptionContext, Next) async throws ->
            HTTPDNSClient.Response
    ) {
        self.body = body
    }

    func intercept(_ request: HTTPDNSClient.Request, context: HTTPDNSClient.InterceptionContext, next: Next)
        async throws -> HTTPDNSClient.Response
    {
        try await body(request, context, next)
    }
}

/// The client's error that `body` throws; nil when it throws none or another.
func clientError(_ body: () async throws -> some Any) async -> HTTPDNSClientError? {
    do {
        _ = try await body()
        return nil
    } catch {
        return error as? HTTPDNSClientError
    }
}
