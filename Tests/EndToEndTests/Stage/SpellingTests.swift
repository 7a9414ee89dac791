// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

/// Whatever a name looks like, one request leaves, and it is the same one.
@Suite("Spellings of a name, over TLS", .enabled(if: ServerRig.isAvailable([.nginx, .bind])))
struct SpellingTests {
    static let authorities: [String] = [
        // case
        "https://one.test", "https://ONE.TEST", "https://One.Test", "https://oNe.tEsT", "HTTPS://one.test",
        "hTTps://ONE.test",
        // trailing dot
        "https://one.test.", "https://ONE.TEST.", "HTTPS://One.Test.",
        // default port, with zeros and without digits
        "https://one.test:443", "https://one.test.:443", "https://ONE.test:443", "https://one.test:",
        "https://one.test.:",
        "https://one.test:0443", "https://one.test:000443", "HTTPS://ONE.TEST.:00443",
        // user information
        "https://user@one.test", "https://user:secret@one.test", "https://@one.test", "https://:@one.test",
        "https://user:@one.test", "https://:secret@one.test", "https://two.test%40:x@one.test",
        "https://two.test:443@one.test", "https://user:secret@ONE.TEST.:443", "https://%75ser:s%65cret@one.test",
        // letters outside ASCII that are mapped to these: full width, other dots, compatibility forms, soft hyphen
        "https://ｏｎｅ.test", "https://one.ｔｅｓｔ", "https://ＯＮＥ.ＴＥＳＴ", "https://one。test", "https://one．test",
        "https://one｡test", "https://one。test。", "https://ⓞⓝⓔ.test", "https://on\u{ad}e.test", "https://𝐨𝐧𝐞.test",
        // percent-encoding
        "https://one%2etest", "https://%6fne.test", "https://%6Fn%65%2Etest", "https://ONE%2eTEST%2e:443",
    ]

    @Test("At least forty spellings are tested")
    func count() { #expect(Set(Self.authorities).count >= 40) }

    @Test("All spellings reach the address with one Host, SNI, target and connection")
    func mapped() async throws {
        let rig = try await ServerRig.shared()
        let configuration = try rig.settings(
            mappings: ["one.test": .addresses(["127.0.0.2:\(rig.tlsPort)"]), "two.test": .addresses(["127.0.0.5"])]
        )
        try await withClient(configuration) { client in
            for (number, authority) in Self.authorities.enumerated() {
                let url = "\(authority)/echo?spelling=\(number)#fragment"
                let response = try await client.get(url)
                let echo = try await Echo(response)
                #expect(echo.address == "127.0.0.2" && echo.host == "one.test" && echo.sni == "one.test", "\(url)")
                #expect(echo.target == "/echo?spelling=\(number)", "\(url)")
                let sent = try #require(response.exchanges.first)
                #expect(sent.request.host == "one.test" && sent.request.serverName == "one.test", "\(url)")
                #expect(sent.request.canonicalURL == "https://one.test/echo?spelling=\(number)")
                #expect(sent.reusedConnection == (number > 0), "\(url)")
            }
        }
    }

    @Test("User information goes to the origin as a credential, and is shown nowhere")
    func credentials() async throws {
        let rig = try await ServerRig.shared()
        let configuration = try rig.settings(mappings: ["one.test": .addresses(["127.0.0.2:\(rig.tlsPort)"])])
        try await withClient(configuration) { client in
            let response = try await client.get("https://%75ser:s%65cret@one.test/auth/a.jpg")
            #expect(response.status == .ok)
            let sent = try #require(response.exchanges.first?.request)
            for text in [
                sent.originalURL, sent.canonicalURL, sent.addressURL, sent.host, response.destination,
            ] {
                #expect(!text.contains("secret") && !text.contains("s%65cret") && !text.contains("@"), "\(text)")
            }
            try await response.text()
            #expect(try await client.get("https://user:wrong@one.test/auth/a.jpg").status == .unauthorized)
            #expect(try await client.get("https://one.test/auth/a.jpg").status == .unauthorized)
        }
    }

    @Test("All spellings of a name are one query to the provider and one cache entry")
    func resolved() async throws {
        let rig = try await ServerRig.shared()
        let mark = rig.bindLogMark()
        let hosts = [
            "Row-17.Wild.Test", "row-17.wild.test.", "ROW-17.wild.test", "ｒｏｗ-17.wild.test", "row-17。wild。test",
            "row%2d17.wild.test", "u:p@row-17.wild.test",
        ]
        try await withClient(rig.settings()) { client in
            for (number, host) in hosts.enumerated() {
                let response = try await client.get("https://\(host):\(rig.tlsPort)/echo")
                let echo = try await Echo(response)
                #expect(echo.address == "127.0.0.4" && echo.sni == "row-17.wild.test", "\(host)")
                #expect(echo.host == "row-17.wild.test:\(rig.tlsPort)", "\(host)")
                #expect(response.exchanges.first?.request.resolution.isCached == (number > 0), "\(host)")
            }
        }
        #expect(try rig.queryCount(of: "row-17.wild.test", type: "A", since: mark) == 1)
        #expect(try rig.bindQueryLog(since: mark).filter { $0.lowercased().contains("row-17") }.count <= 2)
    }

    /// The certificate has the A-label too.
    @Test("An international name is resolved, shown and sent as its A-label")
    func international() async throws {
        let rig = try await ServerRig.shared()
        try await withClient(rig.settings()) { client in
            for host in [
                "bücher.test", "BÜCHER.test", "bu\u{308}cher.test", "xn--bcher-kva.test", "XN--BCHER-KVA.TEST.",
            ] {
                let echo = try await Echo(try await client.get("https://\(host):\(rig.tlsPort)/echo"))
                #expect(echo.sni == "xn--bcher-kva.test" && echo.host == "xn--bcher-kva.test:\(rig.tlsPort)", "\(host)")
            }
        }
    }
}
