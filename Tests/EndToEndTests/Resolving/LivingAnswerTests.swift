// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

/// The life of an answer on the real clock, and an answer with a family that really fails.
@Suite("Answers of a provider, in real time", .enabled(if: ServerRig.isAvailable([.nginx, .bind])))
struct LivingAnswerTests {
    /// One second each; the change in the zone arrives with the next question.
    @Test("An answer serves for its time to live and no longer")
    func realTime() async throws {
        let rig = try await ServerRig.shared()
        let name = "row4-living.wild.test"
        try await rig.setRecords(name, timeToLive: 1, ["127.0.0.2"])
        var configuration = try rig.settings()
        configuration.resolver.families = .v4
        // Without what hides the end of a life from callers.
        configuration.resolver.cache.refreshesAhead = false
        configuration.resolver.cache.staleLimit = .zero
        let mark = rig.bindLogMark()
        try await withClient(configuration) { client in
            var answers: [(address: String, isCached: Bool)] = []
            // Thousands of requests are made: what is wrong with them is told once.
            var wrong: [HTTPDNSResolver.Resolution] = []
            // Until the zone's second address has come, and has gone out of memory once.
            while answers.filter({ !$0.isCached && $0.address == "127.0.0.3" }).count < 2 {
                let response = try await client.get("https://\(name):\(rig.tlsPort)/health")
                let resolution = try #require(response.exchanges.first?.request.resolution)
                let left = try #require(resolution.timeToLive)
                let isWithinLife = left > .zero && resolution.age + left == .seconds(1)
                if resolution.isStale || resolution.isCached && !isWithinLife { wrong.append(resolution) }
                answers.append((String(try await response.text().dropLast()), resolution.isCached))
                if answers.count == 10 { try await rig.setRecords(name, timeToLive: 1, ["127.0.0.3"]) }
            }
            #expect(wrong.isEmpty, "\(wrong.count) of \(answers.count), such as \(String(describing: wrong.first))")
            let questions = answers.filter { !$0.isCached }
            #expect(try rig.queryCount(of: name, since: mark) == questions.count)
            #expect(answers.count > questions.count)
            #expect(questions.first?.address == "127.0.0.2")
            // Never back: once the new address has come, the old one is gone.
            let first = try #require(answers.firstIndex { $0.address == "127.0.0.3" })
            #expect(!answers[first].isCached)
            #expect(answers[..<first].allSatisfy { $0.address == "127.0.0.2" })
            #expect(answers[first...].allSatisfy { $0.address == "127.0.0.3" })
        }
    }

    /// BIND cannot give the AAAA answer, and half an answer serves.
    @Test("A failed AAAA query fails no request when there is an A answer")
    func failedFamily() async throws {
        let rig = try await ServerRig.shared()
        let name = "row3-failed.wild.test"
        try await rig.setRecords(name, timeToLive: 60, ["127.0.0.3"])
        // 2,500 records of 28 octets are more than the 65,535 octets of a DNS message.
        for block in 0..<5 {
            try await rig.addRecords(
                name,
                timeToLive: 60,
                type: "AAAA",
                (0..<500).map { "2001:db8::\(block):\(String($0, radix: 16))" }
            )
        }
        let mark = rig.bindLogMark()
        try await withClient(try rig.settings()) { client in
            let response = try await client.get("https://\(name):\(rig.tlsPort)/health")
            #expect(try await response.text() == "127.0.0.3\n")
            let rewritten = try #require(response.exchanges.first?.request)
            #expect(rewritten.addresses.map(\.address.description) == ["127.0.0.3"])
            #expect(try #require(rewritten.timeToLive) > .seconds(10))
            #expect(try await client.get("https://\(name):\(rig.tlsPort)/health").text() == "127.0.0.3\n")
        }
        #expect(try rig.queryCount(of: name, type: "A", since: mark) == 1)
        #expect(try rig.queryCount(of: name, type: "AAAA", since: mark) == 1)
        try await rig.removeRecords(name)
    }
}
