// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import FoundationEssentials
import HTTPDNSCore
import HTTPDNSCurl
import HTTPDNSTesting
import ServerRig
import Testing

/// The provider over its own transport against a real DoH server: TLS, HTTP/2, wire format, nothing scripted.
@Suite("DoH provider against BIND", .enabled(if: ServerRig.isAvailable([.bind])))
struct DoHProviderAgainstBINDTests {
    private static let loopback2 = HTTPDNSAddress(v4: 127, 0, 0, 2)
    private static let wild = HTTPDNSAddress(v4: 127, 0, 0, 4)

    private func provider(
        _ rig: ServerRig,
        method: HTTPDNSDoHProvider.Method = .get,
        url: String? = nil,
        bootstrap: [HTTPDNSAddress] = [HTTPDNSAddress(v4: 127, 0, 0, 1)],
        authorities: String? = nil
    ) throws -> HTTPDNSDoHProvider {
        var configuration = HTTPDNSDoHProvider.Configuration(name: "bind", url: url ?? rig.dohURL, bootstrap: bootstrap)
        configuration.method = method
        configuration.trustRoots = .file(authorities ?? rig.certificateAuthorityFile)
        return try HTTPDNSDoHProvider(configuration)
    }

    private func ask(
        _ provider: HTTPDNSDoHProvider,
        _ name: String,
        _ families: HTTPDNSAddress.Families = .both,
        timeLimit: Duration = .seconds(120)
    ) async throws -> HTTPDNSProviderAnswer {
        try await provider.resolve(
            HTTPDNSProviderQuery(host: try HTTPDNSName(name), families: families, timeLimit: timeLimit)
        )
    }

    @Test(
        "One A and one AAAA query reach the server, by GET and by POST",
        arguments: HTTPDNSDoHProvider.Method.allCases
    )
    func bothFamilies(method: HTTPDNSDoHProvider.Method) async throws {
        let rig = try await ServerRig.shared()
        let provider = try provider(rig, method: method)
        let name = "doh-\(method.rawValue).wild.test"
        let mark = rig.bindLogMark()
        let answer = try await ask(provider, name)
        #expect(answer.v4 == .addresses([Self.wild], timeToLive: .seconds(60), canonicalName: nil))
        #expect(answer.v6 == .noData(timeToLive: .seconds(5)))
        try await rig.awaitBindLog(contains: "query: \(name) IN A", count: 2, since: mark)
        #expect(try rig.queryCount(of: name, type: "A", since: mark) == 1)
        #expect(try rig.queryCount(of: name, type: "AAAA", since: mark) == 1)
        await provider.shutdown()
    }

    /// What is known about names of the zone.
    static let zone: [(String, HTTPDNSProviderAnswer.Family, HTTPDNSProviderAnswer.Family)] = [
        (
            "dual.test",
            .addresses([loopback2], timeToLive: .seconds(60), canonicalName: nil),
            .addresses([HTTPDNSAddress(family: .v6, high: 0, low: 1)], timeToLive: .seconds(60), canonicalName: nil)
        ),
        (
            "c1.test",
            .addresses(
                [loopback2, HTTPDNSAddress(v4: 127, 0, 0, 3)],
                timeToLive: .seconds(3),
                canonicalName: try? HTTPDNSName("one.test")
            ),
            .noData(timeToLive: .seconds(3))
        ),
        (
            "ttl0.test", .addresses([loopback2], timeToLive: .zero, canonicalName: nil),
            .noData(timeToLive: .seconds(5))
        ),
        (
            "maxttl.test", .addresses([loopback2], timeToLive: .seconds(604_800), canonicalName: nil),
            .noData(timeToLive: .seconds(5))
        ),
        ("nosuch.test", .nameError(timeToLive: .seconds(5)), .nameError(timeToLive: .seconds(5))),
        ("dangling.test", .nameError(timeToLive: .seconds(5)), .nameError(timeToLive: .seconds(5))),
        ("outside.test", .noData(timeToLive: nil), .noData(timeToLive: nil)),
        (
            "xn--bcher-kva.test", .addresses([loopback2], timeToLive: .seconds(60), canonicalName: nil),
            .noData(timeToLive: .seconds(5))
        ),
    ]

    @Test("The zone's records are returned", arguments: zone)
    func answers(name: String, v4: HTTPDNSProviderAnswer.Family, v6: HTTPDNSProviderAnswer.Family) async throws {
        let rig = try await ServerRig.shared()
        let provider = try provider(rig)
        let answer = try await ask(provider, name)
        #expect(answer == HTTPDNSProviderAnswer(v4: v4, v6: v6))
        await provider.shutdown()
    }

    @Test("With an address in the URL the certificate must be for that address")
    func literal() async throws {
        let rig = try await ServerRig.shared()
        let provider = try provider(rig, url: rig.dohURLByAddress, bootstrap: [])
        #expect(try await ask(provider, "dual.test", .v4).v4 != nil)
        await provider.shutdown()
    }

    @Test("A changed file of authorities is used by the provider that runs")
    func changedAuthority() async throws {
        let rig = try await ServerRig.shared()
        let folder = try TemporaryFolder()
        func write(_ source: String) throws {
            try folder.replace("ca.pem", with: String(contentsOfFile: source, encoding: .utf8))
        }
        try write(rig.otherCertificateAuthorityFile)
        let clock = HTTPDNSManualClock()
        let roots = HTTPDNSTrust.Roots.file(folder.path("ca.pem"))
        let provider = try HTTPDNSDoHProvider(
            HTTPDNSDoHProvider.Configuration(
                name: "bind",
                url: rig.dohURL,
                bootstrap: [HTTPDNSAddress(v4: 127, 0, 0, 1)]
            ),
            exchange: UpstreamTransportExchange(
                trustRoots: roots,
                threadName: "httpdns-doh",
                maximumBodyOctets: 65_535,
                time: clock
            )
        )
        await #expect(throws: HTTPDNSProviderError.self) { try await ask(provider, "one.wild.test", .v4) }
        try write(rig.certificateAuthorityFile)
        // The file is checked once a second, and the result may be for later queries.
        var answer: HTTPDNSProviderAnswer?
        for _ in 0..<50 where answer == nil {
            clock.advance(by: .seconds(2))
            answer = try? await ask(provider, "one.wild.test", .v4)
        }
        #expect(answer?.v4 == .addresses([Self.wild], timeToLive: .seconds(60), canonicalName: nil))
        await provider.shutdown()
    }

    @Test("A certificate without the service's name is refused, and no query is sent")
    func wrongCertificate() async throws {
        let rig = try await ServerRig.shared()
        let mark = rig.bindLogMark()
        let wrongName = try provider(rig, url: "https://somebody.test:\(rig.dohPort)/dns-query")
        let wrongAuthority = try provider(rig, authorities: rig.otherCertificateAuthorityFile)
        for provider in [wrongName, wrongAuthority] {
            let error = await #expect(throws: HTTPDNSProviderError.self) {
                try await ask(provider, "doh-unproven.wild.test")
            }
            #expect(error?.code == .unreachable)
            #expect(error?.message.contains("certificate") == true, "\(String(describing: error))")
            await provider.shutdown()
        }
        // A query that is proven comes later in the same log.
        let good = try provider(rig)
        _ = try await ask(good, "doh-proven.wild.test", .v4)
        try await rig.awaitBindLog(contains: "query: doh-proven.wild.test IN A", since: mark)
        #expect(try rig.queryCount(of: "doh-unproven.wild.test", since: mark) == 0)
        await good.shutdown()
    }

    @Test("A hundred concurrent lookups are all answered, each with its own addresses")
    func many() async throws {
        let rig = try await ServerRig.shared()
        let provider = try provider(rig)
        try await withThrowingTaskGroup(of: (Int, HTTPDNSProviderAnswer).self) { group in
            for index in 0..<100 {
                group.addTask {
                    let name = index.isMultiple(of: 2) ? "two.test" : "three.test"
                    return (index, try await ask(provider, name, .v4))
                }
            }
            for try await (index, answer) in group {
                let expected = HTTPDNSAddress(v4: 127, 0, 0, index.isMultiple(of: 2) ? 3 : 4)
                #expect(answer.v4 == .addresses([expected], timeToLive: .seconds(60), canonicalName: nil))
            }
        }
        await provider.shutdown()
        await #expect(throws: HTTPDNSProviderError.self) { try await ask(provider, "two.test") }
    }
}
