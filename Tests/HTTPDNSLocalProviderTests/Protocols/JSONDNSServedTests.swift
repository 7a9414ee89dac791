#if LocalProvider
import HTTPTypes
import Testing

@testable import HTTPDNSLocalProvider

@Suite("Local provider: JSON DNS")
struct JSONDNSServedTests {
    @Test("an alias is told with its end, and a list holds the question")
    func alias() throws {
        #expect(
            try Served().body("/resolve?name=alias.shop.test&type=AAAA")
                == #"{"AD":false,"Answer":[{"TTL":30,"data":"both.shop.test.","name":"alias.shop.test.","type":5},"#
                + #"{"TTL":30,"data":"2001:db8::10","name":"both.shop.test.","type":28}],"CD":false,"#
                + #""Question":[{"name":"alias.shop.test.","type":28}],"RA":true,"RD":true,"Status":0,"TC":false}"#
        )
    }

    @Test("a name that does not exist, and one without the type: with how long that holds")
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

    @Test("Alidns' question has no list around it, and its short form is the addresses alone")
    func alidns() throws {
        let body = try Served().body("/alidns/resolve?name=v4.shop.test&type=1")
        #expect(body.contains(#""Question":{"name":"v4.shop.test.","type":1}"#))
        #expect(try Served().body("/alidns/resolve?name=both.shop.test&short=1") == #"["192.0.2.10","192.0.2.11"]"#)
        #expect(try Served().outcome("/alidns/resolve?name=a.test").record.protocolName == "json-alidns")
    }

    @Test("Cloudflare's shares its path with DNS messages, and is chosen by Accept or ct")
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
        "what is refused",
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
