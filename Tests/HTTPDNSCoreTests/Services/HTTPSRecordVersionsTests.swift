// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import HTTPDNSCore

/// RFC 9460 sections 7.1 and 7.1.2: the parameters `alpn` and `no-default-alpn`.
struct HTTPSRecordVersionsTests {
    private static let host = HTTPDNSName(canonical: "shop.test")
    private static let own = HTTPDNSAddress(v4: 203, 0, 113, 1)
    private var generator = SeededGenerator()

    private static func record(
        _ priority: UInt16,
        _ protocols: [String],
        isNamed: Bool = true,
        port: UInt16? = nil
    ) -> HTTPDNSProviderAnswer.HTTPSRecord {
        var record = HTTPDNSProviderAnswer.HTTPSRecord(
            priority: priority,
            applicationProtocols: protocols,
            port: port
        )
        record.namesProtocols = isNamed
        return record
    }

    private mutating func candidates(_ records: [HTTPDNSProviderAnswer.HTTPSRecord]) -> ServiceRoute? {
        var selection = HTTPSRecordSelection(host: Self.host, families: .v4)
        var answer = HTTPDNSProviderAnswer(
            v4: .addresses([Self.own], timeToLive: .seconds(60), canonicalName: nil)
        )
        answer.httpsRecords = .bindings(records, timeToLive: .seconds(60))
        let actions = selection.received(answer, about: Self.host, using: &generator)
        guard actions.count == 1, case .done(.route(let route, _, _)) = actions[0] else { return nil }
        return route
    }

    @Test(
        "A record limits its endpoint to the versions that its alpn names",
        arguments: [
            (record(1, ["http/1.1"], port: 444), ["http/1.1"]), (record(1, ["h2"], port: 444), ["h2"]),
            (record(1, ["h3", "http/1.1"], port: 444), ["http/1.1"]),
            (record(1, ["h2", "http/1.1"], port: 444), nil),
            // A record without alpn.
            (record(1, ["http/1.1"], isNamed: false, port: 444), nil),
        ] as [(HTTPDNSProviderAnswer.HTTPSRecord, [String]?)]
    )
    mutating func limited(record: HTTPDNSProviderAnswer.HTTPSRecord, to protocols: [String]?) throws {
        let found = self.candidates([record])
        let candidates = try #require(found)
        let endpoint = HTTPDNSEndpoint(address: Self.own, port: 444)
        #expect(candidates.endpoints == [endpoint, HTTPDNSEndpoint(address: Self.own, port: 443)])
        let expected = protocols.map { [endpoint: OfferedVersions(applicationProtocols: $0)] } ?? [:]
        #expect(candidates.offers == expected)
    }

    @Test("A record without a protocol over TLS and TCP is not usable", arguments: [["h3"], ["h3", "doq"], []])
    mutating func unusable(protocols: [String]) {
        let alone = candidates([Self.record(1, protocols, port: 444)])
        #expect(alone == nil)
        let rest = candidates([Self.record(1, protocols, port: 444), Self.record(2, ["h2"], port: 445)])
        #expect(rest?.endpoints.map(\.port) == [445, 443])
    }

    /// A request for another version uses the second record.
    @Test("Records for one endpoint are joined, and the preferred one decides")
    mutating func joined() throws {
        let found = self.candidates([Self.record(2, ["h2"], port: 444), Self.record(1, ["http/1.1"], port: 444)])
        let candidates = try #require(found)
        let endpoint = HTTPDNSEndpoint(address: Self.own, port: 444)
        #expect(candidates.endpoints == [endpoint, HTTPDNSEndpoint(address: Self.own, port: 443)])
        let offer = try #require(candidates.offers[endpoint])
        #expect(offer.versions(for: .automatic) == .http1Only && offer.versions(for: .http2Only) == .http2Only)
    }

    /// Without the record a connection there would negotiate any version.
    @Test("At the name's own endpoint the record decides, and other versions stay possible")
    mutating func ownEndpoint() throws {
        let found = self.candidates([Self.record(1, ["http/1.1"])])
        let candidates = try #require(found)
        let endpoint = HTTPDNSEndpoint(address: Self.own, port: 443)
        #expect(candidates.endpoints == [endpoint])
        let offer = try #require(candidates.offers[endpoint])
        #expect(offer.versions(for: .automatic) == .http1Only && offer.versions(for: .http2Only) == .http2Only)
    }
}
