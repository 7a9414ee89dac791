// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if LocalProvider && Signing
import HTTPDNSCurl
import HTTPDNSLocalProvider
import Logging
import ServerRig
import Testing

@testable import HTTPDNSCore
@testable import HTTPDNSVendors

extension OverTheNetwork {
    /// Alibaba's client end to end: its transport, its signatures and ciphers, against checks that share no code with it.
    struct AlibabaClientTests {
        typealias Client = AlibabaAccount.Client

        @Test("Every kind of query works: one name and several, each family and both", arguments: Client.all)
        func ways(client: Client) async throws {
            try await Serving.run(try client.serve()) { serving in
                let provider = try client.provider(serving.url)
                let both = try await provider.resolve(Serving.query("both.shop.test"))
                #expect(both.addresses == ["192.0.2.10", "192.0.2.11", "2001:db8::10"])
                // Never origin_ttl, which is ten times as long.
                #expect(both.lives == [30, 30])
                #expect(
                    try await provider.resolve(Serving.query("both.shop.test", .v4)).addresses == [
                        "192.0.2.10", "192.0.2.11",
                    ]
                )
                #expect(try await provider.resolve(Serving.query("both.shop.test", .v6)).addresses == ["2001:db8::10"])
                let v4Only = try await provider.resolve(Serving.query("v4.shop.test"))
                #expect(v4Only.addresses == ["192.0.2.20"])
                #expect(v4Only.v6 == .noData(timeToLive: .seconds(60)) || client.version == .v1)
                let names = try ["both.shop.test", "v4.shop.test", "v6.shop.test", "gone.test", "a.wild.test"].map {
                    try HTTPDNSName($0)
                }
                let batch = try await provider.resolve(Serving.query("both.shop.test"), batch: names)
                #expect(
                    batch.mapValues { $0.addresses.count }
                        == Dictionary(uniqueKeysWithValues: zip(names, [3, 1, 1, 0, 1]))
                )
                await provider.shutdown()
                let queries = serving.queries.all
                #expect(queries.count == 5)
                for query in queries {
                    #expect(query.outcome == "ok" && query.isSigned == client.isSigned)
                    #expect(query.encryption == client.encryption?.rawValue)
                    #expect(query.protocolName == "alibaba-\(client.version)")
                }
            }
        }

        @Test("A query and its discovery work over HTTPS with the generated certificate")
        func discovery() async throws {
            let client = Client(isSigned: true, encryption: .gcm)
            try await Serving.run(try client.serve(), settings: { $0.tls = .generated() }) { serving in
                let folder = try TemporaryFolder()
                let roots = try folder.write(try #require(serving.listener.certificate), to: "ca.pem")
                let provider = try client.provider(serving.url) {
                    $0.trustRoots = .file(roots)
                    $0.discoversAddresses = true
                }
                #expect(try await provider.resolve(Serving.query("v4.shop.test", .v4)).addresses == ["192.0.2.20"])
                await provider.exchange.addresses.settled()
                await provider.shutdown()
                let discovery = serving.queries.all.first { $0.protocolName == "alibaba-ss" }
                #expect(discovery?.outcome == "ok" && discovery?.isSigned == true)
                // The certificate proves this server, and nobody else's authority does.
                let stranger = try client.provider(serving.url)
                guard case .failure(let error) = try await stranger.outcome("v4.shop.test", .v4) else {
                    Issue.record("a certificate that nothing vouches for was taken")
                    return
                }
                #expect(error.code == .unreachable)
            }
        }

        @Test("When the account is switched off, the client learns it and asks no more")
        func switchedOff() async throws {
            try await Serving.run("alibaba: { account: \"123456\", disabled: true }") { serving in
                let provider = try Client().provider(serving.url) { $0.discoversAddresses = true }
                // It begins the discovery, and mostly overtakes it.
                _ = try? await provider.resolve(Serving.query("v4.shop.test"))
                await provider.exchange.addresses.settled()
                let told = serving.queries.all
                #expect(told.filter { $0.protocolName == "alibaba-ss" }.map(\.outcome) == ["ok"])
                let error = try await provider.outcome("v4.shop.test").failure
                #expect(error?.code == .serviceDisabled)
                #expect(serving.queries.all == told)
            }
        }

        @Test("A wrong secret is refused without repeating it", arguments: Client.all.filter(\.isSigned))
        func wrongSecret(client: Client) async throws {
            try await Serving.run(try client.serve()) { serving in
                let wrong = "ffffffffffffffffffffffffffffffff"
                let error = try await client.provider(serving.url, secret: wrong).outcome("v4.shop.test").failure
                #expect(error?.code == .accountRefused)
                #expect(error?.message.contains("InvalidSignature") == true && error?.message.contains(wrong) == false)
                #expect(serving.queries.all.map(\.outcome) == ["InvalidSignature"])
                #expect(!"\(serving.queries.all)".contains(wrong))
            }
        }

        @Test("A missing secret and an unknown secret are refused", arguments: HTTPDNSAlibabaProvider.Version.allCases)
        func unsigned(version: HTTPDNSAlibabaProvider.Version) async throws {
            let signed = Client(version: version, isSigned: true)
            try await Serving.run(try signed.serve()) { serving in
                let error = try await Client(version: version).provider(serving.url).outcome("v4.shop.test").failure
                #expect(error?.code == .accountRefused && error?.message.contains("UnsignedInterfaceDisabled") == true)
            }
            try await Serving.run(try Client(version: version).serve()) { serving in
                let error = try await signed.provider(serving.url).outcome("v4.shop.test").failure
                #expect(error?.code == .accountRefused && error?.message.contains("InvalidSignature") == true)
            }
        }

        /// By the service's clock.
        @Test(
            "A signature that has expired or lasts too long is refused",
            arguments: Client.all.filter(\.isSigned)
        )
        func expired(client: Client) async throws {
            for (hours, word) in [(Int64(2), "SignatureExpired"), (-48, "InvalidDuration")] {
                let offset = WallClock { WallClock.system.now() + hours * 3_600_000 }
                try await Serving.run(try client.serve(), settings: { $0.clock = offset }) { serving in
                    let error = try await client.provider(serving.url).outcome("v4.shop.test").failure
                    #expect(error?.code == .refused && error?.message.contains(word) == true)
                    #expect(serving.queries.all.map(\.outcome) == [word])
                }
            }
        }

        @Test(
            "A wrong key is refused, and neither it nor an undocumented code is quoted",
            arguments: [HTTPDNSAlibabaProvider.Encryption.cbc, .gcm]
        )
        func wrongKey(encryption: HTTPDNSAlibabaProvider.Encryption) async throws {
            let client = Client(isSigned: true, encryption: encryption)
            try await Serving.run(try client.serve()) { serving in
                let wrong = "ffffffffffffffffffffffffffffffff"
                let error = try await client.provider(serving.url, key: wrong).outcome("v4.shop.test").failure
                #expect(error?.code == .httpStatus || error?.code == .refused)
                let message = error?.message ?? ""
                // The vendor documents no such code.
                #expect(message.contains("an error code that is not known here"), "\(message)")
                #expect(!message.contains("InvalidEncryption") && !message.contains(wrong), "\(message)")
                #expect(serving.queries.all.map(\.outcome) == ["InvalidEncryption"])
            }
        }

        /// In the wrong mode, cut off, with an odd digit, HTML, noise, 10 MB.
        @Test(
            "A malformed response is an error, and the next query works",
            arguments: Client.all,
            ["html", "noise", "huge", "half", "cipher", "mode", "odd_hex"]
        )
        func garbage(client: Client, garbage: String) async throws {
            let serve = try client.serve("hosts: { both.shop.test: { garbage: \(garbage) } }")
            try await Serving.run(serve) { serving in
                let provider = try client.provider(serving.url)
                let error = try await provider.outcome("both.shop.test").failure
                #expect(error?.code == .badResponse || garbage == "huge" && error != nil, "\(error as Any)")
                #expect(serving.queries.all.map(\.outcome) == ["garbage-\(garbage)"])
                // The provider is none the worse for it.
                let next = try client.provider(serving.url)
                #expect(try await next.outcome("v4.shop.test").answer?.addresses == ["192.0.2.20"])
            }
        }
    }
}

extension Result where Success == HTTPDNSProviderAnswer, Failure == HTTPDNSProviderError {
    var failure: HTTPDNSProviderError? {
        guard case .failure(let error) = self else { return nil }
        return error
    }

    var answer: HTTPDNSProviderAnswer? { try? get() }
}
#endif
