// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if LocalProvider
import HTTPTypes
import Testing

@testable import HTTPDNSLocalProvider

struct AlibabaServedTests {
    @Test(
        "Bodies of version 2 have the vendor's form",
        arguments: [
            (
                "/v2/d?id=1&m=0&dn=both.shop.test&q=4,6",
                #"{"code":"success","data":{"answers":[{"dn":"both.shop.test","v4":{"ips":["192.0.2.10","192.0.2.11"],"ttl":30},"#
                    + #""v6":{"ips":["2001:db8::10"],"ttl":30}}],"cip":"203.0.113.7"},"mode":0}"#
            ),
            (
                "/v2/d?id=1&dn=v4.shop.test,gone.test&cip=198.51.100.9",
                #"{"code":"success","data":{"answers":[{"dn":"v4.shop.test","v4":{"ips":["192.0.2.20"],"ttl":60}},"#
                    + #"{"dn":"gone.test","v4":{"ips":[],"no_ip_code":"DomainNotExist","ttl":60}}],"cip":"198.51.100.9"},"mode":0}"#
            ),
            (
                "/v2/d?id=1&m=0&dn=v4.shop.test&q=6",
                #"{"code":"success","data":{"answers":[{"dn":"v4.shop.test","v6":{"ips":[],"no_ip_code":"RRNotExist","ttl":60}}],"#
                    + #""cip":"203.0.113.7"},"mode":0}"#
            ),
        ]
    )
    func version2(target: String, body: String) throws {
        #expect(try Served().body(target) == body)
    }

    /// `origin_ttl` is a trap.
    @Test("Version 1 bodies have one name, several names, or a row for each family")
    func version1() throws {
        #expect(
            try Served().body("/100000/d?host=both.shop.test&query=4,6&ip=203.0.113.9")
                == #"{"client_ip":"203.0.113.9","host":"both.shop.test","ips":["192.0.2.10","192.0.2.11"],"#
                + #""ipsv6":["2001:db8::10"],"origin_ttl":300,"ttl":30}"#
        )
        #expect(
            try Served().body("/100000/resolve?host=v4.shop.test,gone.test")
                == #"{"dns":[{"client_ip":"203.0.113.7","host":"v4.shop.test","ips":["192.0.2.20"],"origin_ttl":600,"ttl":60},"#
                + #"{"client_ip":"203.0.113.7","host":"gone.test","ips":[],"origin_ttl":600,"ttl":60}]}"#
        )
        #expect(
            try Served("alibaba: { rows_by: type }").body("/1/resolve?host=both.shop.test&query=4,6")
                == #"{"dns":[{"client_ip":"203.0.113.7","host":"both.shop.test","ips":["192.0.2.10","192.0.2.11"],"#
                + #""origin_ttl":300,"ttl":30,"type":1},"#
                + #"{"client_ip":"203.0.113.7","host":"both.shop.test","ips":["2001:db8::10"],"origin_ttl":300,"ttl":30,"type":28}]}"#
        )
        let clients = try Served().body("/1/resolve?host=v4.shop.test&ip=203.0.113.1,203.0.113.2")
        #expect(clients.contains("203.0.113.1") && clients.contains("203.0.113.2"))
    }

    /// With the port.
    @Test("The schedule center names the address that was asked, or a disabled account")
    func schedule() throws {
        #expect(
            try Served().body("/100000/ss?region=cn&platform=linux")
                == #"{"service_ip":["127.0.0.1"],"service_ip_port":[8053],"service_ipv6":[]}"#
        )
        let disabled = try Served("alibaba: { account: \"5\", disabled: true }")
        #expect(disabled.body("/5/ss") == #"{"service_status":"disable"}"#)
        // To stop is for the client.
        #expect(disabled.refusal("/5/d?host=v4.shop.test") == "200 ok")
        #expect(disabled.refusal("/v2/d?id=5&dn=v4.shop.test") == "200 ok")
        #expect(disabled.refusal("/6/ss") == "403 InvalidAccount")
    }

    @Test(
        "An invalid signed time is refused, however far away it is",
        arguments: [
            (
                "-9223372036854775808", "3497582b875af75df375bc9f6c634fe4", "3af7477c72ab064706682a49dd49e5df",
                "5779c02a12966be738059af254db018412291ec70f25d2f92b7e40e5d896220c", true
            ),
            (
                "9223372036854775807", "74e3ca1daf4fa41b6f03099d9bf75ebd", "879beb5591493f3f80bcb549b15d89ba",
                "ffcc29d7e312369e230882953e23fb6f430c51ae2445d0b55fa4fd62a6917a6b", true
            ),
            (
                "-999999999", "0e845b9b4b6a1229aa9a69c2dbf17376", "ea7062f060fcfc160e95c83a30973fdb",
                "c0b7494b05e4718890281ab6d8f89c5e1d45e6d0bf4a7d9ec2c896271ce2c9df", true
            ),
            (
                "99999999999", "35fc870f937e7bdca0b4349bd3f4d6c2", "b565f2a27949d38edfeeec81097121d6",
                "fdc887dd9f13947ddd68d2edbea5e41c09f74f8f612d8f0dead4f4974fbba9e5", true
            ),
            (
                "1700000000", "c5a65b2e4bbe5152510d35c32e96fc08", "7a7c52bb58648a3328b34b8387833bd8",
                "1b9c5a066f7acd4a3e99593268b0069a5579697628615af86afe0911a5454a23", false
            ),
        ]
    )
    func signedTimes(time: String, schedule: String, v1: String, v2: String, isAbsurd: Bool) throws {
        let secret = try Secrets.place("00ff")
        let served = try Served("alibaba: { account: \"1\", secret: \(secret) }")
        #expect(
            served.refusal("/1/ss?n=0011223344556677&t=\(time)&s=\(schedule)")
                == (isAbsurd ? "403 SignatureExpired" : "200 ok")
        )
        let queries = [
            "/1/sign_d?host=v4.shop.test&t=\(time)&s=\(v1)", "/v2/d?id=1&dn=v4.shop.test&exp=\(time)&s=\(v2)",
        ]
        for query in queries {
            #expect(served.refusal(query) == (isAbsurd ? "400 MissingArgument" : "200 ok"))
        }
    }

    @Test(
        "A query is refused with the vendor's error codes",
        arguments: [
            ("/v2/d?m=0&dn=a.test", "400 MissingArgument"), ("/v2/d?id=1&m=0", "400 MissingArgument"),
            ("/v2/d?id=1&m=3&dn=a.test", "400 MissingArgument"), ("/v2/d?id=x&m=0&dn=a.test", "403 InvalidAccount"),
            ("/v2/d?id=1&m=0&dn=a.test&dn=b.test", "400 MissingArgument"),
            ("/v2/d?id=1&m=0&dn=a,b,c,d,e,f", "400 TooManyHosts"), ("/v2/d?id=1&m=0&dn=a..b", "400 InvalidHost"),
            ("/v2/d?id=1&m=0&dn=192.0.2.1", "400 InvalidHost"), ("/v2/d?id=1&m=0&dn=a.test&q=5", "400 InvalidQuery"),
            ("/v2/d?id=1&m=0&dn=a.test&cip=x", "400 InvalidIP"), ("/v2/d?id=1&m=0&dn=a%2", "400 MissingArgument"),
            ("/v2/d?id=1&m=0&dn=a.test&exp=1700000600&s=00", "403 InvalidSignature"),
            ("/v2/d?id=1&m=1&enc=00", "400 InvalidEncryption"),
            ("/1/d?query=4", "400 MissingArgument"), ("/1/d?host=a.test,b.test", "400 TooManyHosts"),
            ("/1/resolve?host=a.test,b.test&ip=203.0.113.1,203.0.113.2", "400 InvalidIP"),
            ("/1/d?host=a.test&query=28", "400 InvalidQuery"), ("/x/d?host=a.test", "403 InvalidAccount"),
            ("/1/sign_d?host=a.test&t=1700000600&s=00", "403 InvalidSignature"),
            ("/1/ss?region=mars", "400 MissingArgument"), ("/1/unknown", "404 NotFound"), ("/", "404 NotFound"),
        ]
    )
    func refusals(target: String, expected: String) throws {
        #expect(try Served().refusal(target) == expected)
        if expected.hasSuffix("NotFound") { return }
        let word = expected.split(separator: " ")[1]
        let body = try Served().body(target)
        #expect(body == #"{"code":"\#(word)"}"#)
    }

    @Test("Only GET is accepted")
    func methods() throws {
        for target in ["/v2/d?id=1&m=0&dn=a.test", "/1/d?host=a.test", "/1/ss"] {
            #expect(try Served().outcome(target, method: .post).reply.status == 405)
        }
    }

    @Test("An account with a secret accepts unsigned queries only where the file says so")
    func unsigned() throws {
        let secret = try Secrets.place("00ff")
        let targets = ["/v2/d?id=1&m=0&dn=v4.shop.test", "/1/d?host=v4.shop.test", "/1/resolve?host=v4.shop.test"]
        for target in targets {
            #expect(try Served("alibaba: { secret: \(secret) }").refusal(target) == "403 UnsignedInterfaceDisabled")
            #expect(try Served("alibaba: { secret: \(secret), unsigned: true }").refusal(target) == "200 ok")
        }
    }

    @Test(
        "Invalid cipher texts are refused",
        arguments: [
            "52ab7", "52AB", "zz", "00", "000102030405060708090a0b0c0d0e0f",
            // Cut off by a block, and with an octet changed in the middle.
            "000102030405060708090a0b0c0d0e0f52ab7ad75a14eaf3e3b86f36fa09df2b662d5343777bbb7ec30eecbc117f5a40",
            "000102030405060708090a0b0c0d0e0f52ab7ad75a14eaf3e3b86f36fa09df2c662d5343777bbb7ec30eecbc117f5a40"
                + "fb3b9da7ee5d48246fff0fe3d88566a6",
        ]
    )
    func ciphers(text: String) throws {
        let key = try Secrets.place("f0e0d0c0b0a090807060504030201000")
        for mode in [1, 2] {
            let served = try Served("alibaba: { encryption_key: \(key) }")
            #expect(served.refusal("/v2/d?id=1&m=\(mode)&enc=\(text)") == "400 InvalidEncryption")
        }
    }

    @Test("Cipher text in the wrong mode, under another key or beside a name is refused")
    func wrongModes() throws {
        let good =
            "000102030405060708090a0b0c0d0e0f52ab7ad75a14eaf3e3b86f36fa09df2b662d5343777bbb7ec30eecbc117f5a40"
            + "fb3b9da7ee5d48246fff0fe3d88566a6"
        let key = try Secrets.place("f0e0d0c0b0a090807060504030201000")
        let other = try Secrets.place("f0e0d0c0b0a090807060504030201001")
        #expect(try Served("alibaba: { encryption_key: \(key) }").refusal("/v2/d?id=1&m=1&enc=\(good)") == "200 ok")
        #expect(
            try Served("alibaba: { encryption_key: \(key) }").refusal("/v2/d?id=1&m=2&enc=\(good)")
                == "400 InvalidEncryption"
        )
        #expect(
            try Served("alibaba: { encryption_key: \(key) }").refusal("/v2/d?id=1&m=1&dn=a.test&enc=\(good)")
                == "400 InvalidEncryption"
        )
        #expect(
            try Served("alibaba: { encryption_key: \(other) }").refusal("/v2/d?id=1&m=1&enc=\(good)")
                == "400 InvalidEncryption"
        )
        #expect(try Served().refusal("/v2/d?id=1&m=1&enc=\(good)") == "400 InvalidEncryption")
    }
}
#endif
