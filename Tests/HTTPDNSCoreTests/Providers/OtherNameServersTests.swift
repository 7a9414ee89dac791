// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSPrimitives
import ServerRig
import Testing

@Suite("Name servers of other makes", .enabled(if: !ServerRig.isLeftOut), .timeLimit(.minutes(2)))
struct OtherNameServersTests {
    /// The outcome of both families, and of SRV records.
    private static let names: [(name: String, outcome: String)] = [
        ("two.lab", "127.0.0.3, none"), ("dual.lab", "127.0.0.2, ::1"), ("v6only.lab", "none, ::1"),
        ("alias.lab", "127.0.0.3 of two.lab, none"), ("nodata.lab", "none, none"), ("gone.lab", "unknown, unknown"),
        ("large.lab", "16 of 100, none"), ("TWO.lab", "127.0.0.3, none"),
        ("_http._tcp.lab", "none, none, two.lab:8443"), ("_gone._tcp.lab", "none, none"),
    ]

    private static func text(_ family: HTTPDNSProviderAnswer.Family?) -> String {
        switch family {
        case .addresses(let addresses, let life, let name):
            let known = addresses.allSatisfy { $0.bytes.starts(with: [127, 1, 1]) }
            let list = known ? "\(addresses.count) of 100" : addresses.map(\.description).joined(separator: " ")
            return (life == .seconds(60) ? list : "\(list) for \(life)") + (name.map { " of \($0)" } ?? "")
        case .noData: return "none"
        case .nameError: return "unknown"
        case .failed(let error): return "\(error)"
        case nil: return "not asked"
        }
    }

    private static func text(_ answer: HTTPDNSProviderAnswer) -> String {
        var parts = [text(answer.v4), text(answer.v6)]
        if case .bindings(let records, _)? = answer.httpsRecords {
            parts += records.map { "\($0.target?.description ?? ""):\($0.port ?? 0)" }
        }
        return parts.joined(separator: ", ")
    }

    @Test("Each make answers alike, over UDP and TCP", arguments: NameServer.Make.allCases)
    func answers(_ make: NameServer.Make) async throws {
        // What cannot be downloaded is left out, as Scripts/install-dependencies says.
        guard make.path != nil else { return }
        let server = try await NameServer(make)
        let endpoint = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 1), port: server.port)
        for transport in [.udp, .tcp] as [HTTPDNSDNSProvider.Transport] {
            var configuration = HTTPDNSDNSProvider.Configuration(name: "dns", servers: .addresses([endpoint]))
            configuration.transport = transport
            let provider = try HTTPDNSDNSProvider(configuration)
            for (name, outcome) in Self.names {
                let query = HTTPDNSProviderQuery(host: try HTTPDNSName(name), families: .both, timeLimit: .seconds(30))
                #expect(Self.text(try await provider.resolve(query)) == outcome, "\(name) over \(transport)")
            }
            await provider.shutdown()
        }
    }
}
