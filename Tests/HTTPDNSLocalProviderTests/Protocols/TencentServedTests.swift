// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if LocalProvider
import HTTPTypes
import Testing

@testable import HTTPDNSLocalProvider

struct TencentServedTests {
    @Test(
        "The documented samples are served in their grammar",
        arguments: [
            ("dn=both.shop.test", "192.0.2.10;192.0.2.11"),
            ("dn=both.shop.test&ttl=1&clientip=1&ip=203.0.113.9", "192.0.2.10;192.0.2.11,30|203.0.113.9"),
            (
                "dn=both.shop.test&type=addrs&ttl=1&clientip=1",
                "192.0.2.10;192.0.2.11,30-2001:db8::10,30|203.0.113.7"
            ),
            ("dn=both.shop.test&query=1&ttl=1", "both.shop.test.:192.0.2.10;192.0.2.11,30"),
            ("dn=gone.test", ""), ("dn=gone.test&query=1", "gone.test.:0"),
            ("dn=gone.test&query=1&type=ADDRS", "gone.test.:0-0"),
            ("dn=v4.shop.test&query=1&type=addrs", "v4.shop.test.:192.0.2.20-0"),
            ("dn=v6.shop.test&type=AAAA", "2001:db8::20"),
            (
                "dn=gone.test,v4.shop.test,a.wild.test&ttl=1&clientip=1",
                "gone.test.:0\nv4.shop.test.:192.0.2.20,60\na.wild.test.:192.0.2.30,60|203.0.113.7"
            ),
        ]
    )
    func samples(query: String, body: String) throws {
        let token = try Secrets.place("8675309")
        #expect(try Served("tencent: { token: \(token) }").body("/d?token=8675309&\(query)") == body)
    }

    @Test(
        "Invalid queries are refused",
        arguments: [
            ("/d?dn=a.test", "401 MissingArgument"), ("/d?token=1&dn=a.test", "401 InvalidAccount"),
            ("/d?token=8675309", "400 MissingArgument"), ("/d?token=8675309&dn=a.test&type=mx", "400 InvalidQuery"),
            ("/d?token=8675309&dn=a,b,c,d,e,f,g,h,i", "400 TooManyHosts"),
            ("/d?token=8675309&dn=a.test;1699999999", "401 SignatureExpired"),
            ("/d?token=8675309&dn=a.test;soon", "400 MissingArgument"),
            ("/d?token=8675309&dn=a.test;-9223372036854775808", "400 MissingArgument"),
            ("/d?token=8675309&dn=a.test;9223372036854775807", "400 MissingArgument"),
            ("/d?token=8675309&dn=a.test;-1", "400 MissingArgument"), ("/d?token=8675309&dn=;", "400 MissingArgument"),
            ("/d?token=8675309&dn=a.test&ip=x", "400 InvalidIP"), ("/d?id=1&dn=00", "400 InvalidEncryption"),
            ("/d?token=8675309&dn=v4.shop.test;1700000000", "200 ok"), ("/e?token=8675309", "404 NotFound"),
        ]
    )
    func refusals(target: String, expected: String) throws {
        let token = try Secrets.place("8675309")
        #expect(try Served("tencent: { token: \(token) }").refusal(target) == expected)
    }

    /// Other methods are a 501.
    @Test("The free service takes one name per query, by GET or as a form by POST")
    func free() throws {
        #expect(try Served().body("/d?dn=v4.shop.test") == "192.0.2.20")
        #expect(try Served().refusal("/d?dn=v4.shop.test,both.shop.test") == "400 TooManyHosts")
        let posted = try Served().outcome("/d", method: .post, body: Array("dn=v4.shop.test".utf8))
        #expect(String(decoding: posted.reply.body, as: UTF8.self) == "192.0.2.20")
        #expect(try Served().outcome("/d?dn=v4.shop.test", method: .put).reply.status == 501)
    }

    @Test("The list of addresses is the address that was asked")
    func list() throws {
        #expect(try Served().body("/conf") == "log:1|domain:0|ip:127.0.0.1|ttl:60")
    }
}
#endif
