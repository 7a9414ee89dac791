// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if LocalProvider && Signing
import HTTPDNSCurl
import HTTPDNSPrimitives
import ServerRig
import HTTPDNSLocalProvider
import Testing

@testable import HTTPDNSCore
@testable import HTTPDNSVendors

extension OverTheNetwork {
    /// Tencent's client end to end, against checks that share no code with it.
    struct TencentClientTests {
        private static let token = "8675309"
        private static let key = "dnspodpass"

        private static func serve(_ more: String = "") throws -> String {
            "tencent: { id: \"77\", token: \(try Secrets.place(token)), encryption_key: \(try Secrets.place(key)) }\n\(more)"
        }

        private static func provider(
            _ url: String,
            isEncrypted: Bool,
            token: String = token,
            key: String = key,
            _ settings: (inout HTTPDNSTencentProvider.Configuration) -> Void = { _ in }
        ) throws -> HTTPDNSTencentProvider {
            var configuration = HTTPDNSTencentProvider.Configuration(
                name: "tencent",
                credential: HTTPDNSVendorCredential(
                    account: "77",
                    secret: isEncrypted ? nil : HTTPDNSSecret { token },
                    encryptionKey: isEncrypted ? HTTPDNSSecret { key } : nil
                )
            )
            configuration.url = url
            configuration.discoversAddresses = false
            settings(&configuration)
            return try HTTPDNSTencentProvider(configuration)
        }

        @Test("Every kind of query works: one name and several, each family and both", arguments: [false, true])
        func ways(isEncrypted: Bool) async throws {
            try await Serving.run(try Self.serve()) { serving in
                let provider = try Self.provider(serving.url, isEncrypted: isEncrypted)
                let both = try await provider.resolve(Serving.query("both.shop.test"))
                #expect(both.addresses == ["192.0.2.10", "192.0.2.11", "2001:db8::10"])
                #expect(both.lives == [30, 30])
                #expect(
                    try await provider.resolve(Serving.query("both.shop.test", .v4)).addresses == [
                        "192.0.2.10", "192.0.2.11",
                    ]
                )
                #expect(try await provider.resolve(Serving.query("both.shop.test", .v6)).addresses == ["2001:db8::10"])
                #expect(try await provider.resolve(Serving.query("v4.shop.test")).addresses == ["192.0.2.20"])
                let names = try ["both.shop.test", "v4.shop.test", "v6.shop.test", "gone.test", "a.wild.test"].map {
                    try HTTPDNSName($0)
                }
                let batch = try await provider.resolve(Serving.query("both.shop.test"), batch: names)
                #expect(
                    batch.mapValues { $0.addresses.count }
                        == Dictionary(uniqueKeysWithValues: zip(names, [3, 1, 1, 0, 1]))
                )
                await provider.shutdown()
                #expect(serving.queries.all.count == 5)
                #expect(serving.queries.all.allSatisfy { $0.outcome == "ok" && $0.protocolName == "tencent" })
                #expect(
                    serving.queries.all.allSatisfy {
                        ($0.encryption == "cbc") == isEncrypted && $0.isSigned != isEncrypted
                    }
                )
            }
        }

        /// Encrypted as in the documents, in clear as the vendor's clients send it.
        @Test(
            "A client subnet is accepted encrypted and in clear",
            arguments: [false, true]
        )
        func clientSubnet(isEncrypted: Bool) async throws {
            try await Serving.run(try Self.serve()) { serving in
                for encrypts in [true, false] {
                    let provider = try Self.provider(serving.url, isEncrypted: isEncrypted) {
                        $0.encryptsClientSubnet = encrypts
                    }
                    var query = try Serving.query("v4.shop.test", .v4)
                    query.clientSubnet = HTTPDNSAddressBlock("203.0.113.0/24")
                    #expect(try await provider.resolve(query).addresses == ["192.0.2.20"])
                    await provider.shutdown()
                }
            }
        }

        /// A wrong token, a wrong key, and an expiry that is over.
        @Test("Wrong credentials and an expired query are refused, without repeating them")
        func refusals() async throws {
            try await Serving.run(try Self.serve()) { serving in
                let token = try await Self.provider(serving.url, isEncrypted: false, token: "1234567").outcome(
                    "v4.shop.test"
                ).failure
                #expect(token != nil && token?.message.contains("1234567") == false)
                let key = try await Self.provider(serving.url, isEncrypted: true, key: "otherkey").outcome(
                    "v4.shop.test"
                ).failure
                #expect(key != nil && key?.message.contains("otherkey") == false)
                #expect(serving.queries.all.map(\.outcome) == ["InvalidAccount", "InvalidEncryption"])
            }
            let later = WallClock { WallClock.system.now() + 7_200_000 }
            try await Serving.run(try Self.serve(), settings: { $0.clock = later }) { serving in
                for isEncrypted in [false, true] {
                    let outcome = try await Self.provider(serving.url, isEncrypted: isEncrypted).outcome("v4.shop.test")
                    #expect(outcome.failure != nil)
                }
                #expect(serving.queries.all.map(\.outcome) == ["SignatureExpired", "SignatureExpired"])
            }
        }

        @Test(
            "A malformed answer is an error: cut off, with an odd digit, HTML, noise, 10 MB",
            arguments: [false, true],
            ["html", "noise", "huge", "half", "cipher", "odd_hex"]
        )
        func garbage(isEncrypted: Bool, garbage: String) async throws {
            try await Serving.run(try Self.serve("hosts: { both.shop.test: { garbage: \(garbage) } }")) { serving in
                let outcome = try await Self.provider(serving.url, isEncrypted: isEncrypted).outcome("both.shop.test")
                #expect(outcome.addresses.isEmpty, "\(outcome)")
                #expect(serving.queries.all.map(\.outcome) == ["garbage-\(garbage)"])
            }
        }

        @Test("The list of addresses leads back to the local provider", arguments: [false, true])
        func discovery(isEncrypted: Bool) async throws {
            try await Serving.run(try Self.serve()) { serving in
                let provider = try Self.provider(serving.url, isEncrypted: isEncrypted) { $0.discoversAddresses = true }
                let query = try Serving.query("v4.shop.test", .v4)
                #expect(try await provider.resolve(query).addresses == ["192.0.2.20"])
                await provider.exchange.addresses.settled()
                #expect(serving.queries.all.filter { $0.protocolName == "tencent-conf" }.map(\.outcome) == ["ok"])
                let port = serving.listener.port
                let here = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 1), port: port)
                #expect(provider.exchange.addresses.attempts() == [here])
                #expect(try await provider.resolve(query).addresses == ["192.0.2.20"])
                await provider.shutdown()
            }
        }
    }
}
#endif
