// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSTesting
import HTTPTypes

@testable import HTTPDNSCore
@testable import HTTPDNSVendors

/// A Tencent provider whose service is a function.
struct ScriptedTencent: ScriptedVendor {
    /// How the account asks.
    enum Access: CaseIterable {
        case token
        #if Signing
        case aes
        #endif
    }

    static let token = "800900"
    static let key = "dnspodpass"

    let provider: HTTPDNSTencentProvider
    let exchange: ScriptedVendorExchange
    let time = HTTPDNSManualClock()

    typealias Answer = @Sendable (ScriptedVendorExchange.Sent) async throws -> UpstreamReply

    /// - Parameters:
    ///   - secret: The token, or the key of encrypted access; nil means the constants above.
    ///   - seconds: The time of the machine.
    ///   - randomOctets: By default 0, 1, 2 and so on.
    init(
        _ access: Access = .token,
        secret: HTTPDNSSecret? = nil,
        seconds: @escaping @Sendable () -> Int64 = { 1_700_000_000 },
        randomOctets: @escaping @Sendable (Int) -> [UInt8] = { (0..<$0).map { UInt8($0) } },
        settings: (inout HTTPDNSTencentProvider.Configuration) -> Void = { _ in },
        _ answer: @escaping Answer
    ) throws {
        let secret = secret ?? HTTPDNSSecret { access == .token ? Self.token : Self.key }
        var configuration = HTTPDNSTencentProvider.Configuration(
            name: "tencent",
            credential: HTTPDNSVendorCredential(
                account: "100000",
                secret: access == .token ? secret : nil,
                encryptionKey: access == .token ? nil : secret
            )
        )
        configuration.discoversAddresses = false
        settings(&configuration)
        exchange = ScriptedVendorExchange(answer)
        provider = try HTTPDNSTencentProvider(
            configuration,
            exchange: exchange,
            time: time,
            clock: WallClock { seconds() * 1000 },
            randomOctets: randomOctets
        )
    }
}

/// Bodies of the service.
enum TencentBody {
    static let address = HTTPDNSAddress(v4: 192, 0, 2, 10)
    static let address6 = HTTPDNSAddress(family: .v6, high: 0x2001_0db8 << 32, low: 0x10)

    /// The answer about one name and both families.
    static let both = "www.example.com.:192.0.2.10;192.0.2.11,120-2001:db8::10,90|203.0.113.7"
    static let services = "log:1|domain:0|ip:198.51.100.53;198.51.100.54|ttl:60"

    /// A text as the service writes it to an account that asks like that.
    static func written(_ text: String, _ access: ScriptedTencent.Access, key: String = ScriptedTencent.key) throws
        -> String
    {
        guard access != .token else { return text }
        return try TencentCipher(key: key) { (0..<$0).map { UInt8(255 - $0) } }.encrypted(text)
    }

    /// What a question's `dn` says.
    static func asked(_ sent: ScriptedVendorExchange.Sent, key: String = ScriptedTencent.key) throws -> String {
        let text = sent.parameters["dn"] ?? ""
        guard sent.parameters["alg"] == "aes" else { return text }
        let octets = try TencentCipher(key: key) { _ in [] }.decrypted(Array(text.utf8))
        return String(decoding: octets, as: UTF8.self)
    }
}
