// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import ServerRig
import Testing

@testable import HTTPDNSCore

/// HTTPS records and client subnets over the provider's own transport against a real server.
@Suite("Services and client subnets from BIND", .enabled(if: ServerRig.isAvailable([.bind])))
struct DoHServicesAgainstBINDTests {
    private func resolve(
        _ name: String,
        on rig: ServerRig,
        families: HTTPDNSAddress.Families = .v4,
        clientSubnet: HTTPDNSAddressBlock? = nil
    ) async throws -> HTTPDNSProviderAnswer {
        var configuration = HTTPDNSDoHProvider.Configuration(
            name: "bind",
            url: rig.dohURL,
            bootstrap: [HTTPDNSAddress(v4: 127, 0, 0, 1)]
        )
        configuration.trustRoots = .file(rig.certificateAuthorityFile)
        let provider = try HTTPDNSDoHProvider(configuration)
        var query = HTTPDNSProviderQuery(host: try HTTPDNSName(name), families: families, timeLimit: .seconds(120))
        query.wantsHTTPSRecords = true
        query.clientSubnet = clientSubnet
        let answer: HTTPDNSProviderAnswer
        do {
            answer = try await provider.resolve(query)
        } catch {
            await provider.shutdown()
            throw error
        }
        await provider.shutdown()
        return answer
    }

    private static func name(_ text: String) -> HTTPDNSName? { try? HTTPDNSName(text) }

    private typealias Record = HTTPDNSProviderAnswer.HTTPSRecord

    private static func bindings(_ records: Record..., life: Int = 60) -> HTTPDNSProviderAnswer.HTTPSRecords {
        .bindings(records, timeToLive: .seconds(life))
    }

    private static let web: [String] = ["h2", "http/1.1"]

    @Test(
        "The zone's HTTPS records are returned",
        arguments: [
            ("svc-alias.test", name("svc-pool.test").map { .alias($0, timeToLive: .seconds(30)) }),
            ("svc-pool.test", bindings(Record(priority: 1, applicationProtocols: web, port: 8443), life: 20)),
            (
                "svc-hints.test",
                bindings(
                    Record(
                        priority: 1,
                        target: name("svc-target.test"),
                        applicationProtocols: ["h2", "h3", "http/1.1"],
                        v4Hints: [HTTPDNSAddress(v4: 127, 0, 0, 4), HTTPDNSAddress(v4: 127, 0, 0, 3)],
                        v6Hints: [HTTPDNSAddress(family: .v6, high: 0, low: 1)]
                    )
                )
            ),
            (
                "svc-order.test",
                bindings(
                    with(Record(priority: 1, target: name("three.test"))) { $0.namesProtocols = true },
                    Record(priority: 2, target: name("two.test"), applicationProtocols: web),
                    Record(priority: 3, applicationProtocols: ["h3"])
                )
            ),
            (
                "svc-mandatory.test",
                bindings(Record(priority: 2, target: name("two.test"), applicationProtocols: web, port: 8444))
            ),
            (
                "svc-ech.test",
                bindings(
                    with(Record(priority: 1, applicationProtocols: web)) { $0.offersEncryptedClientHello = true }
                )
            ),
            ("svc-gone.test", .unavailable(timeToLive: .seconds(60))),
            (
                "svc-cname.test",
                bindings(
                    Record(priority: 1, target: name("svc-pool.test"), applicationProtocols: web, port: 8443),
                    life: 10
                )
            ),
            ("two.test", .none(timeToLive: .seconds(5))),
        ] as [(String, HTTPDNSProviderAnswer.HTTPSRecords?)]
    )
    func answers(name: String, expected: HTTPDNSProviderAnswer.HTTPSRecords?) async throws {
        let rig = try await ServerRig.shared()
        #expect(try await resolve(name, on: rig).httpsRecords == expected)
    }

    private static func with(_ record: Record, _ change: (inout Record) -> Void) -> Record {
        var record = record
        change(&record)
        return record
    }

    @Test("A missing name has no HTTPS records, and a refused query for them fails")
    func absence() async throws {
        let rig = try await ServerRig.shared()
        let missing = try await resolve("nosuch.test", on: rig)
        #expect(missing.httpsRecords == .some(.none(timeToLive: .seconds(5))))
        #expect(missing.v4 == .nameError(timeToLive: .seconds(5)))
        guard case .failed(let error) = try await resolve("elsewhere.invalid", on: rig).httpsRecords else {
            Issue.record("REFUSED is a failure")
            return
        }
        #expect(error.code == .refused)
    }

    @Test("One HTTPS query is sent beside A and AAAA, with a shortened client subnet")
    func queries() async throws {
        let rig = try await ServerRig.shared()
        let mark = rig.bindLogMark()
        let block = HTTPDNSAddressBlock("203.0.113.77/32")
        let answer = try await resolve("ecs.wild.test", on: rig, families: .both, clientSubnet: block)
        #expect(
            answer.v4 == .addresses([HTTPDNSAddress(v4: 127, 0, 0, 4)], timeToLive: .seconds(60), canonicalName: nil)
        )
        #expect(answer.httpsRecords == .some(.none(timeToLive: .seconds(5))))
        let lines = try await rig.awaitBindLog(contains: "query: ecs.wild.test IN ", count: 3, since: mark)
        #expect(lines.count == 3)
        #expect(try rig.queryCount(of: "ecs.wild.test", type: "HTTPS", since: mark) == 1)
        #expect(lines.allSatisfy { $0.contains("[ECS 203.0.113.0/24/0]") }, "\(lines)")
    }

    @Test("An IPv6 network is accepted too")
    func v6Subnet() async throws {
        let rig = try await ServerRig.shared()
        let mark = rig.bindLogMark()
        _ = try await resolve("ecs6.wild.test", on: rig, clientSubnet: HTTPDNSAddressBlock("2001:db8:1:2::/64"))
        let lines = try await rig.awaitBindLog(contains: "query: ecs6.wild.test IN ", count: 2, since: mark)
        #expect(lines.allSatisfy { $0.contains("[ECS 2001:db8:1::/56/0]") }, "\(lines)")
    }

    @Test(
        "The zone's records, followed to the end, lead to the expected endpoints",
        arguments: [
            ("svc-alias.test", ["127.0.0.3:8443", "127.0.0.3:443", "127.0.0.2:443"]),
            ("svc-pool.test", ["127.0.0.3:8443", "127.0.0.3:443"]),
            ("svc-hints.test", ["127.0.0.4:443"]),
            ("svc-order.test", ["127.0.0.4:443", "127.0.0.3:443", "127.0.0.2:443"]),
            ("svc-mandatory.test", ["127.0.0.3:8444", "127.0.0.2:443"]),
            ("svc-cname.test", ["127.0.0.3:8443", "127.0.0.3:443"]),
            ("svc-h3.test", ["plain noRecord"]),
            ("two.test", ["plain noRecord"]),
            ("svc-gone.test", ["unavailable"]),
            ("svc-loop1.test", ["plain aliasLoop(svc-loop1.test)"]),
        ]
    )
    func followed(name: String, expected: [String]) async throws {
        let rig = try await ServerRig.shared()
        let host = try HTTPDNSName(name)
        var selection = HTTPSRecordSelection(host: host, families: .v4)
        var generator = SystemRandomNumberGenerator()
        var actions = [HTTPSRecordSelection.Action.ask(host, families: .v4, httpsRecords: true)]
        var end: [String]?
        while !actions.isEmpty {
            switch actions.removeFirst() {
            case .ask(let name, _, _):
                let answer = try await resolve(name.description, on: rig)
                actions += selection.received(answer, about: name, using: &generator)
            case .done(.plain(let reason)): end = ["plain \(reason)"]
            case .done(.route(let route, _, _)):
                end = route.unavailable == nil ? route.endpoints.map(\.description) : ["unavailable"]
            }
        }
        #expect(end == expected)
    }
}
