// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPDNSTesting
import HTTPTypes
import Testing

@testable import HTTPDNSCore
@testable import HTTPDNSVendors

struct AlibabaErrorTests {
    private static let first = HTTPDNSAddress(v4: 203, 107, 1, 1)

    /// What each code does: the kind of error, and how many addresses one query asks.
    static let table: [(code: String, status: Int, error: HTTPDNSProviderError.Code, addresses: Int)] = [
        ("MissingArgument", 400, .httpStatus, 3), ("InvalidHost", 400, .refused, 1), ("TooManyHosts", 400, .refused, 1),
        ("SdnsNotSupported", 400, .refused, 1), ("InvalidIP", 400, .refused, 1), ("InvalidQuery", 400, .refused, 1),
        ("UnsupportedType", 400, .refused, 1), ("MethodNotAllowed", 405, .refused, 1),
        ("InvalidAccount", 403, .accountRefused, 1), ("AccountNotExists", 403, .accountRefused, 1),
        ("UnsignedInterfaceDisabled", 403, .accountRefused, 1), ("UnsignedInterfaceDisabled", 400, .accountRefused, 1),
        ("InvalidSignature", 403, .accountRefused, 1), ("SignatureExpired", 403, .refused, 1),
        ("InvalidDuration", 400, .refused, 1), ("InvalidDuration", 403, .refused, 1),
        ("ServiceLevelDeny", 403, .httpStatus, 3), ("InternalError", 500, .httpStatus, 3),
        ("SomethingNew", 400, .httpStatus, 1), ("SomethingNew", 403, .httpStatus, 1),
        ("SomethingNew", 503, .httpStatus, 3),
        ("SomethingNew", 408, .httpStatus, 3), ("SomethingNew", 429, .rateLimited, 1),
        ("SomethingNew", 200, .serverFailure, 3), ("InvalidHost", 200, .refused, 1),
        ("InternalError", 200, .serverFailure, 3),
    ]

    @Test(
        "Each error sets its kind, the retry and the use of another address",
        arguments: HTTPDNSAlibabaProvider.Version.allCases,
        table
    )
    func errors(
        version: HTTPDNSAlibabaProvider.Version,
        row: (code: String, status: Int, error: HTTPDNSProviderError.Code, addresses: Int)
    ) async throws {
        let scripted = try ScriptedAlibaba(version) { $0.refusal(row.code, status: row.status) }
        let error = try #require(try await scripted.error())
        #expect(error.code == row.error)
        // A code that the vendor does not document may repeat the request, and is not quoted.
        #expect(error.message.contains(row.code) == (row.code != "SomethingNew"))
        #expect(scripted.exchange.sent.count == row.addresses)
        #expect(Set(scripted.exchange.sent.map(\.endpoint)).count == row.addresses)
    }

    @Test(
        "A refusal without a known code names the likely cause",
        arguments: [(400, true), (401, true), (403, true), (404, false), (500, false)]
    )
    func likelyCause(status: Int, isLikely: Bool) async throws {
        let scripted = try ScriptedAlibaba { $0.refusal("InvalidEncryption", status: status) }
        let error = try #require(try await scripted.error())
        #expect(error.message.contains("account, secret or key refused?") == isLikely, "\(error)")
    }

    @Test("A status without a readable code is an error by the status alone")
    func plainStatus() async throws {
        for body in [
            "", "<html>", #"{"code":7}"#, #"{"message":"InvalidAccount"}"#, "InvalidAccount", #""InvalidAccount""#,
        ] {
            let scripted = try ScriptedAlibaba { $0.reply(body, status: 403) }
            let error = try #require(try await scripted.error())
            #expect(error.code == .httpStatus && error.message.contains("HTTP 403"))
            // A portal on the way says 403 too: the account is no worse for it.
            _ = try await scripted.error()
            #expect(scripted.exchange.sent.count == 2)
        }
    }

    @Test("A refusal of the account stops all queries, and says when it is asked again")
    func account() async throws {
        let scripted = try ScriptedAlibaba { $0.refusal("InvalidAccount") }
        let first = try #require(try await scripted.error())
        #expect(first.message.contains("asked again after 5 minutes"))
        for _ in 0..<10 { #expect(try await scripted.error("b.test", .v4) == first) }
        await #expect(throws: first) { try await scripted.batch(["a.test", "b.test"]) }
        #expect(scripted.exchange.sent.count == 1)
    }

    /// By one query each time.
    @Test("A refused account is tried again after 5 minutes, doubling up to an hour")
    func accountAgain() async throws {
        let isRefused = Lock(true)
        let scripted = try ScriptedAlibaba { sent in
            isRefused.withLock { $0 } ? sent.refusal("InvalidAccount") : sent.reply(AlibabaBody.v2)
        }
        #expect(try await scripted.error()?.code == .accountRefused)
        for (count, pause) in [300, 600, 1200, 2400, 3600, 3600].enumerated() {
            scripted.time.advance(by: .seconds(pause - 1))
            #expect(try await scripted.error()?.code == .accountRefused)
            #expect(scripted.exchange.sent.count == count + 1, "after \(pause - 1) s")
            scripted.time.advance(by: .seconds(1))
            for _ in 0..<3 { #expect(try await scripted.error()?.code == .accountRefused) }
            #expect(scripted.exchange.sent.count == count + 2, "after \(pause) s")
        }
        isRefused.withLock { $0 = false }
        scripted.time.advance(by: .seconds(3600))
        for _ in 0..<3 { #expect(try await scripted.error() == nil) }
    }

    @Test("A retry of a refused account that times out is repeated after 5 minutes")
    func accountTryTimesOut() async throws {
        let state = Lock("refused")
        let scripted = try ScriptedAlibaba { sent in
            switch state.withLock({ $0 }) {
            case "refused": return sent.refusal("InvalidAccount")
            case "silent": throw ScriptedVendorExchange.failure(.timedOut)
            default: return sent.reply(AlibabaBody.v2)
            }
        }
        #expect(try await scripted.error()?.code == .accountRefused)
        for pause in [300, 600] {
            scripted.time.advance(by: .seconds(pause))
            #expect(try await scripted.error()?.code == .accountRefused)
        }
        state.withLock { $0 = "silent" }
        scripted.time.advance(by: .seconds(1200))
        #expect(try await scripted.error()?.code == .timedOut)
        #expect(try await scripted.error()?.code == .accountRefused)
        state.withLock { $0 = "good" }
        scripted.time.advance(by: .seconds(299))
        #expect(try await scripted.error()?.code == .accountRefused)
        scripted.time.advance(by: .seconds(1))
        #expect(try await scripted.error() == nil)
    }

    @Test(
        "A refusal of query, rate or clock shows that the account is accepted",
        arguments: [("InvalidHost", 400), ("SignatureExpired", 403), ("", 429)]
    )
    func accountProved(code: String, status: Int) async throws {
        let isRefused = Lock(true)
        let scripted = try ScriptedAlibaba { sent in
            if isRefused.withLock({ $0 }) { return sent.refusal("InvalidAccount") }
            return code.isEmpty ? sent.reply("", status: status) : sent.refusal(code, status: status)
        }
        #expect(try await scripted.error()?.code == .accountRefused)
        isRefused.withLock { $0 = false }
        scripted.time.advance(by: .seconds(300))
        for _ in 0..<3 { #expect(try await scripted.error()?.code != .accountRefused) }
        #expect(scripted.exchange.sent.count == 4)
    }

    @Test("A reload lets one query try a refused account, unless the reload fails")
    func accountRetryByReload() async throws {
        let scripted = try ScriptedAlibaba { $0.refusal("InvalidAccount") }
        var settings = HTTPDNSResolver.Configuration()
        settings.providers = [scripted.provider]
        settings.routes = [HTTPDNSRoute(.any, .providers(["ali"], fallback: .off))]
        settings.timeSource = HTTPDNSManualClock()
        let resolver = try HTTPDNSResolver(settings, systemResolver: ScriptedSystemResolver())
        #expect(try await scripted.error() != nil)
        var faulty = settings
        faulty.timeLimit = .zero
        #expect(throws: HTTPDNSResolver.ConfigurationError.self) { try resolver.reload(faulty) }
        #expect(try await scripted.error() != nil)
        #expect(scripted.exchange.sent.count == 1)
        try resolver.reload(settings)
        for _ in 0..<3 { #expect(try await scripted.error() != nil) }
        #expect(scripted.exchange.sent.count == 2)
        // The pause after a second refusal is the second one.
        scripted.time.advance(by: .seconds(599))
        #expect(try await scripted.error() != nil)
        #expect(scripted.exchange.sent.count == 2)
        scripted.time.advance(by: .seconds(1))
        #expect(try await scripted.error() != nil)
        #expect(scripted.exchange.sent.count == 3)
        await resolver.shutdown()
    }

    @Test("A reload of the settings tries a refused account again, and ends the quarantine")
    func accountAfterReload() async throws {
        let isRefused = Lock(true)
        let scripted = try ScriptedAlibaba { sent in
            isRefused.withLock { $0 } ? sent.refusal("InvalidAccount") : sent.reply(AlibabaBody.v2)
        }
        var settings = HTTPDNSResolver.Configuration()
        settings.providers = [scripted.provider]
        settings.routes = [HTTPDNSRoute(.any, .providers(["ali"], fallback: .off))]
        settings.timeSource = HTTPDNSManualClock()
        let resolver = try HTTPDNSResolver(settings, systemResolver: ScriptedSystemResolver())
        let question = HTTPDNSResolver.Query(.name(try HTTPDNSName("www.example.com")), port: 443)
        await #expect(throws: HTTPDNSResolver.Error.self) { try await resolver.resolve(question) }
        isRefused.withLock { $0 = false }
        try resolver.reload(settings)
        resolver.removeAllCached()
        #expect(try await resolver.resolve(question).source == .provider)
        await resolver.shutdown()
    }

    @Test("A new secret enables a refused account again, and the old one does not")
    func newSecret() async throws {
        #if Signing
        let secret = Lock("00")
        let scripted = try ScriptedAlibaba(secret: HTTPDNSSecret { secret.withLock { $0 } }) { sent in
            sent.parameters["s"]?.hasPrefix("x") == nil || secret.withLock({ $0 }) == "00"
                ? sent.refusal("InvalidSignature") : sent.reply(AlibabaBody.v2)
        }
        #expect(try await scripted.error()?.code == .accountRefused)
        #expect(try await scripted.error()?.code == .accountRefused)
        #expect(scripted.exchange.sent.count == 1)
        secret.withLock { $0 = "01" }
        #expect(try await scripted.error() == nil)
        #expect(try await scripted.error() == nil)
        #expect(scripted.exchange.sent.count == 3)
        #endif
    }

    @Test("InvalidHost, an expired signature and a rate limit do not stop the next query")
    func passing() async throws {
        for code in ["InvalidHost", "SignatureExpired", "TooManyHosts"] {
            let isBad = Lock(true)
            let scripted = try ScriptedAlibaba { sent in
                isBad.withLock { $0 } ? sent.refusal(code) : sent.reply(AlibabaBody.v2)
            }
            #expect(try await scripted.error() != nil)
            isBad.withLock { $0 = false }
            #expect(try await scripted.error() == nil)
            #expect(Set(scripted.exchange.sent.map(\.endpoint.address)) == [Self.first])
        }
    }

    /// The last address has all the time that is left.
    @Test("The addresses of one query share its time limit")
    func shares() async throws {
        let scripted = try ScriptedAlibaba { _ in throw ScriptedVendorExchange.failure(.timedOut) }
        let start = scripted.time.now()
        #expect(try await scripted.error()?.code == .timedOut)
        let limits = scripted.exchange.sent.map { $0.deadline - start }
        #expect(limits == [.seconds(1), .milliseconds(1500), .seconds(3)])
    }

    /// Once.
    @Test("A connection that closed as it was used is dialed again at the same address")
    func redial() async throws {
        let count = Lock(0)
        let scripted = try ScriptedAlibaba { sent in
            let number = count.withLock { count in
                count += 1
                return count
            }
            if number == 1 { throw ScriptedVendorExchange.failure(.connectionLost) }
            return sent.reply(AlibabaBody.v2)
        }
        #expect(try await scripted.error() == nil)
        #expect(scripted.exchange.sent.map(\.endpoint.address) == [Self.first, Self.first])
    }

    #if Signing
    @Test(
        "A signature refused for its time is made once more by the service's clock",
        arguments: HTTPDNSAlibabaProvider.Version.allCases
    )
    func clock(version: HTTPDNSAlibabaProvider.Version) async throws {
        let key = version == .v1 ? "t" : "exp"
        let secret = HTTPDNSSecret { ScriptedAlibaba.hmacSecret }
        // The machine is two hours behind the service, where it is 22:13:20.
        let scripted = try ScriptedAlibaba(version, secret: secret, seconds: { 1_700_000_000 - 7200 }) { sent in
            let end = sent.parameters[key].flatMap(Int64.init) ?? 0
            guard end > 1_700_000_000 else {
                return sent.refusal("SignatureExpired", fields: [.date: "Tue, 14 Nov 2023 22:13:20 GMT"])
            }
            return sent.reply(version == .v1 ? AlibabaBody.v1 : AlibabaBody.v2)
        }
        #expect(try await scripted.error() == nil)
        #expect(try await scripted.error() == nil)
        #expect(scripted.exchange.sent.compactMap { $0.parameters[key] } == ["1699993400", "1700000600", "1700000600"])
        #expect(Set(scripted.exchange.sent.map(\.endpoint)).count == 1)
    }

    @Test("A service that always refuses is asked twice by one query, and no more")
    func clockOnce() async throws {
        let scripted = try ScriptedAlibaba(
            secret: HTTPDNSSecret { ScriptedAlibaba.hmacSecret },
            seconds: { 1_600_000_000 }
        ) {
            $0.refusal("SignatureExpired", fields: [.date: "Tue, 14 Nov 2023 22:13:20 GMT"])
        }
        #expect(try await scripted.error()?.code == .refused)
        #expect(scripted.exchange.sent.count == 2)
        #expect(try await scripted.error()?.message.contains("clock") == true)
        #expect(scripted.exchange.sent.count == 3)
    }

    /// The error names the secret's source. With the secret back, queries succeed.
    @Test("A missing secret fails the query before anything is sent")
    func goneSecret() async throws {
        struct Gone: Error {}
        let isThere = Lock(true)
        let secret = HTTPDNSSecret {
            guard isThere.withLock({ $0 }) else { throw Gone() }
            return ScriptedAlibaba.hmacSecret
        }
        let scripted = try ScriptedAlibaba(secret: secret) { $0.reply(AlibabaBody.v2) }
        isThere.withLock { $0 = false }
        let error = try #require(try await scripted.error())
        #expect(error.code == .notConfigured && error.message.contains("from a closure"))
        #expect(scripted.exchange.sent.isEmpty)
        isThere.withLock { $0 = true }
        #expect(try await scripted.error() == nil)
    }
    #endif
}
