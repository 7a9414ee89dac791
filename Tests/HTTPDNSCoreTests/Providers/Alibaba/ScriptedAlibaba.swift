// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSTesting
import HTTPTypes

@testable import HTTPDNSCore
@testable import HTTPDNSVendors

/// An Alibaba provider whose service is a function.
struct ScriptedAlibaba: ScriptedVendor {
    static let hmacSecret = "000102030405060708090a0b0c0d0e0f"
    static let aesKey = "f0e0d0c0b0a090807060504030201000"
    static let md5Secret = "IAmASecret"

    let provider: HTTPDNSAlibabaProvider
    let exchange: ScriptedVendorExchange
    let time = HTTPDNSManualClock()

    typealias Answer = @Sendable (ScriptedVendorExchange.Sent) async throws -> UpstreamReply

    /// - Parameters:
    ///   - seconds: The time of the machine.
    ///   - randomOctets: By default 0, 1, 2 and so on.
    init(
        _ version: HTTPDNSAlibabaProvider.Version = .v2,
        secret: HTTPDNSSecret? = nil,
        encryption: HTTPDNSAlibabaProvider.Encryption? = nil,
        encryptionKey: HTTPDNSSecret? = nil,
        seconds: @escaping @Sendable () -> Int64 = { 1_700_000_000 },
        randomOctets: @escaping @Sendable (Int) -> [UInt8] = { (0..<$0).map { UInt8($0) } },
        settings: (inout HTTPDNSAlibabaProvider.Configuration) -> Void = { _ in },
        _ answer: @escaping Answer
    ) throws {
        let account = version == .v1 ? "100000" : "123456"
        var configuration = HTTPDNSAlibabaProvider.Configuration(
            name: "ali",
            version: version,
            credential: HTTPDNSVendorCredential(
                account: account,
                secret: secret,
                encryptionKey: encryptionKey ?? encryption.map { _ in HTTPDNSSecret { Self.aesKey } }
            )
        )
        configuration.encryption = encryption
        configuration.discoversAddresses = false
        settings(&configuration)
        exchange = ScriptedVendorExchange(answer)
        provider = try HTTPDNSAlibabaProvider(
            configuration,
            exchange: exchange,
            time: time,
            clock: WallClock { seconds() * 1000 },
            randomOctets: randomOctets
        )
    }
}

/// Bodies of the service.
enum AlibabaBody {
    static let address = HTTPDNSAddress(v4: 192, 0, 2, 10)

    /// Version 2's plain answer about one name.
    static let v2 =
        #"{"code":"success","mode":0,"data":{"cip":"203.0.113.7","answers":[{"dn":"www.example.com","#
        + #""v4":{"ips":["192.0.2.10","192.0.2.11"],"ttl":60},"v6":{"ips":["2001:db8::10"],"ttl":60}}]}}"#
    /// Version 1's.
    static let v1 =
        #"{"host":"www.example.com","ips":["192.0.2.10","192.0.2.11"],"ipsv6":["2001:db8::10"],"ttl":26,"#
        + #""origin_ttl":300,"client_ip":"203.0.113.7"}"#

    static func v2(_ answers: String) -> String { #"{"code":"success","data":{"answers":[\#(answers)]}}"# }

    static let cbcData =
        "AAECAwQFBgcICQoLDA0OD1FYK3MfNuoQLnh1ZYRR9X6tSE4UIcPWD4DJ23KtZbrkTIufogWT8x+HLsGZ+nLL/kNyCzmKAwdvsxLhPBiVGDxYGi9EMyFR"
        + "DWQi5Jd4FMk3BTnRPpDvzlJgwQayEv5HLQ=="
    static let gcmData =
        "AAECAwQFBgcICQoLgjl6loeqHDnP9hLFPDvuWclDLDuaJNwhdw9j/Ub0DCZ7xdDoUCFT/ujWs6e1d8jFuzWcieLBOqUtzeW6kxyz1VYk/vILP9VJLUiu"
        + "jUn4Mh8xf1JjVNI+LuTTqpdojE0xZTv7SpASw8eE6ucNbfDU"

    static func encrypted(_ data: String, mode: String) -> String {
        #"{"code":"success","mode":\#(mode),"data":"\#(data)"}"#
    }
}
