// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSTesting
import HTTPTypes
import Testing

@testable import HTTPDNSCore
@testable import HTTPDNSVendors

struct TencentContractTests {
    /// Answers as the service does, about four names; about one of them it keeps silent.
    private final class Service: UpstreamExchanging {
        private let access: ScriptedTencent.Access
        private let silence = Silence()

        init(_ access: ScriptedTencent.Access) { self.access = access }

        func exchange(_ request: ServiceRequest, with endpoint: HTTPDNSEndpoint, deadline: MonotonicTime) async throws
            -> UpstreamReply
        {
            try silence.checkShutdown()
            let sent = ScriptedVendorExchange.Sent(request: request, endpoint: endpoint, deadline: deadline)
            let asked = try TencentBody.asked(sent).split(separator: ";")[0]
            let names = asked.split(separator: ",").map(String.init)
            if names.contains("silent.test") { throw try await silence.keep(until: deadline) }
            let lines = names.map { "\($0).:\(lists($0, sent.parameters["type"]))" }.joined(separator: "\n")
            return sent.reply(try TencentBody.written("\(lines)|203.0.113.7", access))
        }

        func shutdown() async { silence.shutdown() }

        private func lists(_ name: String, _ type: String?) -> String {
            let v4 = name == "nowhere.test" ? "0" : "192.0.2.10,60"
            let v6 = name == "dual.test" ? "2001:db8::10,60" : "0"
            switch type {
            case nil: return v4
            case "aaaa"?: return v6
            default: return "\(v4)-\(v6)"
            }
        }
    }

    private func configuration(_ access: ScriptedTencent.Access) -> HTTPDNSTencentProvider.Configuration {
        var configuration = HTTPDNSTencentProvider.Configuration(
            name: "tencent",
            credential: HTTPDNSVendorCredential(
                account: "100000",
                secret: access == .token ? HTTPDNSSecret { ScriptedTencent.token } : nil,
                encryptionKey: access == .token ? nil : HTTPDNSSecret { ScriptedTencent.key }
            )
        )
        configuration.discoversAddresses = false
        return configuration
    }

    @Test("The Tencent provider keeps the contract, singly and in batches", arguments: ScriptedTencent.Access.allCases)
    func compatibility(access: ScriptedTencent.Access) async throws {
        var fixture = HTTPDNSProviderCompatibility.Fixture(
            dualStackName: try HTTPDNSName("dual.test"),
            dualStackAddresses: [TencentBody.address, TencentBody.address6],
            v4OnlyName: try HTTPDNSName("v4only.test"),
            unknownName: try HTTPDNSName("nowhere.test"),
            silentName: try HTTPDNSName("silent.test")
        ) {
            try HTTPDNSTencentProvider(configuration(access), exchange: Service(access))
        }
        // The protocol has no word for a name that does not exist.
        fixture.reportsNameErrors = false
        fixture.timeLimit = .seconds(30)
        fixture.gracePeriod = .seconds(30)
        let violations = await HTTPDNSProviderCompatibility(fixture).violations()
        #expect(violations.isEmpty, "\(violations)")
    }

    @Test("A provider with a refused account is skipped for the next, with one warning")
    func refusedAccount() async throws {
        let scripted = try ScriptedTencent(settings: { $0.accountRefusalStatuses = [403] }) {
            $0.reply("", status: 403)
        }
        let told = try await VendorWarnings.told(about: scripted.provider)
        // However often it is tried whether it is back, the service hears of one query.
        #expect(scripted.exchange.sent.count == 1)
        #expect(told.count == 1)
        #expect(told.first?.contains("HTTP 403") == true && told.first?.contains("account-refused") == true)
    }

    /// Requests go on meanwhile.
    @Test("After a 401 that is not configured as final, the service is asked again")
    func notAllowed() async throws {
        let scripted = try ScriptedTencent { $0.reply("", status: 401) }
        let told = try await VendorWarnings.told(about: scripted.provider)
        #expect(scripted.exchange.sent.count > 1 && told.count <= 1)
    }

    @Test("Twenty names are warmed with three queries, the fewest that the vendor allows")
    func warming() async throws {
        for access in ScriptedTencent.Access.allCases {
            let service = Service(access)
            let exchange = ScriptedVendorExchange { sent in
                try await service.exchange(sent.request, with: sent.endpoint, deadline: sent.deadline)
            }
            var settings = HTTPDNSResolver.Configuration()
            settings.providers = [try HTTPDNSTencentProvider(configuration(access), exchange: exchange)]
            settings.routes = [HTTPDNSRoute(.any, .providers(["tencent"], fallback: .off))]
            // A busy machine must not turn a batch into single names.
            settings.timeLimit = .seconds(60)
            settings.attemptLimit = .seconds(60)
            let resolver = try HTTPDNSResolver(settings)
            let names = try (1...20).map { try HTTPDNSName("h\($0).example.com") }
            #expect(await resolver.preresolve(names).isEmpty)
            #expect(exchange.sent.count == 3)
            for name in names {
                let resolution = try await resolver.resolve(HTTPDNSResolver.Query(.name(name), port: 443))
                #expect(resolution.isCached && resolution.endpoints.map(\.address) == [TencentBody.address])
            }
            #expect(exchange.sent.count == 3)
            await resolver.shutdown()
        }
    }
}
