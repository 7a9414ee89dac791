// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import HTTPDNSConfiguration
import HTTPDNSCore
import HTTPDNSPrimitives
import ServerRig
import Testing

/// A configuration file with six routes to two providers, BIND over DoH and a JSON service of nginx, and what both have logged.
@Suite("Six routes of a file", .enabled(if: ServerRig.isAvailable([.nginx, .bind])), .timeLimit(.minutes(10)))
struct SixRoutesTests {
    private struct Asked: Hashable, CustomStringConvertible {
        var name: String
        var bind: Int
        var json: Int

        var description: String { "\(name): BIND \(bind), JSON \(json)" }
    }

    private func text(_ rig: ServerRig) -> String {
        """
        version: 1
        client: { ca_file: \(rig.certificateAuthorityFile) }
        policy: { providers_may_answer: loopback }
        resolver: { families: v4, attempt_limit: 20s, time_limit: 60s, hedge_after: 20s }
        providers:
          bind: { kind: doh, url: "\(rig.dohURL)", bootstrap: 127.0.0.1, ca_file: \(rig.certificateAuthorityFile) }
          json:
            kind: json-google
            url: https://json.wild.test:\(rig.tlsPort)/resolve?v4=127.0.0.3
            bootstrap: 127.0.0.2
            ca_file: \(rig.certificateAuthorityFile)
        routes:
          "*.six.wild.test": { providers: bind }
          json.six.wild.test: { providers: json }
          "*.deep.six.wild.test": { providers: json }
          past.six.wild.test: system
          off.six.wild.test: { providers: [bind, json], enabled: false }
          "*.broken.test": { providers: [bind, json], order: given }
        """
    }

    @Test("Each provider is asked about the names of its own routes only")
    func logs() async throws {
        let rig = try await ServerRig.shared()
        try await rig.setRecords("a.six.wild.test", ["127.0.0.4"])
        let (requests, queries) = (rig.accessLogMark(), rig.bindLogMark())
        let expected: [(asked: Asked, address: String?)] = [
            (Asked(name: "a.six.wild.test", bind: 1, json: 0), "127.0.0.4"),
            (Asked(name: "json.six.wild.test", bind: 0, json: 1), "127.0.0.3"),
            (Asked(name: "b.deep.six.wild.test", bind: 0, json: 1), "127.0.0.3"),
            (Asked(name: "past.six.wild.test", bind: 0, json: 0), nil),
            (Asked(name: "off.six.wild.test", bind: 0, json: 0), nil),
            // BIND cannot load this zone: SERVFAIL.
            (Asked(name: "c.broken.test", bind: 1, json: 1), "127.0.0.3"),
            (Asked(name: "no-route.wild.test", bind: 0, json: 0), nil),
        ]
        try await withClient(try HTTPDNSConfigurationFile.parse(text(rig), name: "six.yaml")) { client in
            for (asked, address) in expected {
                let found = try? await client.resolve(asked.name).endpoints.map(\.address.description)
                #expect(found == address.map { [$0] }, "\(asked)")
            }
        }
        _ = try await rig.awaitAccessLog(since: requests) { $0.target.contains("name=c.broken.test&") }
        try await rig.awaitBindLog(contains: "query: c.broken.test IN A", since: queries)
        let targets = try rig.accessLog(since: requests).map(\.target)
        let seen = try expected.map { item in
            let name = item.asked.name
            return Asked(
                name: name,
                bind: try rig.queryCount(of: name, since: queries),
                json: targets.count { $0.contains("&name=\(name)&") }
            )
        }
        #expect(seen == expected.map(\.asked))
    }
}
