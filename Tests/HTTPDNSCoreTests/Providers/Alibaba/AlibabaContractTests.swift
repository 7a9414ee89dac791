// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPDNSTesting
import HTTPTypes
import ServerRig
import Testing

@testable import HTTPDNSCore
@testable import HTTPDNSVendors

struct AlibabaContractTests {
    /// Answers as the service does, about four names; about one of them it keeps silent.
    private final class Service: UpstreamExchanging {
        private let version: HTTPDNSAlibabaProvider.Version
        private let silence = Silence()

        init(_ version: HTTPDNSAlibabaProvider.Version) { self.version = version }

        func exchange(_ request: ServiceRequest, with endpoint: HTTPDNSEndpoint, deadline: MonotonicTime) async throws
            -> UpstreamReply
        {
            try silence.checkShutdown()
            let names = (request.parameters["dn"] ?? request.parameters["host"] ?? "").split(separator: ",").map(
                String.init
            )
            if names.contains("silent.test") { throw try await silence.keep(until: deadline) }
            let families = request.parameters["q"] ?? request.parameters["query"] ?? "4"
            let answers = names.map { version == .v2 ? v2($0, families) : v1($0, families) }.joined(separator: ",")
            let body: String =
                switch (version, names.count) {
                case (.v2, _): AlibabaBody.v2(answers)
                case (.v1, 1): answers
                case (.v1, _): #"{"dns":[\#(answers)]}"#
                }
            return UpstreamReply(status: 200, headerFields: [:], body: Array(body.utf8), endpoint: endpoint)
        }

        func shutdown() async { silence.shutdown() }

        private func v2(_ name: String, _ families: String) -> String {
            let missing = name == "nowhere.test" ? "DomainNotExist" : "RRNotExist"
            let v4 =
                name == "nowhere.test" ? #"{"ips":[],"no_ip_code":"\#(missing)"}"# : #"{"ips":["192.0.2.10"],"ttl":60}"#
            let v6 = name == "dual.test" ? #"{"ips":["2001:db8::10"],"ttl":60}"# : #"{"no_ip_code":"\#(missing)"}"#
            var members = [#""dn":"\#(name)""#]
            if families.contains("4") { members.append(#""v4":\#(v4)"#) }
            if families.contains("6") { members.append(#""v6":\#(v6)"#) }
            return "{\(members.joined(separator: ","))}"
        }

        private func v1(_ name: String, _ families: String) -> String {
            let v4 = families.contains("4") && name != "nowhere.test" ? #"["192.0.2.10"]"# : "[]"
            let v6 = name == "dual.test" ? #"["2001:db8::10"]"# : "[]"
            let list = families.contains("6") ? #","ipsv6":\#(v6)"# : ""
            return #"{"host":"\#(name)","ips":\#(v4)\#(list),"ttl":60,"origin_ttl":600}"#
        }
    }

    @Test(
        "The Alibaba provider keeps the contract, singly and in batches",
        arguments: HTTPDNSAlibabaProvider.Version.allCases
    )
    func compatibility(version: HTTPDNSAlibabaProvider.Version) async throws {
        var fixture = HTTPDNSProviderCompatibility.Fixture(
            dualStackName: try HTTPDNSName("dual.test"),
            dualStackAddresses: [AlibabaBody.address, HTTPDNSAddress(family: .v6, high: 0x2001_0db8 << 32, low: 0x10)],
            v4OnlyName: try HTTPDNSName("v4only.test"),
            unknownName: try HTTPDNSName("nowhere.test"),
            silentName: try HTTPDNSName("silent.test")
        ) {
            var configuration = HTTPDNSAlibabaProvider.Configuration(
                name: "ali",
                version: version,
                credential: HTTPDNSVendorCredential(account: "100000")
            )
            configuration.discoversAddresses = false
            return try HTTPDNSAlibabaProvider(configuration, exchange: Service(version))
        }
        // Version 1 has no word for a name that does not exist.
        fixture.reportsNameErrors = version == .v2
        fixture.timeLimit = .seconds(30)
        fixture.gracePeriod = .seconds(30)
        let violations = await HTTPDNSProviderCompatibility(fixture).violations()
        #expect(violations.isEmpty, "\(violations)")
    }

    @Test("A provider with a refused account is skipped for the next, with one warning")
    func refusedAccount() async throws {
        let scripted = try ScriptedAlibaba { $0.refusal("InvalidAccount") }
        let told = try await VendorWarnings.told(about: scripted.provider)
        // However often it is tried whether it is back, the service hears of one query.
        #expect(scripted.exchange.sent.count == 1)
        #expect(told.count == 1)
        #expect(told.first?.contains("InvalidAccount") == true && told.first?.contains("account-refused") == true)
    }

    @Test("A provider that its vendor has switched off is reported, once")
    func switchedOff() async throws {
        let scripted = try ScriptedAlibaba(settings: { $0.discoversAddresses = true }) { sent in
            sent.reply(sent.isDiscovery ? #"{"service_status":"disable"}"# : AlibabaBody.v2)
        }
        _ = try await scripted.resolve()
        await scripted.provider.exchange.addresses.settled()
        let told = try await VendorWarnings.told(about: scripted.provider)
        #expect(scripted.exchange.queries.count == 1 && scripted.exchange.discoveries.count == 1)
        #expect(told.count == 1)
        #expect(told.first?.contains("service-disabled") == true)
    }

    @Test(
        "Twenty names are warmed with four queries, the fewest that the vendor allows",
        arguments: HTTPDNSAlibabaProvider.Version.allCases
    )
    func warming(version: HTTPDNSAlibabaProvider.Version) async throws {
        let service = Service(version)
        let exchange = ScriptedVendorExchange { sent in
            try await service.exchange(sent.request, with: sent.endpoint, deadline: sent.deadline)
        }
        var settings = HTTPDNSAlibabaProvider.Configuration(
            name: "ali",
            version: version,
            credential: HTTPDNSVendorCredential(account: "100000")
        )
        settings.discoversAddresses = false
        var configuration = HTTPDNSResolver.Configuration()
        configuration.providers = [try HTTPDNSAlibabaProvider(settings, exchange: exchange)]
        configuration.routes = [HTTPDNSRoute(.any, .providers(["ali"], fallback: .off))]
        // A busy machine must not turn a batch into single names.
        configuration.timeLimit = .seconds(60)
        configuration.attemptLimit = .seconds(60)
        let resolver = try HTTPDNSResolver(configuration)
        let names = try (1...20).map { try HTTPDNSName("h\($0).example.com") }
        #expect(await resolver.preresolve(names).isEmpty)
        #expect(exchange.sent.count == 4)
        for name in names {
            let resolution = try await resolver.resolve(HTTPDNSResolver.Query(.name(name), port: 443))
            #expect(resolution.isCached && resolution.endpoints.map(\.address) == [AlibabaBody.address])
        }
        #expect(exchange.sent.count == 4)
        await resolver.shutdown()
    }
}
