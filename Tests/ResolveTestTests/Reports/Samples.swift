// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import HTTPDNS
import Testing

@testable import resolve_test

/// Values that the reports are drawn from. Their figures are made up; the texts round them are what is tested.
enum Samples {
    static let kinds = ["doh": "doh", "backup": "doh"]

    static func address(_ text: String) throws -> HTTPDNSAddress { try #require(HTTPDNSAddress(text)) }

    static func endpoints(_ texts: [String], port: UInt16 = 443) throws -> [HTTPDNSEndpoint] {
        try texts.map { HTTPDNSEndpoint(address: try address($0), port: port) }
    }

    static func mapped(_ addresses: [String], key: String, line: Int, weights: [Int]? = nil, port: UInt16 = 443) throws
        -> HTTPDNSResolver.Resolution
    {
        var resolution = HTTPDNSResolver.Resolution(endpoints: try endpoints(addresses, port: port), source: .mapping)
        let targets = try addresses.enumerated().map { index, text in
            HTTPDNSMapping.Target(try address(text), weight: weights?[index])
        }
        resolution.mapping = HTTPDNSResolver.AppliedMapping(
            key: try HTTPDNSMapping.Key(key),
            location: HTTPDNSSourceLocation(file: "httpdns.yaml", line: line),
            targets: targets
        )
        resolution.generation = 7
        return resolution
    }

    static func provided(_ addresses: [String], port: UInt16 = 443) throws -> HTTPDNSResolver.Resolution {
        var resolution = HTTPDNSResolver.Resolution(endpoints: try endpoints(addresses, port: port), source: .provider)
        resolution.provider = "backup"
        resolution.timeToLive = .milliseconds(40_980)
        resolution.elapsed = .microseconds(8_100)
        resolution.route = HTTPDNSRoute(
            try HTTPDNSRoute.Pattern("*.shop.example"),
            .providers(["ali", "backup"], fallback: .off),
            location: HTTPDNSSourceLocation(file: "httpdns.yaml", line: 7)
        )
        resolution.generation = 1
        return resolution
    }

    static func rewrite(_ resolution: HTTPDNSResolver.Resolution) -> RewriteView {
        RewriteView(
            originalURL: "https://Api.Shop.example:8443/v1?q=1",
            canonicalURL: "https://api.shop.example:8443/v1?q=1",
            addressURL: "https://203.0.113.8:8443/v1?q=1",
            host: "api.shop.example:8443",
            serverName: "api.shop.example",
            resolveEntry: "api.shop.example:8443:203.0.113.8,203.0.113.9",
            resolution: resolution,
            isTagged: true,
            urlHost: "api.shop.example",
            urlPort: 8443
        )
    }
}
#endif
