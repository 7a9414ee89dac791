// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSResponseCache
import ServerRig
import Testing

struct CacheSuiteTests {
    @Test("Each case of the suite has its outcome, and each required one passes", arguments: CacheSuiteCase.all)
    func outcome(_ row: CacheSuiteCase) async throws {
        for mode in [HTTPDNSClient.ResponseCache.Mode.shared, .private] {
            let isOwn = mode == .private
            guard row.scope == .both || (row.scope == .private) == isOwn else { continue }
            let expected = isOwn ? row.failures.own : row.failures.shared
            let isDeparture = !isOwn && CacheSuiteCase.departures.contains(row.id)
            #expect(row.kind != .required || (expected != nil) == isDeparture, "a required case is allowed to fail")
            for place in ["memory", "store of the program"] + (row.isForFolder ? ["folder"] : []) {
                let folder = place == "folder" ? try TemporaryFolder() : nil
                defer { withExtendedLifetime(folder) {} }
                let store = place == "store of the program" ? TableStore() : nil
                let run = CacheSuiteRun(row.steps)
                let failure = try await run.failure(mode, folder: folder?.path("cache"), store: store)
                #expect(failure?.step == expected, "\(mode), \(place): \(failure?.reason ?? "passes")")
            }
        }
    }

    @Test(
        "A part of a step that has no meaning is not left out",
        arguments: [
            "expect 3o4", "expect 20", "status x", "method GET:", "method", "delay soon", "path page", "interim 1o3",
            "body", "pause 3", "date: @soon", "etag: \\3", ">foo", "^link", "~a:1", "!a b", "=sent ", "a:1", "word x",
        ]
    )
    func unknown(_ part: String) async throws {
        #expect(CacheSuiteStep("=sent; \(part)", number: 1).unknown == part)
        #expect(try await CacheSuiteRun("=sent; \(part)").failure(.shared, folder: nil)?.step == 0)
    }

    @Test("Blanks of a value belong to it, except the one after the colon")
    func blanks() {
        let step = CacheSuiteStep(">foo:  1, 2 ; a: 1", number: 1)
        #expect(step.unknown == nil)
        #expect(step.request.map { $0.field(at: 0).withUnsafeBytesOfValue { Array($0) } } == [Array(" 1, 2 ".utf8)])
    }

    @Test("The page of conformance has the totals and the failing cases to explain")
    func page() throws {
        let page = try Repository.text("Docs/Conformance.md")
        let lines = page.split(separator: "\n").drop { $0 != "### Cases of cache-tests" }
        let section = lines.prefix { !$0.hasPrefix("## ") }
        let named = Set(section.filter { $0.hasPrefix("- ") }.flatMap { $0.split(separator: "`").map(String.init) })
        let failing = CacheSuiteCase.all.filter { !$0.passes && $0.kind != .check }.map(\.id)
        #expect(failing.filter { !named.contains($0) } == [])
        #expect(CacheSuiteCase.totals.allSatisfy { section.contains($0[...]) }, "\(CacheSuiteCase.totals)")
        #expect(CacheSuiteCase.all.count == CacheSuiteCase.lines.count)
        #expect(Set(CacheSuiteCase.all.map(\.id)).count == CacheSuiteCase.lines.count)
    }
}
