// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

/// The rules of RFC 6265bis, by the bytes that a real server sends and gets. All names are on one address.
@Suite("Cookies against nginx", .enabled(if: ServerRig.isAvailable([.nginx])))
struct CookieTableTests {
    @Test("A cookie of nginx comes back as RFC 6265bis demands", arguments: CookieCase.all)
    func table(example: CookieCase) async throws {
        let rig = try await ServerRig.shared()
        let steps = example.steps.map { $0.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false) }
        let hosts = Set(steps.filter { $0[0] != "wait" }.map { $0[1].split(separator: "/")[1] })
        var mappings: [String: HTTPDNSMapping] = [:]
        for host in hosts where host.last?.isLetter == true { mappings[String(host)] = .addresses(["127.0.0.2"]) }
        var configuration = try rig.settings(mappings: mappings)
        let now = Lock<Int64>(1_700_000_000_000)
        configuration.wallClock = WallClock { now.withLock { $0 } }
        configuration.cookies = .memory()
        try await withClient(configuration) { client in
            for step in steps {
                let argument = step.count > 2 ? String(step[2]) : ""
                switch step[0] {
                case "wait": now.withLock { $0 += (Int64(step[1]) ?? 0) * 1000 }
                case "set":
                    let field = argument.utf8.map(Self.percentEncoded).joined()
                    try await client.get(rig.url(step[1], "give-cookies?f=\(field)")).text()
                default:
                    let response = try await client.get(rig.url(step[1], "show-cookies"))
                    #expect(try await response.text() == argument, "\(step[1])")
                }
            }
        }
    }

    @Test("The table has at least 90 cases, and no two of one name")
    func size() {
        #expect(CookieCase.all.count >= 90)
        #expect(Set(CookieCase.all.map(\.testDescription)).count == CookieCase.all.count)
    }

    private static func percentEncoded(_ byte: UInt8) -> String {
        "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
}

extension ServerRig {
    /// Returns the URL of a page below another URL, with the port of its scheme.
    func url(_ base: some StringProtocol, _ page: String) -> String {
        let parts = base.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        let rest = parts[2].split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        let port = parts[0] == "https:" ? tlsPort : httpPort
        return "\(parts[0])//\(rest[0]):\(port)/\(rest.count > 1 ? rest[1] : "")\(page)"
    }
}
