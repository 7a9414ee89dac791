// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSConfiguration

/// The ways to a client.
enum MakingAClient {
    static func smallest() async throws -> [UInt8] {
        let client = try await HTTPDNSClient()
        let response = try await client.get("https://img.shop.example/a.jpg") { $0.timeouts.total = .seconds(2) }
        let picture = try await response.body.collect(upTo: .mebibytes(4))
        try await client.shutdown()

        return picture
    }

    static func fromFile() async throws -> HTTPDNSClient {
        try await HTTPDNSClient(configuration: .file("httpdns.yaml"))
    }

    static func inCode() async throws -> HTTPDNSClient {
        var service = HTTPDNSDoHProvider.Configuration(name: "backup", url: "https://doh.example/dns-query")
        service.bootstrap = [HTTPDNSAddress(v4: 192, 0, 2, 53), HTTPDNSAddress(v4: 192, 0, 2, 54)]

        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.providers = [try HTTPDNSDoHProvider(service)]
        configuration.resolver.routes = [
            HTTPDNSRoute(try .init("*.shop.example"), .providers(["backup"], fallback: .system)),
            HTTPDNSRoute(try .init("pay.shop.example"), .providers(["backup"], fallback: .off)),
        ]
        configuration.resolver.mappings = [try HTTPDNSMapping.Key("img.shop.example"): .addresses(["203.0.113.7"])]
        configuration.timeouts.total = .seconds(10)
        let client = try await HTTPDNSClient(configuration: configuration)

        return client
    }

    static func privateService(_ configuration: inout HTTPDNSClient.Configuration) throws {
        var house = HTTPDNSDoHProvider.Configuration(name: "house", url: "https://dns.house.example/dns-query")
        house.bootstrap = [HTTPDNSAddress(v4: 10, 0, 0, 53)]
        house.trustRoots = .file("/etc/house/ca.pem")
        house.answerScope = .private
        configuration.resolver.providers.append(try HTTPDNSDoHProvider(house))
    }
}
