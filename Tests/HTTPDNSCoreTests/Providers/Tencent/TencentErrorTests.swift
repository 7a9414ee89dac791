// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPTypes
import Testing

@testable import HTTPDNSCore
@testable import HTTPDNSVendors

struct TencentErrorTests {
    private static let other = HTTPDNSAddress(v4: 192, 0, 2, 2)
    private static let third = HTTPDNSAddress(v4: 192, 0, 2, 3)
    /// One more than a query tries.
    private static let fourth = HTTPDNSAddress(v4: 192, 0, 2, 4)

    private func scripted(
        _ access: ScriptedTencent.Access = .token,
        seconds: Int64 = 1_700_000_000,
        refusals: Set<Int> = [],
        secret: HTTPDNSSecret? = nil,
        _ answer: @escaping ScriptedTencent.Answer
    ) throws -> ScriptedTencent {
        try ScriptedTencent(
            access,
            secret: secret,
            seconds: { seconds },
            settings: {
                $0.bootstrap = [Self.other, Self.third, Self.fourth]
                $0.accountRefusalStatuses = refusals
            },
            answer
        )
    }

    /// What each status does: the kind of error, how many addresses one query asks, and whether they rest after it.
    static let table: [(status: Int, error: HTTPDNSProviderError.Code, addresses: Int, rests: Bool)] = [
        (400, .httpStatus, 1, false), (401, .refused, 1, false), (403, .refused, 1, false),
        (404, .httpStatus, 1, false),
        (408, .httpStatus, 3, true), (429, .rateLimited, 1, false), (500, .httpStatus, 3, true),
        (501, .refused, 1, false), (502, .httpStatus, 3, true), (302, .httpStatus, 1, false),
        (204, .httpStatus, 1, false),
    ]

    @Test(
        "Each status sets its kind, the use of another address and the back-off",
        arguments: ScriptedTencent.Access.allCases,
        table
    )
    func statuses(
        access: ScriptedTencent.Access,
        row: (status: Int, error: HTTPDNSProviderError.Code, addresses: Int, rests: Bool)
    ) async throws {
        let isBad = Lock(true)
        let scripted = try scripted(access) { sent in
            isBad.withLock { $0 }
                ? sent.reply("HTTP error of a stranger", status: row.status)
                : sent.reply(try TencentBody.written(TencentBody.both, access))
        }
        let error = try #require(try await scripted.error())
        #expect(error.code == row.error && error.message.contains("HTTP \(row.status)"))
        #expect(!error.message.contains("stranger"))
        #expect(scripted.exchange.sent.count == row.addresses)
        #expect(Set(scripted.exchange.sent.map(\.endpoint)).count == row.addresses)
        let first = row.rests ? Self.fourth : scripted.exchange.sent[0].endpoint.address
        #expect(scripted.provider.exchange.addresses.attempts().first?.address == first)
        isBad.withLock { $0 = false }
        #expect(try await scripted.error() == nil)
        #expect(scripted.exchange.sent.last?.endpoint.address == first)
    }

    @Test("A status configured as an account refusal stops all queries for a while")
    func account() async throws {
        let scripted = try scripted(refusals: [401, 418]) { $0.reply("", status: 418) }
        let first = try #require(try await scripted.error())
        #expect(first.code == .accountRefused && first.message.contains("asked again after 5 minutes"))
        for _ in 0..<10 { #expect(try await scripted.error("b.test", .v4) == first) }
        await #expect(throws: first) { try await scripted.batch(["a.test", "b.test"]) }
        #expect(scripted.exchange.sent.count == 1)
    }

    @Test("A new token enables a refused account again, and the old one does not")
    func newToken() async throws {
        let token = Lock("1")
        let scripted = try scripted(refusals: [401], secret: HTTPDNSSecret { token.withLock { $0 } }) { sent in
            sent.parameters["token"] == "1" ? sent.reply("", status: 401) : sent.reply(TencentBody.both)
        }
        #expect(try await scripted.error()?.code == .accountRefused)
        #expect(try await scripted.error()?.code == .accountRefused)
        #expect(scripted.exchange.sent.count == 1)
        token.withLock { $0 = "2" }
        #expect(try await scripted.error() == nil)
        #expect(scripted.exchange.sent.count == 2)
    }

    @Test(
        "A query that expired by the service's clock is made once more by that clock",
        arguments: ScriptedTencent.Access.allCases,
        [401, 403]
    )
    func clock(access: ScriptedTencent.Access, status: Int) async throws {
        // The machine is two hours behind the service, where it is 22:13:20.
        let expiries = Lock<[Int64]>([])
        let scripted = try scripted(access, seconds: 1_700_000_000 - 7200) { sent in
            let expiry = Int64(try TencentBody.asked(sent).split(separator: ";").last ?? "") ?? 0
            expiries.withLock { $0.append(expiry) }
            return expiry > 1_700_000_000
                ? sent.reply(try TencentBody.written(TencentBody.both, access))
                : sent.reply("", status: status, fields: [.date: "Tue, 14 Nov 2023 22:13:20 GMT"])
        }
        #expect(try await scripted.error() == nil)
        #expect(try await scripted.error() == nil)
        #expect(expiries.withLock { $0 } == [1_699_993_400, 1_700_000_600, 1_700_000_600])
        #expect(Set(scripted.exchange.sent.map(\.endpoint)).count == 1)
    }

    /// With an equal clock it is asked once.
    @Test("A service that always refuses is asked twice by one query when clocks differ")
    func clockOnce() async throws {
        for (seconds, count) in [(Int64(1_600_000_000), 2), (1_700_000_000, 1)] {
            let scripted = try scripted(seconds: seconds) {
                $0.reply("", status: 401, fields: [.date: "Tue, 14 Nov 2023 22:13:20 GMT"])
            }
            let error = try #require(try await scripted.error())
            #expect(error.code == .refused && error.message.contains("clock"))
            #expect(scripted.exchange.sent.count == count)
        }
    }

    /// The service answers so, for example when a query has expired.
    @Test("An empty body is a bad response, and no absence")
    func emptyBody() async throws {
        for access in ScriptedTencent.Access.allCases {
            let scripted = try scripted(access) { $0.reply("") }
            #expect(try await scripted.error()?.code == .badResponse)
        }
    }

    /// With the token back, queries succeed.
    @Test("A missing secret or a bad token fails the query before anything is sent")
    func goneSecret() async throws {
        struct Gone: Error {}
        let token = Lock<String?>("1")
        let secret = HTTPDNSSecret {
            guard let text = token.withLock({ $0 }) else { throw Gone() }
            return text
        }
        let scripted = try scripted(secret: secret) { $0.reply(TencentBody.both) }
        for text in [nil, "canary&id=1", "can ary"] as [String?] {
            token.withLock { $0 = text }
            let error = try #require(try await scripted.error())
            #expect(error.code == .notConfigured && !error.message.contains("ary"))
        }
        #expect(scripted.exchange.sent.isEmpty)
        token.withLock { $0 = "1" }
        #expect(try await scripted.error() == nil)
    }
}
