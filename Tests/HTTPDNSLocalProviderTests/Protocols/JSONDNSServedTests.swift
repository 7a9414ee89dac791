// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if LocalProvider
import HTTPTypes
import Testing

@testable import HTTPDNSLocalProvider

struct JSONDNSServedTests {
    @Test("An alias is returned with its end, and a list holds the question")
    func alias() throws {
        #expect(
            try Served().body("/resolve?name=alias.shop.test&type=AAAA")
                == #"{"AD":false,"Answer":[{"TTL":30,"data":"both.shop.test.","name":"alias.shop.test.","type":5},"#
                + #"{"TTL":30,"data":"2001:db8::10","name":"both.shop.test.","type":28}],"CD":false,"#
                + #""Question":[{"name":"alias.shop.test.","type":28}],"RA":true,"RD":true,"Status":0,"TC":false}"#
        )
    }

    @Test("An absent name and an absent type have the time for which that holds")
    func negatives() throws {
        let gone = try Served().body("/resolve?name=gone.test")
        #expect(gone.contains(#""Status":3"#) && !gone.contains("Answer") && gone.contains(#""type":6"#))
        let empty = try Served().body("/resolve?name=v4.shop.test&type=28")
        #expect(empty.contains(#""Status":0"#) && !empty.contains("Answer") && empty.contains(#""TTL":60"#))
        // Rules for clients, and for a port, are no names here.
        for name in ["inner.shop.test", "port.shop.test"] {
            #expect(try Served().body("/resolve?name=\(name)").contains(#""Status":3"#))
        }
    }

    @Test("Alidns' question has no list around it, and its short form has addresses alone")
    func alidns() throws {
        let body = try Served().body("/alidns/resolve?name=v4.shop.test&type=1")
        #expect(body.contains(#""Question":{"name":"v4.shop.test.","type":1}"#))
        #expect(try Served().body("/alidns/resolve?name=both.shop.test&short=1") == #"["192.0.2.10","192.0.2.11"]"#)
        #expect(try Served().outcome("/alidns/resolve?name=a.test").record.protocolName == "json-alidns")
    }

    /// It is chosen by Accept or ct.
    @Test("Cloudflare's JSON shares its path with DNS messages")
    func cloudflare() throws {
        let fields: HTTPFields = [.accept: "application/dns-json"]
        let chosen = try Served().outcome("/dns-query?name=v4.shop.test&type=A", fields: fields)
        #expect(chosen.record.protocolName == "json-cloudflare" && chosen.reply.status == 200)
        #expect(
            try Served().outcome("/dns-query?name=a.test&ct=application/dns-json").record.protocolName
                == "json-cloudflare"
        )
        #expect(try Served().refusal("/dns-query?name=a.test") == "400 MissingArgument")
    }

    @Test(
        "An invalid signed time is refused, however far away it is",
        arguments: [
            (
                "-9223372036854775808", "a1af3278fe90f5527bac4ef313ce3aea52f1bef409e4f53e3958f0514da2ad1b",
                "403 SignatureExpired"
            ),
            (
                "9223372036854775807", "7fe49e517a2128d088d2088fe4655ea285172a42bf4563b74a94e8b51dd2b856",
                "403 SignatureExpired"
            ),
            ("-999999999", "d8f6124b6628ef8c267216f9e8dc0be0db2db78f3f89e1c18543ef17da4abae7", "403 SignatureExpired"),
            ("99999999999", "72538eebea5c459cae1bfe0fda9ebc1849acc4280b504cb7630c4d19dcd79a68", "403 SignatureExpired"),
            ("1700000000", "7e4a56aa7c590d0c346552b735521a3153942b706d11712103de5e86c55c897e", "200 ok"),
        ]
    )
    func signedTimes(time: String, key: String, expected: String) throws {
        let secret = try Secrets.place("00ff")
        let served = try Served("alidns: { account: \"9\", access_key: k, secret: \(secret) }")
        #expect(served.refusal("/resolve?name=v4.shop.test&uid=9&ak=k&ts=\(time)&key=\(key)") == expected)
    }

    /// Whatever else the name has. No cache keeps it for longer.
    @Test(
        "An absence lives for a minute at most",
        arguments: [("A", 3600), ("AAAA", 60), ("HTTPS", 60)]
    )
    func absences(type: String, life: Int) throws {
        let served = try Served(text: "version: 1\nmappings: { a.test: { addresses: 192.0.2.1, ttl: 1h } }\n")
        let number = ["A": 1, "AAAA": 28, "HTTPS": 65][type] ?? 0
        let body = served.body("/resolve?name=a.test&type=\(type)")
        #expect(body.contains(#""TTL":\#(life),"#) && body.contains("3600 1209600 60") == (life == 60))
        // One question about a.test of class IN, with recursion desired.
        let message: [UInt8] =
            [0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0x61, 4, 0x74, 0x65, 0x73, 0x74, 0, 0]
            + [UInt8(number), 0, 1]
        let reply = served.outcome(
            "/dns-query",
            method: .post,
            fields: [.contentType: "application/dns-message"],
            body: message
        ).reply
        #expect(reply.headerFields[.cacheControl] == "max-age=\(life)")
        // What is not there has one record, the SOA, with the life twice: its own, and at its end that of the absence.
        #expect(Array(reply.body.suffix(4)) == (life == 60 ? [0, 0, 0, 60] : [192, 0, 2, 1]))
        // A name that is not there at all.
        let gone = try Served(text: "version: 1\nserve: { ttl: 1h }\n").outcome(
            "/dns-query",
            method: .post,
            fields: [.contentType: "application/dns-message"],
            body: message
        ).reply
        #expect(gone.headerFields[.cacheControl] == "max-age=60" && Array(gone.body.suffix(4)) == [0, 0, 0, 60])
    }

    @Test(
        "Invalid queries are refused",
        arguments: [
            ("/resolve", "400 MissingArgument"), ("/resolve?name=a..b", "400 InvalidHost"),
            ("/resolve?name=a.test&type=0", "400 InvalidQuery"), ("/resolve?name=a.test&type=QQ", "400 InvalidQuery"),
            ("/resolve?name=a.test&uid=1", "403 InvalidAccount"),
        ]
    )
    func refusals(target: String, expected: String) throws {
        #expect(try Served().refusal(target) == expected)
    }
}
#endif
