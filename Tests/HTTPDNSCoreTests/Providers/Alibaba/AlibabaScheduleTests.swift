// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPDNSTesting
import Testing

@testable import HTTPDNSCore
@testable import HTTPDNSVendors

struct AlibabaScheduleTests {
    private static let found = #"{"service_ip":["198.51.100.1","198.51.100.2"],"service_ipv6":["2001:db8:1::1"]}"#

    private func discovery(_ text: String) throws -> ServiceDiscovery {
        let location = try UpstreamLocation.vendor(
            url: "https://dns.example",
            bootstrap: [HTTPDNSAddress(v4: 192, 0, 2, 1)],
            provider: "ali"
        )
        let schedule = AlibabaSchedule(location: location, account: "100000", region: .mainlandChina) {
            [UInt8](repeating: 0, count: $0)
        }
        return try schedule.discovery(parsing: Array(text.utf8))
    }

    /// A port belongs to the address at its own position.
    @Test("A discovery is read with and without ports")
    func answers() throws {
        #expect(
            try discovery(Self.found).endpoints.map(\.description)
                == ["198.51.100.1:443", "198.51.100.2:443", "[2001:db8:1::1]:443"]
        )
        let ports =
            #"{"service_ip":["198.51.100.1","bad","198.51.100.3","198.51.100.4","198.51.100.5"],"#
            + #""service_ip_port":[8443,1,0,70000],"service_ipv6":["2001:db8:1::1","192.0.2.7"],"service_ipv6_port":[444,445]}"#
        #expect(
            try discovery(ports).endpoints.map(\.description)
                == ["198.51.100.1:8443", "198.51.100.5:443", "[2001:db8:1::1]:444"]
        )
        #expect(try discovery(#"{"service_ip":[]}"#) == ServiceDiscovery())
    }

    @Test(
        "Text that is no discovery is refused",
        arguments: ["", "<html>", "[]", "{}", #"{"service_ip":"198.51.100.1"}"#, #"{"code":"MissingArgument"}"#]
    )
    func refused(text: String) {
        #expect(throws: VendorAnswerError.self) { try discovery(text) }
    }

    @Test("Only `disable` as service_status switches the service off")
    func status() throws {
        #expect(try discovery(#"{"service_status":"disable"}"#).isDisabled)
        #expect(try discovery(#"{"service_ip":["198.51.100.1"],"service_status":"disable"}"#).isDisabled)
        #expect(try !discovery(#"{"service_ip":["198.51.100.1"],"service_status":"enable"}"#).isDisabled)
    }

    private func scripted(
        _ version: HTTPDNSAlibabaProvider.Version = .v2,
        secret: HTTPDNSSecret? = nil,
        region: HTTPDNSAlibabaProvider.Region = .mainlandChina,
        discovery: @escaping ScriptedAlibaba.Answer
    ) throws -> ScriptedAlibaba {
        try ScriptedAlibaba(
            version,
            secret: secret,
            settings: {
                $0.discoversAddresses = true
                $0.region = region
            }
        ) { sent in
            sent.isDiscovery ? try await discovery(sent) : sent.reply(version == .v1 ? AlibabaBody.v1 : AlibabaBody.v2)
        }
    }

    /// The first query goes to the configured addresses.
    @Test(
        "When a configured address fails, discovered addresses are asked next",
        arguments: HTTPDNSAlibabaProvider.Version.allCases
    )
    func flow(version: HTTPDNSAlibabaProvider.Version) async throws {
        let scripted = try scripted(version, region: .hongKong) { $0.reply(Self.found) }
        _ = try await scripted.resolve()
        await scripted.provider.exchange.addresses.settled()
        let discovery = try #require(scripted.exchange.discoveries.first)
        let account = version == .v1 ? "100000" : "123456"
        #expect(discovery.request.url.target == "/\(account)/ss?region=hk&platform=linux&sdk_version=swift-httpdns")
        // The address that answered is asked on; when it fails, the discovered ones are next.
        scripted.provider.exchange.addresses.failed(try #require(scripted.exchange.queries.first).endpoint)
        _ = try await scripted.resolve()
        #expect(scripted.exchange.queries.map(\.endpoint.description) == ["47.56.234.194:443", "198.51.100.1:443"])
        #expect(scripted.exchange.discoveries.count == 1)
    }

    @Test("After a day the discovery is repeated, in the configured region")
    func daily() async throws {
        let scripted = try scripted { $0.reply(Self.found) }
        for _ in 0..<3 {
            _ = try await scripted.resolve()
            await scripted.provider.exchange.addresses.settled()
            scripted.time.advance(by: .seconds(24 * 3600))
        }
        #expect(scripted.exchange.discoveries.count == 3)
        #expect(scripted.exchange.discoveries.allSatisfy { $0.parameters["region"] == "cn" })
    }

    /// A refused discovery does not stop the queries.
    @Test("A discovery asks the next address when one fails")
    func failover() async throws {
        let scripted = try scripted { sent in
            sent.endpoint.address == HTTPDNSAddress(v4: 203, 107, 1, 1)
                ? sent.reply("", status: 500) : sent.refusal("InvalidAccount")
        }
        _ = try await scripted.resolve()
        await scripted.provider.exchange.addresses.settled()
        #expect(scripted.exchange.discoveries.count == 2)
        _ = try await scripted.resolve()
        #expect(scripted.exchange.queries.count == 2)
    }

    @Test("A switched-off account gets no queries until its vendor enables it")
    func killSwitch() async throws {
        let isOff = Lock(true)
        let scripted = try scripted { sent in
            sent.reply(isOff.withLock { $0 } ? #"{"service_status":"disable"}"# : Self.found)
        }
        _ = try await scripted.resolve()
        await scripted.provider.exchange.addresses.settled()
        let sent = scripted.exchange.sent.count
        for _ in 0..<5 {
            let error = try #require(try await scripted.error())
            #expect(error.code == .serviceDisabled && error.message.contains("switched the service off"))
        }
        #expect(scripted.exchange.sent.count == sent)

        isOff.withLock { $0 = false }
        scripted.time.advance(by: .seconds(3600))
        _ = try await scripted.error()
        await scripted.provider.exchange.addresses.settled()
        #expect(try await scripted.error() == nil)
    }

    @Test("A shutdown ends a discovery in progress")
    func shutdown() async throws {
        let started = OneShot<Void>()
        let scripted = try scripted { _ in
            started.deliver(())
            try await Task.sleep(for: .seconds(3600))
            throw CancellationError()
        }
        _ = try await scripted.resolve()
        await started.value()
        await scripted.provider.shutdown()
        #expect(scripted.exchange.isShutDown)
        #expect(try await scripted.error()?.code == .shutDown)
    }

    #if Signing
    /// The signature covers its text.
    @Test("With a secret a discovery is signed for a minute, with a nonce of 12 digits")
    func signed() async throws {
        let scripted = try scripted(.v1, secret: HTTPDNSSecret { "IAmASecret" }) { $0.reply(Self.found) }
        _ = try await scripted.resolve()
        await scripted.provider.exchange.addresses.settled()
        let parameters = try #require(scripted.exchange.discoveries.first).parameters
        #expect(parameters["n"] == "000102030405" && parameters["t"] == "1700000060")
        let expected = try AlibabaSchedule.signature(nonce: "000102030405", secret: "IAmASecret", time: "1700000060")
        #expect(parameters["s"] == expected)
    }
    #endif
}
