// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import HTTPDNSCore
@testable import HTTPDNSVendors

struct AlibabaV1AnswerTests {
    private static let v6 = HTTPDNSAddress(family: .v6, high: 0x2001_0db8 << 32, low: 0x10)
    private static let otherV6 = HTTPDNSAddress(family: .v6, high: 0x2001_0db8 << 32, low: 0x20)

    private func read(
        _ text: String,
        names: [String] = ["www.example.com"],
        families: HTTPDNSAddress.Families = .both
    ) throws -> [HTTPDNSName: HTTPDNSProviderAnswer] {
        let question = VendorQuery(hosts: try names.map { try HTTPDNSName($0) }, families: families)
        return try AlibabaV1Answer.read(Array(text.utf8), question: question)
    }

    private static func addresses(_ addresses: [HTTPDNSAddress], _ seconds: Int) -> HTTPDNSProviderAnswer.Family {
        .addresses(addresses, timeToLive: .seconds(seconds), canonicalName: nil)
    }

    @Test("An answer lives for its ttl of 26 s, never for its origin_ttl of 300 s")
    func sample() throws {
        let answer = try read(AlibabaBody.v1)[HTTPDNSName("www.example.com")]
        #expect(answer?.v4 == Self.addresses([AlibabaBody.address, HTTPDNSAddress(v4: 192, 0, 2, 11)], 26))
        #expect(answer?.v6 == Self.addresses([Self.v6], 26))
    }

    @Test("An answer with origin_ttl alone lives for 60 s")
    func originOnly() throws {
        let text = #"{"host":"www.example.com","ips":["192.0.2.10"],"origin_ttl":300}"#
        #expect(
            try read(text, families: .v4)[HTTPDNSName("www.example.com")]?.v4
                == Self.addresses([AlibabaBody.address], 60)
        )
    }

    /// Rows of one name are merged. Rows of type 28 are IPv6.
    @Test("Both forms of a batch are read, also mixed")
    func batch() throws {
        let text = """
            {"dns":[{"host":"www.example.com","client_ip":"203.0.113.7","ips":["192.0.2.10"],"ttl":106,"origin_ttl":120},
            {"host":"img.example.com","client_ip":"203.0.113.7","ips":["192.0.2.20"],"type":1,"ttl":46,"origin_ttl":60},
            {"host":"img.example.com","client_ip":"203.0.113.7","ips":["2001:db8::20"],"type":28,"ttl":46}]}
            """
        let answers = try read(text, names: ["www.example.com", "img.example.com"])
        let www = answers[try HTTPDNSName("www.example.com")]
        #expect(www?.v4 == Self.addresses([AlibabaBody.address], 106) && www?.v6 == .noData(timeToLive: .seconds(60)))
        let img = answers[try HTTPDNSName("img.example.com")]
        #expect(img?.v4 == Self.addresses([HTTPDNSAddress(v4: 192, 0, 2, 20)], 46))
        #expect(img?.v6 == Self.addresses([Self.otherV6], 46))
    }

    /// The shortest time to live of several rows counts.
    @Test("The form with ips and ipsv6 in one element is read")
    func oneElement() throws {
        let text = """
            {"dns":[{"host":"www.example.com","ips":["192.0.2.10"],"ipsv6":["2001:db8::10"],"ttl":50},
            {"host":"www.example.com","ips":["2001:db8::20"],"type":28,"ttl":40}]}
            """
        let answer = try read(text)[HTTPDNSName("www.example.com")]
        #expect(answer?.v4 == Self.addresses([AlibabaBody.address], 40))
        #expect(answer?.v6 == Self.addresses([Self.v6, Self.otherV6], 40))
    }

    /// The response has empty lists.
    @Test("A name that the account does not have is no data, for at most a minute")
    func unknown() throws {
        let text = #"{"host":"www.example.com","ips":[],"ipsv6":[],"ttl":600,"client_ip":"203.0.113.7"}"#
        let answer = try read(text)[HTTPDNSName("www.example.com")]
        #expect(answer?.v4 == .noData(timeToLive: .seconds(60)) && answer?.v6 == .noData(timeToLive: .seconds(60)))
    }

    @Test("One family without addresses does not affect the other")
    func families() throws {
        let v6Missing = try read(#"{"host":"www.example.com","ips":["192.0.2.10"],"ipsv6":[],"ttl":9}"#)
        #expect(v6Missing.values.first?.v4 == Self.addresses([AlibabaBody.address], 9))
        #expect(v6Missing.values.first?.v6 == .noData(timeToLive: .seconds(9)))
        let v4Missing = try read(#"{"host":"www.example.com","ips":[],"ipsv6":["2001:db8::10"],"ttl":9}"#)
        #expect(v4Missing.values.first?.v4 == .noData(timeToLive: .seconds(9)))
        #expect(v4Missing.values.first?.v6 == Self.addresses([Self.v6], 9))
        let v6Alone = try read(#"{"host":"www.example.com","ips":[],"ipsv6":["2001:db8::10"],"ttl":9}"#, families: .v6)
        #expect(v6Alone.values.first?.v4 == nil)
    }

    @Test("Text that is no address of its list's family is left out")
    func badAddresses() throws {
        let text =
            #"{"host":"www.example.com","ips":["2001:db8::10","192.0.2.10","1.2.3"],"ipsv6":["192.0.2.9"],"ttl":9}"#
        let answer = try read(text)[HTTPDNSName("www.example.com")]
        #expect(answer?.v4 == Self.addresses([AlibabaBody.address], 9))
        guard case .failed? = answer?.v6 else {
            Issue.record("IPv4 in the list for IPv6 is no failure")
            return
        }
    }

    @Test(
        "A malformed response is refused in one line that repeats none of it",
        arguments: [
            "", "null", "[]", "<html>captive</html>", "{}", #"{"host":"www.example.com"}"#, #"{"ips":["192.0.2.10"]}"#,
            #"{"host":"captive.example","ips":["192.0.2.10"]}"#, #"{"host":"www.example.com","ips":"192.0.2.10"}"#,
            #"{"host":["www.example.com"],"ips":["192.0.2.10"]}"#, #"{"dns":{}}"#, #"{"dns":[]}"#, #"{"dns":null}"#,
            #"{"dns":[null,7,"captive",[],{}]}"#, #"{"host":"www.example.com","host":"b.test","ips":[]}"#,
        ]
    )
    func refused(text: String) {
        let error = #expect(throws: VendorAnswerError.self) { try read(text) }
        #expect(error?.description.utf8.allSatisfy { (0x20...0x7e).contains($0) } == true)
        #expect(error?.description.contains("captive") == false)
    }
}
