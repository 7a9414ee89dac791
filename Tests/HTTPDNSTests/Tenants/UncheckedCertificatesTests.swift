// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSCurl
import Logging
import ServerRig
import Testing

struct UncheckedCertificatesTests {
    private let log = RecordedLog()
    private let transport: HTTPDNSLibcurlTransport
    private let checked: HTTPDNSClient.Configuration
    private let unchecked: HTTPDNSClient.Configuration

    init() {
        transport = HTTPDNSLibcurlTransport(logger: log.logger(.info))
        // Under a lock of the transport's it would not come back.
        log.onEvent { [transport] _ in _ = transport.usage }
        var configuration = HTTPDNSClient.Configuration()
        configuration.environment = { _ in nil }
        checked = configuration
        configuration.trust.verification = .insecurelyAcceptingAnyCertificate
        unchecked = configuration
    }

    private var warnings: Int { log.messages.count { $0.contains("certificates are not checked") } }

    /// The same, and a mistake that is found out after the trust settings were looked at.
    private func withMistake(_ configuration: HTTPDNSClient.Configuration) throws -> HTTPDNSClient.Configuration {
        var bad = configuration
        bad.resolver.routes = [HTTPDNSRoute(try .init("one.test"), .providers(["nobody"], fallback: .off))]
        return bad
    }

    /// When a client takes them.
    @Test("The warning is given once for all clients that share the settings")
    func clients() async throws {
        let first = try await HTTPDNSClient(configuration: unchecked, on: transport)
        #expect(warnings == 1)
        let second = try await HTTPDNSClient(configuration: unchecked, on: transport)
        #expect(warnings == 1)
        try await first.shutdown()
        try await second.shutdown()
        // Another loop, other connections: somebody has taken them again.
        try await HTTPDNSClient(configuration: unchecked, on: transport).shutdown()
        #expect(warnings == 2)
    }

    @Test("Refused settings give no warning, however often they are tried")
    func refused() async throws {
        let bad = try withMistake(unchecked)
        let none = await clientError { try await HTTPDNSClient(configuration: bad, on: transport) }
        #expect(none?.code == .configuration)
        let client = try await HTTPDNSClient(configuration: checked, on: transport)
        for _ in 0..<3 {
            #expect(await clientError { try await client.reload(bad) }?.code == .configuration)
        }
        #expect(warnings == 0, "\(log.messages)")
        try await client.reload(unchecked)
        #expect(warnings == 1)
        try await client.shutdown()
        let late = await clientError { try await client.reload(checked) }
        #expect(late?.code == .shutDown && warnings == 1)
    }

    /// A reload that changes the settings of a host beside them gives none, either.
    @Test("A reload that keeps the settings gives no warning")
    func kept() async throws {
        let client = try await HTTPDNSClient(configuration: unchecked, on: transport)
        var next = unchecked
        next.timeouts.connect = .seconds(7)
        #expect(try await client.reload(next).isChanged)
        next.trustByHost[try HTTPDNSRoute.Pattern("one.test")] = checked.trust
        #expect(try await client.reload(next).isChanged)
        #expect(warnings == 1)
        // Settings of a host's own are settings as well.
        var own = unchecked.trust
        own.minimumVersion = .tls13
        next.trustByHost[try HTTPDNSRoute.Pattern("one.test")] = own
        #expect(try await client.reload(next).isChanged)
        #expect(warnings == 2)
        try await client.shutdown()
    }
}
