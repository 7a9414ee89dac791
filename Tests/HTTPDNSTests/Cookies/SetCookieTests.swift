// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import HTTPDNS

/// RFC 6265bis sections 5.1.1 and 5.6.
struct SetCookieTests {
    /// `day-of-month` is `1*2DIGIT [ non-digit *OCTET ]` and `year` is `2*4DIGIT [ non-digit *OCTET ]` (with erratum 4148 of
    /// RFC 6265). So `001` is no day but the year 1, which means 2001, and the `1` behind it is the day.
    @Test(
        "A date is read by its tokens, in any order and with any separators",
        arguments: [
            ("Wed, 09 Jun 2021 10:18:14 GMT", 1_623_233_894), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777), ("08:49:37x 1 JANUARY 2020z", 1_577_868_577),
            ("1 Jan 70 0:0:0", 0), ("1 Jan 69 00:00:00", 3_124_224_000), ("1 Jan 99 00:00:00", 915_148_800),
            ("29 feb 2020 1:1:1", 1_582_938_061), ("1 jan 1601 0:0:0", -11_644_473_600),
            ("1 1 Jan 2020 1:1:1", 1_577_840_461), ("31 Dec 9999 23:59:59", 253_402_300_799),
            ("001 Jan 1 0:0:0", 978_307_200), ("01x Jan 2001y 0:0:0", 978_307_200),
        ]
    )
    func dates(text: String, seconds: Int64) { #expect(CookieDate.seconds(Array(text.utf8)) == seconds) }

    @Test(
        "Text that is no date is refused",
        arguments: [
            "", "never", "31 Feb 2020 1:1:1", "29 Feb 2021 1:1:1", "31 Apr 2021 1:1:1", "0 Jan 2021 1:1:1",
            "32 Jan 2021 1:1:1", "1 Jan 1600 0:0:0", "1 Jan 2021", "1 Jan 1:1:1", "Jan 2021 1:1:1", "1 2021 1:1:1",
            "1 Jan 2021 24:0:0", "1 Jan 2021 0:60:0", "1 Jan 2021 0:0:60", "1 Jan 2021 0:0", "1 Jan 2021 000:0:0",
            "1 Jan 20211 0:0:0", "001 Jan 2021 0:0:0", "001x Jan 2021 0:0:0",
        ]
    )
    func noDates(text: String) { #expect(CookieDate.seconds(Array(text.utf8)) == nil) }

    @Test("A control character except the tab refuses the field", arguments: Array(0...31) + [127])
    func controls(byte: UInt8) {
        for field in [[UInt8(ascii: "a"), byte, UInt8(ascii: "b")], Array("a=b; c=".utf8) + [byte, 0x64]] {
            let cookie = try? SetCookie(field)
            #expect((cookie != nil) == (byte == 9))
        }
    }

    @Test("Bytes outside ASCII stay as they are", arguments: [[0x80], [0xff, 0xfe], [0xc3, 0x28]] as [[UInt8]])
    func bytes(value: [UInt8]) throws {
        let cookie = try SetCookie(Array("n=".utf8) + value)
        #expect(cookie.value == value)
    }

    @Test(
        "A field is split at its first semicolon and its first equal sign",
        arguments: [
            ("n=v", "n", "v"), ("n = v ; Path=/", "n", "v"), ("=v", "", "v"), ("v", "", "v"), ("n=", "n", ""),
            ("n=a=b", "n", "a=b"), ("==", "", "="), ("a b=c d", "a b", "c d"),
        ]
    )
    func pairs(field: String, name: String, value: String) throws {
        let cookie = try SetCookie(Array(field.utf8))
        #expect(cookie.name == Array(name.utf8) && cookie.value == Array(value.utf8))
    }

    @Test("A field without name and value is refused", arguments: ["", ";", "=", " = ;Path=/"])
    func empty(field: String) {
        #expect(throws: HTTPDNSClient.CookieJar.Rejection.empty) { try SetCookie(Array(field.utf8)) }
    }

    @Test("Name and value have at most 4096 bytes, an attribute 1024")
    func limits() throws {
        func text(_ count: Int) -> String { String(repeating: "x", count: count) }
        #expect(try SetCookie("n=\(text(4095)); Path=/".utf8).value.count == 4095)
        #expect(throws: HTTPDNSClient.CookieJar.Rejection.tooLarge) { try SetCookie("nn=\(text(4095))".utf8) }
        #expect(try SetCookie("n=v; Path=/\(text(1023))".utf8).path?.count == 1024)
        #expect(try SetCookie("n=v; Path=/\(text(1024)); Secure".utf8).path == nil)
        #expect(try SetCookie("n=v; Domain=\(text(1025)); Secure".utf8).isSecure)
    }

    @Test(
        "Max-Age wins over Expires, and the last valid one counts",
        arguments: [
            ("n=v", .session), ("n=v; Max-Age=5", .age(5)), ("n=v; max-AGE = 5 ", .age(5)),
            ("n=v; Max-Age=-5", .age(0)),
            ("n=v; Max-Age=5; Max-Age=6", .age(6)), ("n=v; Max-Age=5; Max-Age=x", .age(5)), ("n=v; Max-Age=", .session),
            ("n=v; Max-Age=-", .session), ("n=v; Max-Age=+5", .session), ("n=v; Max-Age=5.0", .session),
            ("n=v; Max-Age=99999999999999999999", .age(.max)), ("n=v; Expires=1 Jan 70 0:0:9", .date(9)),
            ("n=v; Max-Age=5; Expires=1 Jan 70 0:0:9", .age(5)), ("n=v; Expires=x; Expires=1 Jan 70 0:0:9", .date(9)),
        ] as [(String, SetCookie.Expiry)]
    )
    func expiry(field: String, expiry: SetCookie.Expiry) throws {
        #expect(try SetCookie(Array(field.utf8)).expiry == expiry)
    }

    @Test("Attributes are read in any case, and unknown ones are ignored")
    func attributes() throws {
        let cookie = try SetCookie("n=v; SECURE; httponly; DOMAIN=.A.Test; path=/x; SAMESITE=strict; Foo; =bar".utf8)
        #expect(cookie.isSecure && cookie.isHTTPOnly && cookie.sameSite == .strict)
        #expect(cookie.domain == Array("a.test".utf8) && cookie.path == Array("/x".utf8))
        #expect(try SetCookie("n=v; SameSite=x".utf8).sameSite == .unspecified)
        #expect(try SetCookie("n=v; SameSite=None; SameSite=Lax".utf8).sameSite == .lax)
    }
}
