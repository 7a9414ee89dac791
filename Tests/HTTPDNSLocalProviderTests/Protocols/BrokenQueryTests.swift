// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if LocalProvider
import HTTPTypes
import Testing

@testable import HTTPDNSLocalProvider

/// What strangers may send: good queries with something else at each place of them.
struct BrokenQueryTests {
    /// What does not belong there: ends of number ranges, what separates, what is half, what is no text.
    private static let strangers = [
        "-9223372036854775808", "9223372036854775807", "99999999999999999999", "-1", "0", "1e9", "%", "%2", "%00",
        "%ff",
        "&", "=", "&&==", ",", ";", ",,;;", "/", "?", "#", " ", "\u{0}", "\u{fc}", "%F0%9F%8C%8D", "*", "..", "::",
        "[::]",
        String(repeating: "a.", count: 200),
    ]

    @Test(
        "No broken query ends the server or is a server error",
        arguments: [
            "/d?dn=a.test;1700000600&type=addrs&ttl=1&clientip=1&query=1&ip=203.0.113.9", "/d?id=1&alg=aes&dn=00ff",
            "/conf?id=1&alg=aes", "/v2/d?id=1&m=0&dn=a.test,v4.shop.test&q=4,6&cip=203.0.113.9&exp=1700000600&s=00ff",
            "/v2/d?id=1&m=1&enc=00ff", "/1/d?host=a.test&query=4,6&ip=203.0.113.9&t=1700000600",
            "/1/sign_resolve?host=a.test,b.test&t=1700000600&s=00ff",
            "/1/ss?region=cn&n=0123456789ab&t=1700000000&s=00ff",
            "/resolve?name=a.test&type=AAAA&uid=9&ak=k&ts=1700000000&key=00ff", "/alidns/resolve?name=a.test&short=1",
            "/dns-query?dns=AAABAAABAAAAAAAAAWEEdGVzdAAAAQAB", "/dns-query?name=a.test&ct=application/dns-json",
        ]
    )
    func queries(target: String) throws {
        let served = try Served()
        let octets = Array(target.utf8)
        let start = (octets.firstIndex(of: UInt8(ascii: "?")) ?? 0) + 1
        for index in start...octets.count {
            // In front of what is there, and in the place of the rest of the value.
            let rest = octets[index...].firstIndex(of: UInt8(ascii: "&")) ?? octets.count
            for (stranger, end) in Self.strangers.flatMap({ [($0, index), ($0, rest)] }) {
                let text = String(decoding: octets[..<index] + Array(stranger.utf8) + octets[end...], as: UTF8.self)
                let outcome = served.outcome(text)
                #expect([200, 400, 401, 403, 404].contains(outcome.reply.status), "\(text): \(outcome.record)")
            }
        }
    }

    @Test("Every prefix and every changed octet of a DNS message is handled")
    func messages() throws {
        let served = try Served()
        let good: [UInt8] =
            [0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1, 0x61, 4, 0x74, 0x65, 0x73, 0x74, 0, 0, 1, 0, 1]
            + [0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]
        func status(_ message: [UInt8]) -> Int {
            let fields: HTTPFields = [.contentType: "application/dns-message"]
            return served.outcome("/dns-query", method: .post, fields: fields, body: message).reply.status
        }
        #expect(status(good) == 200)
        for count in good.indices { #expect(status(Array(good.prefix(count))) == 400) }
        for index in good.indices {
            for octet in UInt8.min ... .max {
                var message = good
                message[index] = octet
                #expect([200, 400].contains(status(message)), "\(index) \(octet)")
            }
        }
    }
}
#endif
