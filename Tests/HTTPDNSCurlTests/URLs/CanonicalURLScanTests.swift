// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPDNSPrimitives
import Testing

/// What is split in place must be what libcurl's parser makes of it; what it would see otherwise must be left to it.
struct CanonicalURLScanTests {
    @Test(
        "A canonical URL is split in place, and its text is kept",
        arguments: [
            ("https://img.shop.test/a.jpg", "img.shop.test", UInt16(443), "/a.jpg"),
            ("http://a.b-c_d.e1/", "a.b-c_d.e1", 80, "/"),
            ("http://one.test:8080/?q=1&r=%2f", "one.test", 8080, "/?q=1&r=%2f"),
            ("https://one.test:80//a/../b?c?d/@:;", "one.test", 80, "//a/../b?c?d/@:;"),
            ("http://1.2.3.4.test:65535/", "1.2.3.4.test", 65535, "/"),
            ("http://0x7f.0.0.a/", "0x7f.0.0.a", 80, "/"),
            ("http://db:1/x", "db", 1, "/x"),
        ]
    )
    func parts(text: String, host: String, port: UInt16, target: String) throws {
        let url = try #require(ParsedURL(canonical: text))
        #expect(url.host == .name(host))
        #expect(url.port == port)
        #expect(url.target == target)
        #expect(url.description == text)
        #expect(url.fragment == nil && url.credential == nil)
        #expect(try url == ParsedURL(byCurl: text))
    }

    @Test(
        "A URL that is not plain is left to libcurl",
        arguments: [
            "", "http", "http://", "https://", "http:///", "https:///a", "ftp://one.test/", "httpx://one.test/",
            "HTTP://one.test/", "http:/one.test/", "http://one.test", "http://one.test?q", "http://one.test#f",
            "http://One.test/", "http://one.test./", "http://.one.test/", "http://one..test/", "http://.",
            "http://u@one.test/", "http://u:p@one.test/", "http://one.test:/", "http://one.test:80/",
            "https://one.test:443/", "http://one.test:0/", "http://one.test:0443/", "http://one.test:65536/",
            "http://one.test:100000/", "http://one.test:99999999999999999999/", "http://one.test:8o/",
            "http://one.test:80:80/", "http://one.test:8080", "http://one.test:8080?q", "http://one.test/a#f",
            "http://one.test/?", "http://one.test/a?b?", "http://one.test/a b", "http://one.test/a\\b",
            "http://one.test\\@evil.test/", "http://one.test/a\"b", "http://one.test/{a}", "http://one.test/a|b",
            "http://one.test/<a>", "http://one.test/`", "http://one.test/^", "http://one.test/[a]",
            "http://one.test/ü", "http://bücher.test/", "http://%6fne.test/", "http://one.test%2f/",
            "http://127.0.0.1/", "http://127.1/", "http://2130706433/", "http://0x7f.1/", "http://one.1/",
            "http://one.0x1/", "http://one.-a/", "http://one._a/", "http://[::1]/", "http://one.test/\u{0}",
            "http://one.test/\r\nHost: evil", "http://one.test/\u{7f}",
            "http://one.test/" + String(repeating: "a", count: 70_000),
        ]
    )
    func leftToCurl(text: String) {
        #expect(ParsedURL(canonical: text) == nil)
    }

    /// 100,000 and more of generated URLs.
    @Test("A canonical URL is read exactly as libcurl's parser reads it")
    func sameAsCurl() throws {
        var generator = URLGenerator(state: .random(in: .min ... .max))
        let seed = generator.state
        var plain = 0
        for number in 0..<220_000 {
            let text = number % 2 == 0 ? generator.plain() : generator.odd()
            guard let url = ParsedURL(canonical: text) else { continue }
            plain += 1
            let theirs = try? ParsedURL(byCurl: text)
            let isSame =
                theirs.map { theirs in
                    url == theirs && url.scheme == theirs.scheme && url.host == theirs.host
                        && url.port == theirs.port && url.target == theirs.target
                        && url.authority == theirs.authority && url.fragment == theirs.fragment
                        && url.credential == theirs.credential && theirs.description == text
                } ?? false
            guard isSame else {
                Issue.record("\(text): \(url.host) \(url.port) \(url.target) here, \(String(describing: theirs)) there")
                return
            }
        }
        #expect(plain > 100_000, "seed \(seed): too few of the URLs are plain to say anything")
    }
}

/// URLs that are plain, and others that are nearly so: the pieces are what parsers stumble over.
private struct URLGenerator {
    /// SplitMix64 (Steele, Lea, Flood 2014), so that a failure can be repeated.
    var state: UInt64

    private mutating func random(below limit: Int) -> Int {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = (state ^ state >> 30) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
        return Int((mixed ^ mixed >> 31) % UInt64(limit))
    }

    private mutating func pick(_ choices: [String]) -> String { choices[random(below: choices.count)] }

    /// Between `least` and `longest` pieces, now and then an odd one among them if there are such.
    private mutating func text(_ plain: [String], _ odd: [String], _ count: ClosedRange<Int>) -> String {
        (0..<count.lowerBound + random(below: count.count)).map { _ in
            pick(!odd.isEmpty && random(below: 60) == 0 ? odd : plain)
        }.joined()
    }

    /// One of the kind that is split in place.
    mutating func plain() -> String {
        let labels = (0...random(below: 4)).map { _ in text(Self.label, [], 1...6) }
        let end = pick([".test", ".a1", ".t", ".example", ".x-_7"])
        let port = pick(["", "", "", ":8443", ":1", ":65535", ":65534", ":10"])
        return pick(["http://", "https://"]) + labels.joined(separator: ".") + end + port + "/"
            + text(Self.target, [], 0...12)
    }

    /// One that has a fault, or several, or none.
    mutating func odd() -> String {
        let labels = (0...random(below: 4)).map { _ in text(Self.label, Self.oddInHost, 0...6) }
        let host = pick(["", "", "", "", "0x7f.", "1.2.3.", "u@", "."]) + labels.joined(separator: ".")
        let scheme = pick(["http://", "https://", "http://", "https://", "https://", "Https://", "http:/", "http:///"])
        let port = pick(["", "", "", ":8443", ":80", ":443", ":1", ":65535", ":65536", ":0", ":08", ":", ":8o"])
        let path = pick(["/", "/", "/", "/", "", "//", "?", "#", "\\"]) + text(Self.target, Self.oddInTarget, 0...12)
        return scheme + host + pick(["test", "a1", "t", "example", "1", "0x1", ""]) + port + path
    }

    private static let label =
        (0..<26).map { String(UnicodeScalar(UInt8(97 + $0))) } + ["0", "7", "-", "_", "xn--", "0x", "127"]
    private static let oddInHost = [
        "A", "%41", "ü", "@", ":", "\\", "/", "?", "#", ".", "..", "[", "]", " ", "\u{ff11}", "\u{3002}", "\u{ad}",
        "\t",
    ]
    private static let target =
        (0x21..<0x7f).map { String(UnicodeScalar(UInt8($0))) }.filter { !"\"#<>[\\]^`{|}".contains($0) }
        + ["/", "/", "/", "../", "./", "//", "%2e", "%2E", "%00", "%", "%zz", "?", "&a=b", "://", "@one.test", ":80"]
    private static let oddInTarget = [
        "\"", "#", "<", ">", "[", "\\", "]", "^", "`", "{", "|", "}", " ", "ü", "\u{7f}", "\u{1}",
    ]
}
