// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if LocalProvider
import HTTPDNSPrimitives
import ServerRig
import HTTPDNSCore
import HTTPDNSLocalProvider
import HTTPDNSTesting
import HTTPDNSVendors
import Testing

extension OverTheNetwork {
    /// The clients that need no account, by the contract that every provider keeps, over a real server.
    struct ContractTests {
        enum Client: String, Sendable, CaseIterable {
            case dohGet, dohPost, google, cloudflare, alidns, alibabaV1, alibabaV2

            func provider(_ url: String) throws -> any HTTPDNSProvider {
                switch self {
                case .dohGet, .dohPost:
                    var settings = HTTPDNSDoHProvider.Configuration(name: "local", url: url + "/dns-query")
                    settings.method = self == .dohGet ? .get : .post
                    return try HTTPDNSDoHProvider(settings)
                case .google: return try json(.google, url + "/resolve")
                case .cloudflare: return try json(.cloudflare, url + "/dns-query")
                case .alidns: return try json(.alidns, url + "/alidns/resolve")
                case .alibabaV1, .alibabaV2:
                    var settings = HTTPDNSAlibabaProvider.Configuration(
                        name: "local",
                        version: self == .alibabaV1 ? .v1 : .v2,
                        credential: HTTPDNSVendorCredential(account: "1")
                    )
                    settings.url = url
                    return try HTTPDNSAlibabaProvider(settings)
                }
            }

            private func json(_ service: HTTPDNSJSONProvider.Service, _ url: String) throws -> any HTTPDNSProvider {
                try HTTPDNSJSONProvider(HTTPDNSJSONProvider.Configuration(name: "local", service: service, url: url))
            }

            var protocolName: String {
                switch self {
                case .dohGet, .dohPost: "doh"
                case .google: "json-google"
                case .cloudflare: "json-cloudflare"
                case .alidns: "json-alidns"
                case .alibabaV1: "alibaba-v1"
                case .alibabaV2: "alibaba-v2"
                }
            }
        }

        @Test("The clients keep the contract of providers", arguments: Client.allCases)
        func contract(client: Client) async throws {
            let text =
                ServedFile.mappings + "  silent.test: 192.0.2.50\nserve: { hosts: { silent.test: { delay: 60s } } }\n"
            try await Serving.run(text: text) { serving in
                var fixture = HTTPDNSProviderCompatibility.Fixture(
                    dualStackName: try HTTPDNSName("both.shop.test"),
                    dualStackAddresses: ["192.0.2.10", "192.0.2.11", "2001:db8::10"].compactMap { HTTPDNSAddress($0) },
                    v4OnlyName: try HTTPDNSName("v4.shop.test"),
                    unknownName: try HTTPDNSName("gone.test"),
                    silentName: try HTTPDNSName("silent.test")
                ) { try client.provider(serving.url) }
                // Version 1 has no word for a name that does not exist.
                fixture.reportsNameErrors = client != .alibabaV1
                fixture.timeLimit = .seconds(30)
                fixture.gracePeriod = .seconds(30)
                let violations = await HTTPDNSProviderCompatibility(fixture).violations()
                #expect(violations.isEmpty, "\(violations)")
                #expect(serving.queries.all.contains { $0.protocolName == client.protocolName && $0.outcome == "ok" })
            }
        }

        @Test(
            "Aliases are returned with the lifetime of their chain",
            arguments: [Client.dohGet, .dohPost, .google, .cloudflare, .alidns]
        )
        func aliases(client: Client) async throws {
            try await Serving.run { serving in
                let answer = try await client.provider(serving.url).outcome("alias.shop.test", .v4)
                let expected = HTTPDNSProviderAnswer.Family.addresses(
                    [HTTPDNSAddress(v4: 192, 0, 2, 10), HTTPDNSAddress(v4: 192, 0, 2, 11)],
                    timeToLive: .seconds(30),
                    canonicalName: try HTTPDNSName("both.shop.test")
                )
                #expect(try answer.get().v4 == expected)
            }
        }

        @Test(
            "No malformed answer is accepted",
            arguments: Client.allCases,
            ["garbage: html", "garbage: noise", "garbage: huge", "garbage: half", "cut: 0", "fail: 500", "fail: 404"]
        )
        func hostile(client: Client, fault: String) async throws {
            try await Serving.run("hosts: { both.shop.test: { \(fault) } }") { serving in
                let outcome = try await client.provider(serving.url).outcome("both.shop.test")
                #expect(outcome.addresses.isEmpty, "\(outcome)")
            }
        }

        #if Signing
        private static func alidns(_ url: String, secret: String) throws -> HTTPDNSJSONProvider {
            let service = HTTPDNSJSONProvider.Service.alidns(
                account: "9999",
                accessKey: "test",
                secret: HTTPDNSSecret { secret }
            )
            return try HTTPDNSJSONProvider(
                HTTPDNSJSONProvider.Configuration(name: "ali", service: service, url: url + "/resolve")
            )
        }

        @Test("Alidns with an account is signed, and refused with another secret")
        func alidnsAccount() async throws {
            let place = try Secrets.place("topsecret")
            try await Serving.run("alidns: { account: \"9999\", access_key: test, secret: \(place) }") { serving in
                let good = try await Self.alidns(serving.url, secret: "topsecret").outcome("v4.shop.test", .v4)
                #expect(good.addresses == ["192.0.2.20"])
                let wrong = try await Self.alidns(serving.url, secret: "wrong").outcome("v4.shop.test", .v4)
                #expect(wrong.addresses.isEmpty)
                #expect(serving.queries.all.map(\.outcome) == ["ok", "InvalidSignature"])
                #expect(serving.queries.all.allSatisfy { $0.isSigned })
            }
        }
        #endif
    }
}

extension Result where Success == HTTPDNSProviderAnswer, Failure == HTTPDNSProviderError {
    var addresses: [String] { (try? get().addresses) ?? [] }
}
#endif
