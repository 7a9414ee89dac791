// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSMessages
import Testing

struct OwnerRuleTests {
    private static let one = HTTPDNSAddress(v4: 127, 0, 0, 1)

    private func response(_ build: (inout DNSMessageBuilder) -> Void) -> DNSMessageBuilder {
        var builder = DNSMessageBuilder(to: .a("one.test"))
        build(&builder)
        return builder
    }

    private func code(_ builder: DNSMessageBuilder, _ question: DNSQuestion = .a("one.test")) -> DNSMessageError.Code? {
        do {
            _ = try DNSResponse(parsing: builder.octets, to: question).outcome()
            return nil
        } catch {
            return error.code
        }
    }

    @Test("An address of another owner is not the answer")
    func foreignOwner() throws {
        let builder = response { $0.address("two.test", [127, 0, 0, 1]) }
        #expect(try outcome(builder) == .noData(timeToLive: nil))
    }

    @Test("An address of another owner beside the answer is ignored, with its TTL")
    func foreignBeside() throws {
        let builder = response {
            $0.address("two.test", [127, 0, 0, 9], timeToLive: 1)
            $0.address("one.test", [127, 0, 0, 1])
            $0.alias("three.test", "one.test", timeToLive: 1)
        }
        #expect(try outcome(builder) == .addresses([Self.one], timeToLive: .seconds(60), canonicalName: nil))
    }

    @Test("Owners are compared without case")
    func ownerCase() throws {
        let builder = response { $0.address("OnE.TEST", [127, 0, 0, 1]) }
        #expect(try outcome(builder) == .addresses([Self.one], timeToLive: .seconds(60), canonicalName: nil))
    }

    @Test("An alias chain is followed in any order of its records")
    func outOfOrder() throws {
        let builder = response {
            $0.address("three.test", [127, 0, 0, 1], timeToLive: 50)
            $0.alias("two.test", "three.test", timeToLive: 40)
            $0.alias("one.test", "two.test", timeToLive: 45)
        }
        let expected = HTTPDNSProviderAnswer.Family.addresses(
            [Self.one],
            timeToLive: .seconds(40),
            canonicalName: try HTTPDNSName("three.test")
        )
        #expect(try outcome(builder) == expected)
    }

    @Test("An address in the middle of a chain is not the chain's answer")
    func middleOfChain() throws {
        let builder = response {
            $0.alias("one.test", "two.test")
            $0.address("two.test", [127, 0, 0, 9])
            $0.alias("two.test", "three.test")
            $0.address("three.test", [127, 0, 0, 1])
        }
        let three = try HTTPDNSName("three.test")
        #expect(try outcome(builder) == .addresses([Self.one], timeToLive: .seconds(60), canonicalName: three))
    }

    @Test("Of two aliases of one name the first is followed, and must lead to addresses")
    func twoAliases() throws {
        var builder = response {
            $0.alias("one.test", "two.test")
            $0.alias("one.test", "x.test")
            $0.address("x.test", [127, 0, 0, 9])
        }
        #expect(code(builder) == .ambiguousAlias)
        builder.responseCode = 3
        #expect(code(builder) == .ambiguousAlias)
        builder.responseCode = 0
        builder.address("two.test", [127, 0, 0, 1])
        let two = try HTTPDNSName("two.test")
        #expect(try outcome(builder) == .addresses([Self.one], timeToLive: .seconds(60), canonicalName: two))
    }

    @Test("Equal aliases of one name count as one, with the shortest time to live")
    func equalAliases() throws {
        let builder = response {
            $0.alias("one.test", "two.test", timeToLive: 30)
            $0.alias("one.test", "TWO.test", timeToLive: 20)
            $0.address("two.test", [127, 0, 0, 1])
        }
        let two = try HTTPDNSName("two.test")
        #expect(try outcome(builder) == .addresses([Self.one], timeToLive: .seconds(20), canonicalName: two))
    }

    @Test("An address beside an alias is not used, and no proof that there is none")
    func aliasWithAddress() throws {
        var builder = response {
            $0.address("one.test", [127, 0, 0, 9])
            $0.alias("one.test", "two.test")
            $0.alias("one.test", "two.test")
        }
        #expect(code(builder) == .ambiguousAlias)
        builder.address("two.test", [127, 0, 0, 1])
        let two = try HTTPDNSName("two.test")
        #expect(try outcome(builder) == .addresses([Self.one], timeToLive: .seconds(60), canonicalName: two))
    }

    @Test("Two aliases of a name outside the chain do no harm")
    func foreignAliases() throws {
        let builder = response {
            $0.alias("x.test", "y.test")
            $0.alias("x.test", "z.test")
            $0.address("one.test", [127, 0, 0, 1])
        }
        #expect(try outcome(builder) == .addresses([Self.one], timeToLive: .seconds(60), canonicalName: nil))
    }

    @Test(
        "A loop of aliases refuses the response",
        arguments: [(1, .aliasLoop), (2, .aliasLoop), (9, .aliasLoop), (20, .aliasChainTooLong)]
            as [(Int, DNSMessageError.Code)]
    )
    func loop(length: Int, expected: DNSMessageError.Code) {
        let builder = response {
            for index in 0..<length {
                let next = (index + 1) % length
                $0.alias(index == 0 ? "one.test" : "n\(index).test", next == 0 ? "one.test" : "n\(next).test")
            }
        }
        #expect(code(builder) == expected)
    }

    @Test(
        "Chains of up to 16 aliases are followed, longer ones are refused",
        arguments: [(1, nil), (16, nil), (17, .aliasChainTooLong), (40, .aliasChainTooLong)]
            as [(Int, DNSMessageError.Code?)]
    )
    func hops(length: Int, expected: DNSMessageError.Code?) {
        func name(_ index: Int) -> String { index == 0 ? "one.test" : "n\(index).test" }
        var builder = response {
            for index in 0..<length { $0.alias(name(index), name(index + 1)) }
        }
        builder.address(name(length), [127, 0, 0, 1])
        #expect(code(builder) == expected)
    }

    @Test("A chain whose end has no address is no data, bounded by its aliases' TTL")
    func emptyEnd() throws {
        let builder = response {
            $0.alias("one.test", "two.test", timeToLive: 3)
            $0.startOfAuthority("test", timeToLive: 100, minimum: 90)
        }
        #expect(try outcome(builder) == .noData(timeToLive: .seconds(3)))
    }

    /// The other sections are the authority and the additional section.
    @Test("Addresses of the other family or of another section do not count")
    func otherPlaces() throws {
        let builder = response {
            $0.address("one.test", [UInt8](repeating: 0, count: 16))
            $0.address("one.test", [127, 0, 0, 1], in: .authority)
            $0.address("one.test", [127, 0, 0, 1], in: .additional)
        }
        #expect(try outcome(builder) == .noData(timeToLive: nil))
    }

    /// NXDOMAIN with an address for that name is refused.
    @Test("NXDOMAIN behind an alias says that the alias leads nowhere")
    func nameError() throws {
        var builder = response { $0.alias("one.test", "two.test") }
        builder.responseCode = 3
        #expect(try outcome(builder) == .nameError(timeToLive: nil))
        builder.address("x.test", [127, 0, 0, 1])
        #expect(try outcome(builder) == .nameError(timeToLive: nil))
        builder.address("two.test", [127, 0, 0, 1])
        #expect(code(builder) == .contradiction)
    }

    @Test("16 different addresses are kept in order, with the time to live of all")
    func manyAddresses() throws {
        let builder = response {
            for index in 0..<40 {
                $0.address("one.test", [10, 0, 0, UInt8(index / 2)], timeToLive: index == 39 ? 7 : 60)
            }
        }
        let expected = (0..<16).map { HTTPDNSAddress(v4: 10, 0, 0, $0) }
        #expect(try outcome(builder) == .addresses(expected, timeToLive: .seconds(7), canonicalName: nil))
    }

    @Test("A canonical name that is no host name is left out; the addresses still count")
    func strangeCanonicalName() throws {
        var builder = DNSMessageBuilder(to: .a("one.test"))
        let strange: [UInt8] = [4, 0x61, 0x2e, 0x62, 0x20, 0]
        builder.append(DNSMessageBuilder.record(DNSMessageBuilder.name("one.test"), type: 5, data: strange))
        builder.append(DNSMessageBuilder.record(strange, type: 1, data: [127, 0, 0, 1]))
        #expect(try outcome(builder) == .addresses([Self.one], timeToLive: .seconds(60), canonicalName: nil))
    }
}

struct TimeToLiveTests {
    private static let one = HTTPDNSAddress(v4: 127, 0, 0, 1)

    /// A TTL with the upper bit set is a long one.
    @Test(
        "Any 32-bit TTL gives a life between 0 and 7 days",
        arguments: [
            (0, 0), (1, 1), (604_800, 604_800), (604_801, 604_800), (0x7fff_ffff, 604_800), (0x8000_0000, 604_800),
            (0xffff_ffff, 604_800),
        ] as [(UInt32, Int)]
    )
    func range(value: UInt32, expected: Int) throws {
        var builder = DNSMessageBuilder(to: .a("one.test"))
        builder.address("one.test", [127, 0, 0, 1], timeToLive: value)
        #expect(try outcome(builder) == .addresses([Self.one], timeToLive: .seconds(expected), canonicalName: nil))
    }

    @Test("The lowest TTL of the chain counts, and nothing outside it")
    func least() throws {
        var builder = DNSMessageBuilder(to: .a("one.test"))
        builder.alias("one.test", "two.test", timeToLive: 20)
        builder.address("two.test", [127, 0, 0, 1], timeToLive: 90)
        builder.address("two.test", [127, 0, 0, 2], timeToLive: 30)
        builder.startOfAuthority("test", timeToLive: 1, minimum: 1)
        builder.options()
        let expected = HTTPDNSProviderAnswer.Family.addresses(
            [Self.one, HTTPDNSAddress(v4: 127, 0, 0, 2)],
            timeToLive: .seconds(20),
            canonicalName: try HTTPDNSName("two.test")
        )
        #expect(try outcome(builder) == expected)
    }

    @Test(
        "A negative answer lives for the lesser of the SOA's TTL and its MINIMUM",
        arguments: [
            (100, 30, 30), (30, 100, 30), (0, 100, 0), (100, 0, 0), (0xffff_ffff, 0x8000_0000, 604_800),
        ] as [(UInt32, UInt32, UInt32)],
        [0, 3] as [UInt16]
    )
    func negative(lives: (UInt32, UInt32, UInt32), code: UInt16) throws {
        var builder = DNSMessageBuilder(to: .a("one.test"))
        builder.responseCode = code
        builder.startOfAuthority("test", timeToLive: lives.0, minimum: lives.1)
        let expected: HTTPDNSProviderAnswer.Family =
            code == 0 ? .noData(timeToLive: .seconds(lives.2)) : .nameError(timeToLive: .seconds(lives.2))
        #expect(try outcome(builder) == expected)
    }

    @Test(
        "Without an SOA of an enclosing zone a negative answer has no TTL",
        arguments: ["", "other", "x.one.test"]
    )
    func foreignAuthority(owner: String) throws {
        var builder = DNSMessageBuilder(to: .a("one.test"))
        builder.responseCode = 3
        if !owner.isEmpty { builder.startOfAuthority(owner, timeToLive: 10, minimum: 10) }
        #expect(try outcome(builder) == .nameError(timeToLive: nil))
    }

    @Test("An SOA record in the answer section does not vouch for an absence")
    func misplacedAuthority() throws {
        var builder = DNSMessageBuilder(to: .a("one.test"))
        let data: [UInt8] = [0, 0] + [UInt8](repeating: 1, count: 20)
        builder.append(DNSMessageBuilder.record(DNSMessageBuilder.name("test"), type: 6, data: data))
        #expect(try outcome(builder) == .noData(timeToLive: nil))
    }
}
