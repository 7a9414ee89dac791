// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSMessages
import Testing

@testable import HTTPDNSCore
@testable import HTTPDNSVendors

struct TencentAnswerTests {
    private static let client = "|203.0.113.7"

    private func read(
        _ text: String,
        _ families: HTTPDNSAddress.Families = .v4,
        names: [String] = ["www.example.com"]
    ) throws -> [String: HTTPDNSProviderAnswer] {
        let question = VendorQuery(hosts: try names.map { try HTTPDNSName($0) }, families: families)
        let answers = try TencentAnswer.read(Array(text.utf8), question: question)
        return Dictionary(uniqueKeysWithValues: answers.map { ($0.key.description, $0.value) })
    }

    private func one(_ lists: String, _ families: HTTPDNSAddress.Families = .v4) throws -> HTTPDNSProviderAnswer {
        try #require(try read("www.example.com.:\(lists)\(Self.client)", families)["www.example.com"])
    }

    private func addresses(_ texts: String..., life: Int64) -> HTTPDNSProviderAnswer.Family {
        .addresses(texts.compactMap { HTTPDNSAddress($0) }, timeToLive: .seconds(life), canonicalName: nil)
    }

    private let nothing = HTTPDNSProviderAnswer.Family.noData(timeToLive: .seconds(60))

    private func isFailure(_ outcome: HTTPDNSProviderAnswer.Family?) -> Bool {
        if case .failed(let error)? = outcome { error.code == .badResponse } else { false }
    }

    /// With a time to live, with and without names.
    @Test("The documents' samples are read: lists, both families and batches")
    func samples() throws {
        let v4 = addresses("192.0.2.4", "192.0.2.5", life: 120)
        #expect(try read("192.0.2.4;192.0.2.5,120|203.0.113.7") == ["www.example.com": HTTPDNSProviderAnswer(v4: v4)])
        #expect(
            try read("192.0.2.4;192.0.2.5,120-2001:db8::4;2001:db8::5,120|203.0.113.7", .both)
                == [
                    "www.example.com": HTTPDNSProviderAnswer(
                        v4: v4,
                        v6: addresses("2001:db8::4", "2001:db8::5", life: 120)
                    )
                ]
        )
        #expect(try one("192.0.2.4;192.0.2.5,120") == HTTPDNSProviderAnswer(v4: v4))
        let batch = "a.example.com.:0\nb.example.com.:192.0.2.8,180\nc.example.com.:192.0.2.9,60|203.0.113.7"
        #expect(
            try read(batch, names: ["a.example.com", "b.example.com", "c.example.com"])
                == [
                    "a.example.com": HTTPDNSProviderAnswer(v4: nothing),
                    "b.example.com": HTTPDNSProviderAnswer(v4: addresses("192.0.2.8", life: 180)),
                    "c.example.com": HTTPDNSProviderAnswer(v4: addresses("192.0.2.9", life: 60)),
                ]
        )
    }

    /// It is `0`, an empty list, nothing but the name, or nothing at all.
    @Test(
        "An absence has four forms and lives for a minute",
        arguments: [
            "www.example.com.:0", "www.example.com.:", "www.example.com.:;", "www.example.com", "www.example.com.",
            "WWW.Example.com", "", "0", "www.example.com.:0,600",
        ]
    )
    func absences(text: String) throws {
        for families in [HTTPDNSAddress.Families.v4, .v6] {
            let answer = try #require(try read(text + Self.client, families).values.first)
            #expect((families == .v4 ? answer.v4 : answer.v6) == nothing)
            #expect((families == .v4 ? answer.v6 : answer.v4) == nil)
        }
        #expect(try read(text + Self.client, .both).values.first == HTTPDNSProviderAnswer(v4: nothing, v6: nothing))
    }

    @Test("A family without addresses does not affect the other, whichever it is")
    func oneFamily() throws {
        let v4 = addresses("192.0.2.5", life: 120)
        let v6 = addresses("2001:db8::5", life: 90)
        #expect(try one("192.0.2.5,120-0", .both) == HTTPDNSProviderAnswer(v4: v4, v6: nothing))
        #expect(try one("0-2001:db8::5,90", .both) == HTTPDNSProviderAnswer(v4: nothing, v6: v6))
        #expect(try one("0-0", .both) == HTTPDNSProviderAnswer(v4: nothing, v6: nothing))
        #expect(try one("0,20-0,30", .both).v4 == .noData(timeToLive: .seconds(20)))
        #expect(try one("2001:db8::5,90", .v6) == HTTPDNSProviderAnswer(v6: v6))
    }

    @Test("A missing or broken part fails its own family alone, and is no absence")
    func brokenFamily() throws {
        let v4 = addresses("192.0.2.5", life: 120)
        for lists in ["192.0.2.5,120", "192.0.2.5,120-2001:db8::5,x", "192.0.2.5,120-192.0.2.6,60"] {
            let answer = try one(lists, .both)
            #expect(answer.v4 == v4 && isFailure(answer.v6), "\(lists)")
        }
        #expect(isFailure(try one("192.0.2.5,120-2001:db8::5,90").v4))
        let many = try one("192.0.2.5,1-2001:db8::5,1-192.0.2.6,1", .both)
        #expect(isFailure(many.v4) && isFailure(many.v6))
    }

    /// A list of nothing else fails.
    @Test("Text that is no address of the family is left out of a list")
    func addresses() throws {
        let bad = "192.0.2.256;192.0.02.1;1.2.3;2001:db8::1;www.example.com;[::1];fe80::1%1;192.0.2.10 "
        #expect(try one("\(bad);192.0.2.7;192.0.2.7,60").v4 == addresses("192.0.2.7", life: 60))
        #expect(isFailure(try one("\(bad),60").v4))
        let many = (0..<2000).map { "10.0.\($0 / 256).\($0 % 256)" }.joined(separator: ";")
        guard case .addresses(let kept, _, _)? = try one(many).v4 else { throw VendorAnswerError("no addresses") }
        #expect(kept.count == DNSResponse.maximumAddresses)
    }

    /// One that is no number fails the family.
    @Test(
        "A TTL that is missing or 0 is a minute",
        arguments: [
            ("", 60), (",0", 60), (",1", 1), (",4294967296", Int64(UInt32.max)), (",", nil), (",x", nil), (",1,2", nil),
            (",+1", nil), (",99999999999", nil), (",1.5", nil),
        ] as [(String, Int64?)]
    )
    func lives(text: String, life: Int64?) throws {
        let outcome = try one("192.0.2.5\(text)").v4
        if let life { #expect(outcome == addresses("192.0.2.5", life: life)) } else { #expect(isFailure(outcome)) }
    }

    /// Unknown names are ignored.
    @Test("Names are compared as names, and a repeated one is refused")
    func names() throws {
        let text = "other.test.:198.51.100.1,60\r\nWWW.EXAMPLE.com.:192.0.2.5,60\r\n\r\nb.test.:0|2001:db8::7\r\n"
        let answers = try read(text, names: ["www.example.com", "b.test", "c.test"])
        #expect(Set(answers.keys) == ["www.example.com", "b.test"])
        #expect(throws: VendorAnswerError.self) { try read("other.test.:198.51.100.1,60\(Self.client)") }
        #expect(throws: VendorAnswerError.self) {
            try read("www.example.com.:192.0.2.5,60\nwww.example.com.:192.0.2.6,60\(Self.client)")
        }
        // A list without a name could be about any of them.
        #expect(throws: VendorAnswerError.self) { try read("192.0.2.5,60\(Self.client)", names: ["a.test", "b.test"]) }
        #expect(throws: VendorAnswerError.self) { try read("192.0.2.5,60\n192.0.2.6,60\(Self.client)") }
    }

    @Test(
        "A text without the client's address at its end is no answer",
        arguments: [
            "", "|", "192.0.2.5", "192.0.2.5,60", "www.example.com.:192.0.2.5,60", "www.example.com.:192.0.2.5,60|",
            "www.example.com.:192.0.2.5,60|203.0.113", "www.example.com.:192.0.2.5,60|203.0.113.7|",
            "www.example.com.:192.0.2.5,60|203.0.113.7 x", "www.example.com.:192.0.2.5,60|é", "\0|203.0.113.7",
            "<html>|203.0.113.7</html>",
        ]
    )
    func incomplete(text: String) {
        #expect(throws: VendorAnswerError.self) { try read(text) }
    }
}
