// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSMessages
import Testing

/// RFC 9460 sections 2.2, 2.4.3, 7 and 8, over the octets of one record.
struct ServiceRecordTests {
    typealias Parameters = [(UInt16, [UInt8])]

    private static let h2: [UInt8] = [2, 0x68, 0x32]

    /// The binding of a record with these parameters; nil when it is void.
    private func binding(_ parameters: Parameters) throws -> HTTPDNSProviderAnswer.HTTPSRecord? {
        let outcome = try serviceOutcome { $0.service(parameters: parameters) }
        guard case .bindings(let bindings, _) = outcome else { return nil }
        #expect(bindings.count == 1)
        return bindings.first
    }

    /// Why the record with this data is malformed; nil when it is not.
    private func fault(_ data: [UInt8]) throws -> DNSMessageError.Code? {
        var builder = DNSMessageBuilder(to: .https("one.test"))
        builder.append(DNSMessageBuilder.record(DNSMessageBuilder.name("one.test"), type: 65, data: data))
        let response = try DNSResponse(parsing: builder.octets, to: .https("one.test"))
        guard case .malformedService(let error) = response.answers.first?.content else { return nil }
        #expect(try response.serviceOutcome() == .none(timeToLive: .seconds(60)))
        return error.code
    }

    private func fault(_ parameters: Parameters) throws -> DNSMessageError.Code? {
        try fault([0, 1, 0] + DNSMessageBuilder.parameters(parameters))
    }

    @Test("All parameters are read as they were written")
    func all() throws {
        let v6: [UInt8] = [0x20, 1, 0x0d, 0xb8] + [UInt8](repeating: 0, count: 11) + [7]
        let parameters: Parameters = [
            (0, [0, 1, 0, 3]), (1, Self.h2 + [2, 0x68, 0x33]), (3, [0x20, 0xfb]),
            (4, [203, 0, 113, 7, 203, 0, 113, 8]),
            (5, [0, 1, 2]), (6, v6), (667, [1, 2, 3]),
        ]
        var expected = HTTPDNSProviderAnswer.HTTPSRecord(
            priority: 1,
            applicationProtocols: ["h2", "h3", "http/1.1"],
            port: 8443,
            v4Hints: [HTTPDNSAddress(v4: 203, 0, 113, 7), HTTPDNSAddress(v4: 203, 0, 113, 8)],
            v6Hints: [try #require(HTTPDNSAddress("2001:db8::7"))]
        )
        expected.offersEncryptedClientHello = true
        #expect(try binding(parameters) == expected)
    }

    @Test("Without parameters a record means HTTP/1.1 at the owner and the URL's port")
    func none() throws {
        #expect(try binding([]) == HTTPDNSProviderAnswer.HTTPSRecord(priority: 1, applicationProtocols: ["http/1.1"]))
    }

    @Test(
        "A record with a value of another form than its key's is malformed",
        arguments: [
            ("mandatory: no key", [(0, [])]),
            ("mandatory: an odd number of octets", [(0, [0, 1, 0]), (1, h2)]),
            ("mandatory: lists itself", [(0, [0, 0])]),
            ("mandatory: not in order", [(0, [0, 3, 0, 1]), (1, h2), (3, [1, 187])]),
            ("mandatory: a key twice", [(0, [0, 1, 0, 1]), (1, h2)]),
            ("alpn: no protocol", [(1, [])]),
            ("alpn: an empty protocol", [(1, [0])]),
            ("alpn: an empty protocol after a good one", [(1, h2 + [0])]),
            ("alpn: a protocol that is longer than the rest", [(1, [3, 0x68, 0x32])]),
            ("no-default-alpn with a value", [(1, h2), (2, [0])]),
            ("port of no octet", [(3, [])]),
            ("port of 1 octet", [(3, [187])]),
            ("port of 3 octets", [(3, [0, 1, 187])]),
            ("ipv4hint: empty", [(4, [])]),
            ("ipv4hint: 3 octets", [(4, [127, 0, 0])]),
            ("ipv4hint: 6 octets", [(4, [127, 0, 0, 1, 127, 0])]),
            ("ipv6hint: empty", [(6, [])]),
            ("ipv6hint: 4 octets", [(6, [127, 0, 0, 1])]),
            ("ipv6hint: 24 octets", [(6, [UInt8](repeating: 1, count: 24))]),
            ("keys not in order", [(3, [1, 187]), (1, h2)]),
            ("a key twice", [(3, [1, 187]), (3, [1, 187])]),
            ("an unknown key twice", [(667, []), (667, [])]),
        ] as [(String, Parameters)]
    )
    func malformed(what: String, parameters: Parameters) throws {
        #expect(try fault(parameters) == .badService, "\(what)")
    }

    /// A target must be an uncompressed name.
    @Test(
        "A record that ends early or has an invalid target is malformed",
        arguments: [
            ([], .truncated),
            ([0], .truncated),
            ([0, 1], .truncated),
            ([0, 1, 0, 0], .truncated),
            ([0, 1, 0, 0, 1], .truncated),
            ([0, 1, 0, 0, 1, 0], .truncated),
            ([0, 1, 0, 0, 1, 0, 3, 2, 0x68], .truncated),
            ([0, 1, 3, 0x6f, 0x6e], .truncated),
            ([0, 1, 3, 0x6f, 0x6e, 0x65], .truncated),
            // A pointer to the question's name, which is a good name.
            ([0, 1, 0xc0, 12], .badPointer),
            ([0, 1, 3, 0x6f, 0x6e, 0x65, 0xc0, 12], .badPointer),
            ([0, 0, 0xc0, 12], .badPointer),
            ([0, 1, 0x40, 0], .badLabel),
            ([0, 1, 0x80, 0], .badLabel),
        ] as [([UInt8], DNSMessageError.Code)]
    )
    func cut(data: [UInt8], expected: DNSMessageError.Code) throws {
        #expect(try fault(data) == expected)
    }

    @Test("A target of 255 octets is valid, and one of 256 malformed")
    func longTarget() throws {
        let labels = (0..<3).flatMap { _ in [63] + [UInt8](repeating: 0x61, count: 63) }
        let longest: [UInt8] = [0, 1] + labels + [61] + [UInt8](repeating: 0x61, count: 61) + [0]
        #expect(longest.count == 2 + 255)
        #expect(try fault(longest) == nil)
        #expect(try fault([0, 1] + labels + [62] + [UInt8](repeating: 0x61, count: 62) + [0]) == .nameTooLong)
    }

    @Test(
        "A record with conflicting or unusable parameters is void",
        arguments: [
            ("mandatory: alpn is not there", [(0, [0, 1])]),
            ("mandatory: an unknown key", [(0, [2, 0x9b]), (667, [])]),
            ("mandatory: an unknown key beside a known one", [(0, [0, 1, 2, 0x9b]), (1, h2), (667, [])]),
            ("mandatory: ech, which is not spoken", [(0, [0, 5]), (5, [0])]),
            ("no-default-alpn without alpn", [(2, [])]),
            ("port 0", [(3, [0, 0])]),
        ] as [(String, Parameters)]
    )
    func void(what: String, parameters: Parameters) throws {
        #expect(try fault(parameters) == nil, "\(what)")
        #expect(try serviceOutcome { $0.service(parameters: parameters) } == .none(timeToLive: .seconds(60)), "\(what)")
        // Void alone: the record beside it is used.
        let both = try serviceOutcome {
            $0.service(parameters: parameters)
            $0.service(priority: 2, target: "two.test")
        }
        let other = HTTPDNSProviderAnswer.HTTPSRecord(priority: 2, target: try HTTPDNSName("two.test"))
        #expect(both == .bindings([other], timeToLive: .seconds(60)), "\(what)")
    }

    @Test(
        "A record of known, consistent parameters is used",
        arguments: [
            ([(0, [0, 1, 0, 2, 0, 3, 0, 4, 0, 6])], false),
            ([(0, [0, 1]), (1, h2)], true),
            ([(1, h2), (2, [])], true),
            ([(1, [255] + [UInt8](repeating: 0x61, count: 255))], true),
            ([(667, [1]), (65_535, [])], true),
        ] as [(Parameters, Bool)]
    )
    func used(parameters: Parameters, expected: Bool) throws {
        #expect((try binding(parameters) != nil) == expected)
    }

    /// HTTP/1.1 is listed once, also when alpn names it without that parameter.
    @Test("The parameter no-default-alpn leaves HTTP/1.1 out, unless alpn names it")
    func defaultProtocol() throws {
        let http: [UInt8] = [8] + Array("http/1.1".utf8)
        #expect(try binding([(1, Self.h2), (2, [])])?.applicationProtocols == ["h2"])
        #expect(try binding([(1, Self.h2 + http), (2, [])])?.applicationProtocols == ["h2", "http/1.1"])
        #expect(try binding([(1, http)])?.applicationProtocols == ["http/1.1"])
        #expect(try binding([(1, http)])?.namesProtocols == true && binding([])?.namesProtocols == false)
        #expect(try binding([(1, [2, 0xff, 0])])?.applicationProtocols == ["\u{ff}\u{0}", "http/1.1"])
    }

    @Test("Of thousands of protocols and hints 16 are kept, each hint once")
    func bounds() throws {
        let many = try binding([(1, [UInt8](repeating: 1, count: 60_000))])
        #expect(many?.applicationProtocols.count == 17)
        let hints = (0..<10_000).flatMap { [127, 0, UInt8($0 / 2 % 256), 1] as [UInt8] }
        let hinted = try binding([(4, hints)])
        #expect(hinted?.v4Hints == (0..<16).map { HTTPDNSAddress(v4: 127, 0, $0, 1) })
    }

    @Test("In alias mode parameters are ignored, even malformed ones")
    func aliasParameters() throws {
        var builder = DNSMessageBuilder(to: .https("one.test"))
        let data = [0, 0] + DNSMessageBuilder.name("two.test") + [9, 9, 9]
        builder.append(DNSMessageBuilder.record(DNSMessageBuilder.name("one.test"), type: 65, data: data))
        let outcome = try DNSResponse(parsing: builder.octets, to: .https("one.test")).serviceOutcome()
        #expect(outcome == .alias(try HTTPDNSName("two.test"), timeToLive: .seconds(60)))
    }
}
