// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSCurl
import HTTPDNSTesting
import Testing

/// A proxy's own name: who is asked about it, and which of its addresses has its turn.
struct ProxyNameTests {
    private static let name = "proxy.corp.test"

    private func rig(
        _ mappings: [String: HTTPDNSMapping],
        wire: ScriptedWire = ScriptedWire(),
        local: Bool = false
    ) throws -> Rig {
        let rig = try Rig(wire: wire) {
            for (key, mapping) in mappings { $0.resolver.mappings[try HTTPDNSMapping.Key(key)] = mapping }
            var proxy = try HTTPDNSClient.Proxy("http://\(Self.name):3128")
            proxy.resolvesLocally = local
            $0.proxy = .through(proxy)
        }
        rig.system.answer(.success([HTTPDNSAddress(v4: 203, 0, 113, 80)]), for: try HTTPDNSName(Self.name))
        rig.system.answer(.success([HTTPDNSAddress(v4: 203, 0, 113, 81)]), for: try HTTPDNSName("edge.corp.test"))
        return rig
    }

    /// Any rule for the name will do. Only a rule with addresses spares the system resolver.
    @Test(
        "No provider is asked for the name of a proxy",
        arguments: [
            ([:], "203.0.113.80", [name]),
            (["*.corp.test": .lastResort(["203.0.113.90"])], "203.0.113.80", [name]),
            (["*.corp.test": .system], "203.0.113.80", [name]),
            ([name: .via("edge.corp.test")], "203.0.113.81", ["edge.corp.test"]),
            (
                [name: .via("edge.corp.test"), "edge.corp.test": .lastResort(["203.0.113.90"])], "203.0.113.81",
                ["edge.corp.test"]
            ),
            ([name: .via("edge.corp.test"), "edge.corp.test": .addresses(["203.0.113.7"])], "203.0.113.7", []),
            (["*.corp.test": .addresses(["203.0.113.7"])], "203.0.113.7", []),
        ] as [([String: HTTPDNSMapping], String, [String])]
    )
    func asked(mappings: [String: HTTPDNSMapping], address: String, questions: [String]) async throws {
        let rig = try rig(mappings)
        _ = try await rig.client.get("http://nobody-knows.test/")
        #expect(rig.provider.queries.isEmpty)
        #expect(rig.system.questions.map(\.description) == questions)
        #expect(rig.wire.requests.map { $0.endpoints.map(\.address.description) } == [[address]])
    }

    /// A slow server behind the proxy does not count.
    @Test(
        "A proxy's next address is tried only when connecting takes too long",
        arguments: [
            (TransferFailure.Code.timedOut, TransferFailure.Phase.connect, false, 2),
            (.proxyUnreachable, .connect, false, 2), (.timedOut, .tls, false, 1), (.timedOut, .connect, true, 1),
            (.timedOut, .firstByte, false, 1), (.timedOut, .total, false, 1),
        ]
    )
    func turn(
        code: TransferFailure.Code,
        phase: TransferFailure.Phase,
        mayHaveBeenSent: Bool,
        attempts: Int
    ) async throws {
        let wire = ScriptedWire { request, number in
            guard number > 0 else {
                var failure = TransferFailure(code: code, phase: phase, message: "too slow")
                failure.requestMayHaveBeenSent = mayHaveBeenSent
                throw failure
            }
            return .ok(from: request)
        }
        let rig = try rig([Self.name: .addresses(["203.0.113.7", "203.0.113.8"])], wire: wire, local: true)
        _ = try? await rig.client.post("http://one.test/", body: .text("x"))
        let tried = rig.wire.requests.map { $0.egressPath?.proxy?.endpoint?.address.description }
        #expect(tried == Array(["203.0.113.7", "203.0.113.8"].prefix(attempts)))
    }

    /// The name gives other addresses, too.
    @Test("Connections through a proxy are kept while its name still gives their address", arguments: [false, true])
    func rotation(local: Bool) async throws {
        let rig = try rig([:], local: local)
        func send() async throws -> TransferRequest? {
            _ = try await rig.client.get("http://one.test/")
            return rig.wire.requests.last
        }
        let first = try await send()
        let both = [HTTPDNSAddress(v4: 203, 0, 113, 80), HTTPDNSAddress(v4: 203, 0, 113, 82)]
        rig.system.answer(.success(both), for: try HTTPDNSName(Self.name))
        rig.clock.advance(by: .seconds(3600))
        let second = try await send()
        #expect(rig.system.questions.map(\.description) == [Self.name, Self.name])
        #expect(first?.endpoints[0] == second?.endpoints[0])
        // What is equal shares connections.
        #expect(first?.egressPath != nil && first?.egressPath == second?.egressPath)
    }
}
