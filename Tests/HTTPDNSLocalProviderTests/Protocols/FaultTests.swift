// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if LocalProvider
import HTTPTypes
import Testing

@testable import HTTPDNSLocalProvider

struct FaultTests {
    private static let v2 = "/v2/d?id=1&m=0&dn=both.shop.test"

    @Test(
        "A failure is a bare status, a vendor's code with its status, or a DNS code",
        arguments: [
            ("503", v2, "503 status-503", ""), ("429", v2, "429 status-429", ""),
            ("ServiceLevelDeny", v2, "403 ServiceLevelDeny", #"{"code":"ServiceLevelDeny"}"#),
            ("InternalError", v2, "500 InternalError", #"{"code":"InternalError"}"#),
            ("SERVFAIL", v2, "500 SERVFAIL", #"{"code":"InternalError"}"#),
        ]
    )
    func failures(fail: String, target: String, expected: String, body: String) throws {
        let served = try Served("hosts: { both.shop.test: { fail: \(fail) } }")
        #expect(served.refusal(target) == expected)
        #expect(served.body(target) == body)
        #expect(served.outcome(target).record.hosts == ["both.shop.test"])
        #expect((served.outcome(target).reply.headerFields[.retryAfter] != nil) == (fail == "429"))
        // Other names are none the worse.
        #expect(served.refusal("/v2/d?id=1&m=0&dn=v4.shop.test") == "200 ok")
    }

    @Test("A response code is an answer in JSON DNS and DNS messages")
    func responseCodes() throws {
        let served = try Served("hosts: { \"*\": { fail: REFUSED } }")
        #expect(served.body("/resolve?name=a.test").contains(#""Status":5"#))
        #expect(served.outcome("/resolve?name=a.test").reply.status == 200)
    }

    /// In a batch the slowest name counts.
    @Test("A name's own fault wins over the longest suffix, and that wins over *")
    func choice() throws {
        let served = try Served(
            """
            hosts:
              "*": { delay: 1s }
              "*.shop.test": { delay: 2s }
              "*.inner.shop.test": { delay: 3s }
              v4.shop.test: { delay: 4s }
            """
        )
        func delay(_ names: String) -> Duration? { served.outcome("/v2/d?id=1&m=0&dn=\(names)").delay }
        #expect(delay("a.test") == .seconds(1))
        #expect(delay("both.shop.test") == .seconds(2))
        #expect(delay("a.inner.shop.test") == .seconds(3))
        #expect(delay("v4.shop.test") == .seconds(4))
        #expect(delay("a.test,both.shop.test") == .seconds(2))
    }

    @Test("Garbage is a page, noise, 10 MB, a half, or a body that was cut")
    func garbage() throws {
        func reply(_ fault: String) throws -> ServedReply {
            try Served("hosts: { both.shop.test: { \(fault) } }").outcome(Self.v2).reply
        }
        let good = try Served().outcome(Self.v2).reply.body
        #expect(try reply("garbage: html").headerFields[.contentType] == "text/html")
        #expect(try reply("garbage: noise").body != good)
        #expect(try reply("garbage: huge").body.count == 10_000_000)
        #expect(try reply("garbage: half").body == Array(good.prefix(good.count - good.count / 2)))
        for count in [0, 1, good.count, good.count + 5] {
            #expect(try reply("cut: \(count)").body == Array(good.prefix(count)))
        }
    }

    @Test("Rotation advances for each family on its own")
    func rotationByFamily() throws {
        let text = """
            version: 1
            mappings: { a.test: [192.0.2.1, 192.0.2.2, "2001:db8::1", "2001:db8::2"] }
            serve: { hosts: { "*": { rotate: single } } }
            """
        let served = try Served(text: text)
        let seen = ["A", "AAAA", "HTTPS", "A", "AAAA", "A"].map { type in
            let body = served.body("/resolve?name=a.test&type=\(type)")
            return ["192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2"].filter { body.contains("\"\($0)\"") }
        }
        #expect(seen == [["192.0.2.1"], ["2001:db8::1"], [], ["192.0.2.2"], ["2001:db8::2"], ["192.0.2.1"]])
    }

    /// Each name rotates for itself.
    @Test("Rotation returns all addresses from the next one on, or one at a time")
    func rotation() throws {
        let order = try Served("hosts: { both.shop.test: { rotate: order } }")
        let bodies = (0..<3).map { _ in order.body("/alidns/resolve?name=both.shop.test&short=1") }
        #expect(
            bodies == [
                #"["192.0.2.10","192.0.2.11"]"#, #"["192.0.2.11","192.0.2.10"]"#, #"["192.0.2.10","192.0.2.11"]"#,
            ]
        )
        let single = try Served("hosts: { \"*\": { rotate: single } }")
        let singles = (0..<3).map { _ in single.body("/alidns/resolve?name=both.shop.test&short=1") }
        #expect(singles == [#"["192.0.2.10"]"#, #"["192.0.2.11"]"#, #"["192.0.2.10"]"#])
        #expect(single.body("/alidns/resolve?name=v4.shop.test&short=1") == #"["192.0.2.20"]"#)
    }
}
#endif
