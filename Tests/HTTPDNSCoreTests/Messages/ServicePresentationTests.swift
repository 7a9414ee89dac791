// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSMessages
import Testing

/// RFC 9460 section 2.1 and appendices A and D.
struct ServicePresentationTests {
    private static func text(_ data: [UInt8]) throws -> String? {
        var builder = DNSMessageBuilder(to: .https("one.test"))
        builder.append(DNSMessageBuilder.record(DNSMessageBuilder.name("one.test"), type: 65, data: data))
        guard
            case .service(let record)? = try DNSResponse(parsing: builder.octets, to: .https("one.test")).answers.first?
                .content
        else { return nil }
        return "\(record)"
    }

    private static func record(_ parameters: [(UInt16, [UInt8])]) -> [UInt8] {
        [0, 1, 0] + DNSMessageBuilder.parameters(parameters)
    }

    @Test(
        "A record is written as in a zone file",
        arguments: [
            ([0, 0] + DNSMessageBuilder.name("foo.example.com"), "0 foo.example.com."),
            ([0, 0, 0], "0 ."), ([0, 1, 0], "1 ."),
            (
                [0, 16] + DNSMessageBuilder.name("foo.example.com") + DNSMessageBuilder.parameters([(3, [0, 53])]),
                "16 foo.example.com. port=53"
            ),
            (record([(667, Array("hello".utf8))]), "1 . key667=\"hello\""),
            (record([(667, [0x68, 0xd2, 0x71, 0x6f, 0x6f, 0x22])]), "1 . key667=\"h\\210qoo\\\"\""),
            (record([(667, [])]), "1 . key667"), (record([(7, Array("/q{?dns}".utf8))]), "1 . dohpath=\"/q{?dns}\""),
            (
                record([(1, [2, 0x68, 0x32]), (2, []), (5, [0, 1, 2, 3])]),
                "1 . alpn=\"h2\" no-default-alpn ech=AAECAw=="
            ),
            (
                record([
                    (0, [0, 1, 0, 4]), (1, [2, 0x68, 0x32, 5] + Array("h3-19".utf8)),
                    (4, [192, 0, 2, 1, 192, 0, 2, 2]),
                ]),
                "1 . mandatory=alpn,ipv4hint alpn=\"h2,h3-19\" ipv4hint=192.0.2.1,192.0.2.2"
            ),
            (
                record([(6, [0x20, 1, 0x0d, 0xb8] + [UInt8](repeating: 0, count: 11) + [1])]),
                "1 . ipv6hint=2001:db8::1"
            ),
            // "f\oo,bar", of appendix D.2.
            (record([(1, [8] + Array("f\\oo,bar".utf8) + [2, 0x68, 0x32])]), #"1 . alpn="f\\\\oo\\,bar,h2""#),
        ] as [([UInt8], String)]
    )
    func presentation(data: [UInt8], text: String) throws {
        #expect(try Self.text(data) == text)
    }

    /// RFC 4648 section 10.
    @Test(
        "The settings of Encrypted ClientHello are base64",
        arguments: zip(
            ["f", "fo", "foo", "foob", "fooba", "foobar"],
            ["Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]
        )
    )
    func base64(text: String, encoded: String) throws {
        #expect(try Self.text(Self.record([(5, Array(text.utf8))])) == "1 . ech=\(encoded)")
    }
}
