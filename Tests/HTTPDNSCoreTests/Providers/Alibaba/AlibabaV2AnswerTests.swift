// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSMessages
import Testing

@testable import HTTPDNSCore
@testable import HTTPDNSVendors

struct AlibabaV2AnswerTests {
    private func read(
        _ text: String,
        names: [String] = ["www.example.com"],
        families: HTTPDNSAddress.Families = .both
    ) throws -> [HTTPDNSName: HTTPDNSProviderAnswer] {
        let question = VendorQuery(hosts: try names.map { try HTTPDNSName($0) }, families: families)
        return try AlibabaV2Answer.read(Array(text.utf8), question: question, payload: nil)
    }

    /// The answer about `www.example.com` in an element with these members.
    private func answer(_ members: String, _ families: HTTPDNSAddress.Families = .both) throws -> HTTPDNSProviderAnswer?
    {
        try read(AlibabaBody.v2(#"{"dn":"www.example.com",\#(members)}"#), families: families)[
            HTTPDNSName("www.example.com")
        ]
    }

    private func life(_ outcome: HTTPDNSProviderAnswer.Family?) -> Duration? {
        switch outcome {
        case .addresses(_, let life, _): life
        case .noData(let life), .nameError(let life): life
        default: nil
        }
    }

    @Test("The sample of both families is read")
    func sample() throws {
        let answer = try #require(try read(AlibabaBody.v2)[HTTPDNSName("www.example.com")])
        let v4 = [AlibabaBody.address, HTTPDNSAddress(v4: 192, 0, 2, 11)]
        #expect(answer.v4 == .addresses(v4, timeToLive: .seconds(60), canonicalName: nil))
        let v6 = HTTPDNSAddress(family: .v6, high: 0x2001_0db8 << 32, low: 0x10)
        #expect(answer.v6 == .addresses([v6], timeToLive: .seconds(60), canonicalName: nil))
    }

    @Test("The sample of a batch gives one name an address and one an absence")
    func batch() throws {
        let text =
            #"{"code":"success","data":{"cip":"203.0.113.7","answers":[{"dn":"www.example.com","v4":{"ips":["192.0.2.10"],"ttl":120}},"#
            + #"{"dn":"none.example.com","v4":{"ips":[],"ttl":60,"no_ip_code":"RRNotExist"}}]}}"#
        let answers = try read(text, names: ["www.example.com", "none.example.com"], families: .v4)
        let addresses = HTTPDNSProviderAnswer(
            v4: .addresses([AlibabaBody.address], timeToLive: .seconds(120), canonicalName: nil)
        )
        #expect(answers[try HTTPDNSName("www.example.com")] == addresses)
        #expect(
            answers[try HTTPDNSName("none.example.com")] == HTTPDNSProviderAnswer(v4: .noData(timeToLive: .seconds(60)))
        )
    }

    /// Other values count as they are.
    @Test(
        "A TTL that is missing, 0, negative or no number is 60 s",
        arguments: [
            ("", 60), (#","ttl":0"#, 60), (#","ttl":-5"#, 60), (#","ttl":null"#, 60), (#","ttl":"30""#, 60),
            (#","ttl":1"#, 1), (#","ttl":30"#, 30), (#","ttl":30.9"#, 30), (#","ttl":86400"#, 86_400),
            (#","ttl":1e30"#, 4_294_967_295), (#","ttl":1e999"#, 60), (#","ttl":true"#, 60),
        ] as [(String, Int)]
    )
    func lives(member: String, seconds: Int) throws {
        let answer = try answer(#""v4":{"ips":["192.0.2.10"]\#(member)}"#, .v4)
        #expect(life(answer?.v4) == .seconds(seconds))
    }

    @Test(
        "An absence lives for a minute at most",
        arguments: [("", 60), (#","ttl":0"#, 60), (#","ttl":30"#, 30), (#","ttl":60"#, 60), (#","ttl":86400"#, 60)]
    )
    func absences(member: String, seconds: Int) throws {
        let answer = try answer(#""v4":{"ips":[]\#(member)}"#, .v4)
        #expect(answer?.v4 == .noData(timeToLive: .seconds(seconds)))
        let missing = try self.answer(#""v4":{"no_ip_code":"DomainNotExist"\#(member)}"#, .v4)
        #expect(missing?.v4 == .nameError(timeToLive: .seconds(seconds)))
    }

    @Test("The absence of one family does not affect the other, whatever its reason")
    func families() throws {
        for reason in ["RRNotExist", "DomainNotExist", "SomethingNew"] {
            let v6Missing = try answer(
                #""v4":{"ips":["192.0.2.10"],"ttl":60},"v6":{"ips":[],"ttl":60,"no_ip_code":"\#(reason)"}"#
            )
            #expect(life(v6Missing?.v4) == .seconds(60))
            #expect(v6Missing?.v6 == .noData(timeToLive: .seconds(60)))
            let v4Missing = try answer(
                #""v4":{"no_ip_code":"\#(reason)"},"v6":{"ips":["2001:db8::10"],"ttl":60}"#
            )
            #expect(v4Missing?.v4 == .noData(timeToLive: .seconds(60)))
            #expect(life(v4Missing?.v6) == .seconds(60))
        }
    }

    /// A response without any requested family is refused.
    @Test("A requested family that is left out is missing for a short time")
    func leftOut() throws {
        let v4Only = try answer(#""v4":{"ips":["192.0.2.10"],"ttl":60}"#)
        #expect(v4Only?.v6 == .noData(timeToLive: nil))
        let v6Only = try answer(#""v6":{"ips":["2001:db8::10"],"ttl":60}"#)
        #expect(v6Only?.v4 == .noData(timeToLive: nil))
        #expect(throws: VendorAnswerError.self) { try answer(#""cname":[]"#) }
        #expect(throws: VendorAnswerError.self) { try answer(#""v6":{"ips":["2001:db8::10"]}"#, .v4) }
    }

    @Test("A family that was not asked for is absent from the answer")
    func unasked() throws {
        let answer = try answer(#""v4":{"ips":["192.0.2.10"]},"v6":{"ips":["2001:db8::10"]}"#, .v4)
        #expect(answer?.v4 != nil && answer?.v6 == nil)
    }

    /// A list of nothing else is a failure.
    @Test("Text that is no address of the family is left out")
    func badAddresses() throws {
        let bad =
            #""999.1.1.1","192.0.2.010","2001:db8::1","x",7,null,"","[192.0.2.9]","192.0.2.9:80","fe80::1%eth0","1.2.3""#
        let mixed = try answer(#""v4":{"ips":[\#(bad),"192.0.2.10","192.0.2.10"]}"#, .v4)
        #expect(mixed?.v4 == .addresses([AlibabaBody.address], timeToLive: .seconds(60), canonicalName: nil))
        guard case .failed(let error) = try answer(#""v4":{"ips":[\#(bad)]}"#, .v4)?.v4 else {
            Issue.record("a list of rubbish is no failure")
            return
        }
        #expect(error.code == .badResponse)
    }

    @Test("Thousands of addresses are cut to the limit")
    func manyAddresses() throws {
        let list = (0..<5000).map { #""198.51.\#($0 / 256).\#($0 % 256)""# }.joined(separator: ",")
        guard case .addresses(let addresses, _, _) = try answer(#""v4":{"ips":[\#(list)]}"#, .v4)?.v4 else {
            Issue.record("no addresses")
            return
        }
        #expect(addresses.count == DNSResponse.maximumAddresses)
    }

    /// A name that is there twice refuses all answers.
    @Test("Names match in any spelling, and answers about other names are left out")
    func names() throws {
        let other = #"{"dn":"evil.example","v4":{"ips":["192.0.2.66"]}}"#
        let own = #"{"dn":"WWW.Example.COM.","v4":{"ips":["192.0.2.10"]}}"#
        let answers = try read(AlibabaBody.v2("\(other),\(own)"), families: .v4)
        #expect(answers.keys.map(\.description) == ["www.example.com"])
        for text in [
            "", other, #"{"v4":{"ips":["192.0.2.10"]}}"#, #"{"dn":7,"v4":{"ips":["192.0.2.10"]}}"#, "null", "7",
        ] {
            #expect(throws: VendorAnswerError.self) { try read(AlibabaBody.v2(text), families: .v4) }
        }
        #expect(throws: VendorAnswerError.self) { try read(AlibabaBody.v2("\(own),\(own)"), families: .v4) }
    }

    @Test(
        "A malformed response is refused in one line that repeats none of it",
        arguments: [
            "", "null", "[]", "7", "<html>captive</html>", "{}", #"{"code":7}"#, #"{"code":"success"}"#,
            #"{"code":"success","data":null}"#, #"{"code":"success","data":"captive"}"#,
            #"{"code":"success","data":[]}"#,
            #"{"code":"success","data":{}}"#, #"{"code":"success","data":{"answers":{}}}"#,
            #"{"code":"success","data":{"answers":null}}"#, #"{"code":"captive","data":{"answers":[]}}"#,
            #"{"code":"success","mode":1,"data":{"answers":[]}}"#, #"{"code":"success","mode":"2","data":"AAAA"}"#,
            #"{"code":"success","mode":"captive","data":{"answers":[]}}"#,
            #"{"code":"success","mode":0.5,"data":{"answers":[]}}"#,
            #"{"code":"success","code":"success","data":{"answers":[]}}"#,
        ]
    )
    func refused(text: String) {
        let error = #expect(throws: VendorAnswerError.self) { try read(text) }
        #expect(error?.description.utf8.allSatisfy { (0x20...0x7e).contains($0) } == true)
        #expect(error?.description.contains("captive") == false)
    }

    @Test(
        "The cipher mode may be a string, or missing",
        arguments: [#""mode":0,"#, #""mode":"0","#, #""mode":null,"#, ""]
    )
    func mode(member: String) throws {
        let text =
            #"{"code":"success",\#(member)"data":{"answers":[{"dn":"www.example.com","v4":{"ips":["192.0.2.10"]}}]}}"#
        #expect(try read(text).count == 1)
    }

    @Test("Fields of custom resolution are ignored, of any type")
    func extra() throws {
        for extra in [#""text""#, "{\"a\":[1]}", "null", "7"] {
            let answer = try answer(#""v4":{"ips":["192.0.2.10"],"ttl":9,"extra":\#(extra)}"#, .v4)
            #expect(life(answer?.v4) == .seconds(9))
        }
    }
}
