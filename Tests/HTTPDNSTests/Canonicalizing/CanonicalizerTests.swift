// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSCurl
import Testing

struct CanonicalizerTests {
    @Test(
        "Spellings of one origin become one",
        arguments: [
            "https://one.test", "https://one.test/", "https://ONE.test/", "https://One.Test/", "HTTPS://one.test/",
            "hTTps://ONE.TEST", "https://one.test./", "https://ONE.TEST./", "https://one.test:443/",
            "https://one.test.:443/", "https://one.test:443", "https://one.test:0443/", "https://one.test:/",
            "https://user@one.test/", "https://user:secret@one.test/", "https://user:secret@ONE.test.:443/",
            "https://:secret@one.test/", "https://@one.test/", "https://us%40er:p%3Aw@one.test/",
            "https://one.test@one.test/", "https://two.test@one.test/", "https://two.test:80@one.test/",
            "https://one.test/#", "https://one.test/#two.test", "https://one.test#@two.test",
            "https://one.test#/two.test", "https://\u{ff4f}\u{ff4e}\u{ff45}.test/", "https://one\u{3002}test/",
            "https://one\u{ff0e}test/", "https://\u{ff2f}ne.test/", "https://on\u{212f}.test/",
            "https://\u{2134}ne.test/",
            "https://one.\u{ff34}EST/", "https://one.te\u{017f}t/", "https://o\u{00ad}ne.test/",
            "https://ONE.test:443#top", "https://user:@one.test", "https://%75ser@one.test/", "https://one.test:00443/",
            "HTTPS://USER:SECRET@ONE.TEST.:443/#FRAGMENT",
        ]
    )
    func spellings(text: String) throws {
        let url = try HTTPDNSRewriter.Canonicalizer.canonicalize(text)
        #expect(url.description == "https://one.test/")
        #expect(url.host == .name(try HTTPDNSName("one.test")))
        #expect(url.authority == "one.test")
        #expect(url.port == 443)
    }

    @Test(
        "A trailing dot is not sent, and is kept for resolving",
        arguments: [
            ("https://one.test./a", true), ("https://one.test.:8443/a", true), ("https://u:p@ONE.test./a#x", true),
            ("https://one.test\u{3002}/a", true), ("https://one.test/a.", false), ("https://one.test/", false),
        ]
    )
    func trailingDot(text: String, isAbsolute: Bool) throws {
        let url = try HTTPDNSRewriter.Canonicalizer.canonicalize(text)
        #expect(url.authority.hasPrefix("one.test") && !url.authority.contains("test."))
        guard case .name(let name) = url.host else { return #expect(Bool(false)) }
        #expect(name.isAbsolute == isAbsolute)
        guard case .name(let next) = try url.parsed.following("/b").host else { return #expect(Bool(false)) }
        #expect(next == "one.test")
        #expect(try url.parsed.following("/b").isAbsolute == isAbsolute)
        #expect(try url.parsed.following("https://two.test/b").isAbsolute == false)
    }

    @Test(
        "Path and query stay byte for byte",
        arguments: [
            ("http://ONE.test/A/../b/./C?q=A&%7e#x", "/A/../b/./C?q=A&%7e"),
            ("http://one.test//a//", "//a//"), ("http://one.test?", "/?"), ("http://one.test/?a=b?c", "/?a=b?c"),
            ("http://one.test?q=@two.test", "/?q=@two.test"), ("http://one.test/%00%0a", "/%00%0a"),
            ("http://one.test/a\\b", "/a\\b"), ("http://one.test/;a=b,c", "/;a=b,c"),
        ]
    )
    func target(text: String, target: String) throws {
        let url = try HTTPDNSRewriter.Canonicalizer.canonicalize(text)
        #expect(url.target == target)
        #expect(url.host.description == "one.test")
    }

    @Test(
        "A host that programs read differently is refused without a secret in the text",
        arguments: [
            "one.test", "//one.test/", "/path", "", "https:", "https://", "https:///path", "https://user:secret@/",
            "ftp://one.test/", "file:///etc/passwd", "https:/one.test/", "https:one.test",
            "https://one.test\\@evil/", "https://one.test\\.evil/", "https://one test/", "https://one.test/a b",
            "https://one.test/\r\nHost: evil", "https://one.test\u{0}.evil/", "https://one.test:0/",
            "https://one.test:65536/", "https://one.test:80:80/", "https://one.test:secret/", "https://one..test/",
            "https://.one.test/", "https://one.test../", "https://127.1/", "https://0x7f.0.0.1/", "https://2130706433/",
            "https://0177.0.0.1/", "https://[::1/", "https://[fe80::1%25eth0]/", "https://[1.2.3.4]/",
            "https://1.2.3.4.5/", "https://one.123/", "https://\(String(repeating: "a", count: 64)).test/",
            "https://\(String(repeating: "a.", count: 150))test/", "https://user:secret@one test/",
            "https://user:sec ret@one.test/", "https://user:a/secret@one.test:x/", "https://user:a?secret@/",
        ]
    )
    func refused(text: String) throws {
        let error = #expect(throws: HTTPDNSClientError.self) { try HTTPDNSRewriter.Canonicalizer.canonicalize(text) }
        #expect(error?.code == .invalidURL)
        #expect(error?.phase == .request)
        let description = error?.description ?? ""
        #expect(!description.contains("sec ret") && !description.contains("user:"))
        #expect(!(text.contains("@") && description.contains("secret")))
        #expect(!description.contains { $0.isNewline || $0 == "\0" })
        #expect(description.utf8.count < 700)
    }

    @Test("Addresses are hosts of their own and keep their brackets in text")
    func literals() throws {
        let six = try HTTPDNSRewriter.Canonicalizer.canonicalize("http://[2001:DB8:0:0::7]:8080/x")
        #expect(six.description == "http://[2001:db8::7]:8080/x")
        #expect(six.host == .address(try #require(HTTPDNSAddress("2001:db8::7"))))
        let four = try HTTPDNSRewriter.Canonicalizer.canonicalize("https://203.0.113.7")
        #expect(four.host == .address(HTTPDNSAddress(v4: 203, 0, 113, 7)))
    }

    /// 100,000 generated URLs.
    @Test("Canonicalizing is deterministic and idempotent, and keeps path and query")
    func idempotence() throws {
        var random = SplitMix(state: 42)
        let pathBytes = Array("abcXYZ019-._~!$&'()*+,;=:@%2f/[]^`{}|\\\"<>".unicodeScalars.map(String.init))
        for _ in 0..<100_000 {
            let secure = Bool.random(using: &random)
            let labels = (0..<Int.random(in: 1...4, using: &random)).map { _ in
                let middle = random.text(of: Array("abcABC0129-".unicodeScalars.map(String.init)), upTo: 8)
                return "x\(middle)Z"
            }
            let port: UInt16? = Bool.random(using: &random) ? UInt16.random(in: 1...65535, using: &random) : nil
            let path = "/" + random.text(of: pathBytes, upTo: 20)
            let query = Bool.random(using: &random) ? "?" + random.text(of: pathBytes + ["?"], upTo: 20) : ""
            let host = labels.joined(separator: ".")
            let text =
                (secure ? "hTTps://" : "HTTP://") + host + (Bool.random(using: &random) ? "." : "")
                + (port.map { ":\($0)" } ?? "") + path + query
            let first = try HTTPDNSRewriter.Canonicalizer.canonicalize(text)
            let second = try HTTPDNSRewriter.Canonicalizer.canonicalize(first.description)
            let lower = host.lowercased()
            let shownPort = port.flatMap { $0 == (secure ? 443 : 80) ? nil : ":\($0)" } ?? ""
            // Compared before #expect, which costs more than the parsing.
            let expected = (secure ? "https://" : "http://") + lower + shownPort + path + query
            guard first.description == expected, second == first, second.description == expected,
                try HTTPDNSRewriter.Canonicalizer.canonicalize(text) == first
            else {
                Issue.record("\(text) became \(first), and that \(second); expected \(expected)")
                return
            }
        }
    }
}

/// A generator with a seed (SplitMix64), so that a failure can be repeated.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    mutating func text(of pieces: [String], upTo limit: Int) -> String {
        (0..<Int.random(in: 0...limit, using: &self)).map { _ in pieces.randomElement(using: &self) ?? "" }.joined()
    }
}
