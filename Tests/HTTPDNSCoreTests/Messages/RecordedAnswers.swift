// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSMessages
import ServerRig
import Testing

/// Answers as BIND 9.18.49 gave them over HTTPS.
struct RecordedAnswer: Sendable, CustomTestStringConvertible {
    let name: String
    let type: DNSRecordType
    let hex: String

    var testDescription: String { "\(name) \(type)" }
    var question: DNSQuestion { type == .a ? .a(name) : .aaaa(name) }
    var octets: [UInt8] { [UInt8](hexadecimal: hex) }

    static let multiple = RecordedAnswer(
        name: "multi.test",
        type: .a,
        hex: "000085000001000300000001056d756c746904746573740000010001c00c000100010000003c00047f000002c00c0001"
            + "00010000003c00047f000003c00c000100010000003c00047f00000400002904d0000000000000"
    )
    static let ipv6 = RecordedAnswer(
        name: "dual.test",
        type: .aaaa,
        hex: "000085000001000100000001046475616c047465737400001c0001c00c001c00010000003c0010000000000000000000"
            + "0000000000000100002904d0000000000000"
    )
    /// Three aliases with the times to live 30, 1 and 20, then an address with 60.
    static let aliases = RecordedAnswer(
        name: "c1.test",
        type: .a,
        hex: "00008500000100040000000102633104746573740000010001c00c000500010000001e0005026332c00fc02500050001"
            + "000000010005026333c00fc036000500010000001400040161c00fc047000100010000003c00047f00000200002904d0"
            + "000000000000"
    )
    static let nameError = RecordedAnswer(
        name: "nosuch.test",
        type: .a,
        hex: "000085030001000000010001066e6f7375636804746573740000010001c01300060001000000050021026e73c0130561"
            + "646d696ec0130000000100000e1000000258000151800000000500002904d0000000000000"
    )
    static let noData = RecordedAnswer(
        name: "onlytxt.test",
        type: .a,
        hex: "000085000001000000010001076f6e6c7974787404746573740000010001c01400060001000000050021026e73c01405"
            + "61646d696ec0140000000100000e1000000258000151800000000500002904d0000000000000"
    )
    /// An alias, in place of whose target there is nothing.
    static let dangling = RecordedAnswer(
        name: "dangling.test",
        type: .a,
        hex: "0000850300010001000100010864616e676c696e6704746573740000010001c00c000500010000003c000704676f6e65"
            + "c015c01500060001000000050021026e73c0150561646d696ec0150000000100000e1000000258000151800000000500"
            + "002904d0000000000000"
    )
    /// An alias of a name outside BIND's zones.
    static let outside = RecordedAnswer(
        name: "outside.test",
        type: .a,
        hex: "000085000001000100000001076f75747369646504746573740000010001c00c000500010000003c001309656c736577"
            + "6865726507696e76616c69640000002904d0000000000000"
    )
    static let serverFailure = RecordedAnswer(
        name: "x.broken.test",
        type: .a,
        hex: "00008102000100000000000101780662726f6b656e0474657374000001000100002904d0000000000000"
    )
    static let refused = RecordedAnswer(
        name: "elsewhere.invalid",
        type: .a,
        hex: "00008105000100000000000109656c7365776865726507696e76616c6964000001000100002904d0000000000000"
    )
    /// SERVFAIL with the aliases of a loop in it, and an extended error (RFC 8914).
    static let loop = RecordedAnswer(
        name: "loop1.test",
        type: .a,
        hex: "000085020001000200000001056c6f6f703104746573740000010001c00c000500010000003c0008056c6f6f7032c012"
            + "c028000500010000003c0002c00c00002904d000000000001b000f001700006d61782e20726573746172747320726561"
            + "63686564"
    )
    static let zero = RecordedAnswer(
        name: "ttl0.test",
        type: .a,
        hex: "0000850000010001000000010474746c3004746573740000010001c00c000100010000000000047f00000200002904d0"
            + "000000000000"
    )
    static let longest = RecordedAnswer(
        name: "maxttl.test",
        type: .a,
        hex: "000085000001000100000001066d617874746c04746573740000010001c00c000100017fffffff00047f000002000029"
            + "04d0000000000000"
    )

    static let all: [RecordedAnswer] = [
        multiple, ipv6, aliases, nameError, noData, dangling, outside, serverFailure, refused, loop, zero, longest,
    ]
}
