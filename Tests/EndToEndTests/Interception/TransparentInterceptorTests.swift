// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import ClientRig
import HTTPDNS
import ServerRig
import Testing

/// Interceptors that change nothing, in a client whose other settings all have an effect.
@Suite(
    "Interceptors beside the other settings",
    .enabled(if: ServerRig.isAvailable([.nginx, .bind]))
)
struct TransparentInterceptorTests {
    private static let passing = Around { request, context, next in try await next(request, context) }

    private func add(to configuration: inout HTTPDNSClient.Configuration, _ isIntercepted: Bool) {
        configuration.applicationInterceptors = isIntercepted ? [Self.passing, Self.passing] : []
        configuration.networkInterceptors = isIntercepted ? [Self.passing, Self.passing] : []
    }

    @Test("Header fields, cookies and trust roots hold with and without interceptors", arguments: [false, true])
    func settings(isIntercepted: Bool) async throws {
        let rig = try await ServerRig.shared()
        var configuration = try rig.settings()
        configuration.cookies = .memory()
        configuration.headers.fields = [.userAgent: "settings/1"]
        add(to: &configuration, isIntercepted)
        try await withClient(configuration) { client in
            let origin = "https://one.test:\(rig.tlsPort)"
            try await client.get("\(origin)/cookie/set").text()
            let echo = try await Echo(try await client.get("\(origin)/echo"))
            #expect(echo.headers["user-agent"] == .one("settings/1"))
            let cookies = try await client.get("\(origin)/cookie/show").text()
            #expect(cookies.contains("host=one.test") && cookies.contains("secret=1"))
        }
        var distrusting = try rig.settings()
        distrusting.trustRoots = .system
        add(to: &distrusting, isIntercepted)
        try await withClient(distrusting) { client in
            let error = try await refusal { _ = try await client.get("https://one.test:\(rig.tlsPort)/echo") }
            #expect(error.code == .certificateRefused)
            #expect(error.attempts.contains { "\($0)".contains("tls") }, "\(error)")
        }
    }

    /// The floor is the limit, and the ceiling ten times as much.
    @Test("A time limit holds with and without interceptors", arguments: [false, true])
    func limit(isIntercepted: Bool) async throws {
        let rig = try await ServerRig.shared()
        var configuration = try rig.settings()
        configuration.timeouts.firstByte = .seconds(1)
        add(to: &configuration, isIntercepted)
        try await withClient(configuration) { client in
            let start = ContinuousClock.now
            let error = try await refusal { _ = try await client.get("https://one.test:\(rig.tlsPort)/stall/600") }
            let elapsed = ContinuousClock.now - start
            #expect(error.code == .timedOut && error.phase == .firstByte, "\(error)")
            #expect(elapsed >= .seconds(1) && elapsed < .seconds(60))
        }
    }

    @Test("A proxy is used with and without interceptors", arguments: [false, true])
    func proxy(isIntercepted: Bool) async throws {
        let rig = try await ServerRig.shared()
        let squid = try await SquidProxy(hosts: ["proxied.wild.test": "127.0.0.2"])
        var configuration = try rig.settings(mappings: ["proxied.wild.test": .addresses(["127.0.0.3"])])
        configuration.proxy = .through(try HTTPDNSClient.Proxy("http://127.0.0.1:\(squid.port)"))
        add(to: &configuration, isIntercepted)
        try await withClient(configuration) { client in
            let response = try await client.get("https://proxied.wild.test:\(rig.tlsPort)/health")
            #expect(try await response.text() == "127.0.0.2\n")
        }
        #expect(try await squid.awaitRequests(1) == ["CONNECT proxied.wild.test:\(rig.tlsPort)"])
    }

    private enum Canary: HTTPDNSClient.RequestProperty {
        typealias Value = String
    }

    @Test("Properties, interceptors and predicates leave the bytes on the wire alone")
    func wire() async throws {
        let server = try RawServer(.serve("hello"))
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.mappings = [
            try HTTPDNSMapping.Key("one.wild.test"): .addresses(["127.0.0.1:\(server.port)"])
        ]
        let body = Array(#"{"amount": 100}"#.utf8)
        var request = HTTPDNSClient.Request(method: .post, url: "http://one.wild.test/charge", body: .bytes(body))
        try await withClient(configuration) { client in _ = try await client.execute(request).text() }
        request[Canary.self] = "canary-property"
        add(to: &configuration, true)
        configuration.networkInterceptors.append(OnlyCharges())
        try await withClient(configuration) { client in _ = try await client.execute(request).text() }
        let connections = server.connections.map(\.text)
        try #require(connections.count == 2)
        #expect(connections[0] == connections[1] && connections[0].hasSuffix(#"{"amount": 100}"#))
        #expect(!server.text.contains("canary"))
    }

    /// An interceptor whose predicate reads the body.
    private struct OnlyCharges: HTTPDNSClient.Interceptor {
        var predicate: HTTPDNSClient.RequestPredicate? { .path("/charge") && .body(Array(#"{"amount": 100}"#.utf8)) }

        func intercept(_ request: HTTPDNSClient.Request, context: HTTPDNSClient.InterceptionContext, next: Next)
            async throws -> HTTPDNSClient.Response
        {
            #expect(request[Canary.self] == "canary-property")
            return try await next(request, context)
        }
    }
}
