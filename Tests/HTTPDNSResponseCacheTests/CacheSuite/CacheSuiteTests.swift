// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSResponseCache
import ServerRig
import Testing

@Suite("The public test suite for caches", .timeLimit(.minutes(5)))
struct CacheSuiteTests {
    @Test("Each case of the suite has its outcome, and each required one passes", arguments: CacheSuiteCase.all)
    func outcome(_ row: CacheSuiteCase) async throws {
        for mode in [HTTPDNSClient.ResponseCache.Mode.shared, .private] {
            let isOwn = mode == .private
            guard row.scope == .both || (row.scope == .private) == isOwn else { continue }
            let expected = isOwn ? row.outcome.own : row.outcome.shared
            let isDeparture = CacheSuiteCase.departures.contains(row.id)
            #expect(row.kind != .required || expected != isDeparture, "a required case is allowed to fail")
            let failure = try await CacheSuiteRun(row.steps).failure(mode)
            #expect(failure?.hasPrefix("unknown") != true, "\(failure ?? "")")
            #expect((failure == nil) == expected, "\(mode): \(failure ?? "passes")")
        }
    }

    @Test("The page of conformance has the outcome of each case, and no other one")
    func page() throws {
        let page = try Repository.text("Docs/Conformance.md")
        let lines = page.split(separator: "\n").drop { $0 != "### Cases of cache-tests" }
        let section = lines.prefix { !$0.hasPrefix("## ") }
        let rows = section.filter { $0.hasPrefix("| `") }.map(String.init)
        #expect(rows == CacheSuiteCase.all.map(\.row))
        #expect(CacheSuiteCase.totals.allSatisfy { section.contains($0[...]) }, "\(CacheSuiteCase.totals)")
        #expect(CacheSuiteCase.all.count == CacheSuiteCase.lines.count)
        #expect(Set(CacheSuiteCase.all.map(\.id)).count == CacheSuiteCase.lines.count)
    }
}
