// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import Testing

@testable import HTTPDNSCore

struct HostNameScanTests {
    /// Except for last labels that begin with a digit.
    @Test(
        "The quick scan and the full scan agree on canonical names"
    )
    func quickLook() {
        let pieces =
            ["a", "z", "b", "7", "0", "-", "_", ".", "..", "A", "x", "0x", "xn--", "é", " ", "/", ":"]
            + [String(repeating: "l", count: 31), String(repeating: "d.", count: 60)]
        var generator = SystemRandomNumberGenerator()
        var canonical = 0
        for _ in 0..<100_000 {
            let count = Int.random(in: 0...7, using: &generator)
            let text = (0..<count).map { _ in pieces[Int.random(in: 0..<pieces.count, using: &generator)] }.joined()
            let bytes = Array(text.utf8)
            let (quick, whole) = bytes.withUnsafeBufferPointer { bytes in
                (HostNameScan.isPlain(bytes), HostNameScan(whole: bytes))
            }
            var isCanonical = false
            if case .canonical = whole { isCanonical = true }
            if isCanonical { canonical += 1 }
            let last = text.utf8.lastIndex(of: UInt8(ascii: ".")).map { text.utf8.index(after: $0) } ?? text.startIndex
            let beginsWithDigit = text.utf8[last...].first.map { (0x30...0x39).contains($0) } ?? false
            #expect(quick == (isCanonical && !beginsWithDigit), "\(text)")
        }
        #expect(canonical > 1_000, "too few names to say anything")
    }

    @Test("The scan of a URL and that of a name agree about host names")
    func inURLs() {
        let pieces =
            ["a", "z", "b7", "0", "-", "_", ".", "..", "xn--", "0x", "127", "é", "A"]
            + [31, 63].map { String(repeating: "l", count: $0) } + [String(repeating: "d.", count: 60)]
        var names = 0
        for _ in 0..<100_000 {
            let host = (0..<Int.random(in: 0...6)).map { _ in pieces.randomElement() ?? "a" }.joined()
            var hash: UInt64?
            let text = "https://\(host)\(Bool.random() ? ".test" : "")\(Bool.random() ? ":8443" : "")/a?b"
            let url = ParsedURL(canonical: text, hostHash: &hash, NameHash.hash)
            guard case .name(let name) = url?.host else { continue }
            let known = try? HTTPDNSName(name)
            #expect((hash != nil) == (known?.description == name), "\(text)")
            if let hash {
                names += 1
                #expect(hash == known?.nameHash)
            }
        }
        #expect(names > 1_000, "too few names to say anything")
    }

    @Test("A plain name is one that nothing else can be read from")
    func plain() {
        let pieces =
            ["a", "z", "b7", "0", "-", "_", ".", "..", "xn--", "0x", "127", "127.0.0.1", "é", "A", "*", "*."]
            + [":", ":80", "/", "[", "]", "::", "ffff", " ", "@", "%", "", String(repeating: "l", count: 63)]
        var names = 0
        for _ in 0..<100_000 {
            let text = (0..<Int.random(in: 0...6)).map { _ in pieces.randomElement() ?? "a" }.joined()
            guard let name = HTTPDNSName(plain: text) else { continue }
            names += 1
            #expect((try? HTTPDNSName(text)) == name && name.description == text && !name.isAbsolute)
            #expect((try? HTTPDNSMapping.Key(text)) == HTTPDNSMapping.Key(.exact(name)))
            #expect(HTTPDNSAddress(text) == nil)
        }
        #expect(names > 1_000, "too few names to say anything")
    }

    @Test("A name and its text have one hash, in every spelling")
    func hashes() throws {
        for (text, canonical) in [("One.TEST.", "one.test"), ("one.test", "one.test"), ("a", "a")] {
            let name = try HTTPDNSName(text)
            #expect(name.nameHash == HTTPDNSName(canonical: canonical).nameHash)
            #expect(name == HTTPDNSName(canonical: canonical))
            // The system resolver may answer differently about a name with a trailing dot.
            #expect((CacheKey(name).hash == name.nameHash) == !text.hasSuffix("."))
            #expect(CacheKey(name, isSystemOnly: true).hash != name.nameHash)
        }
    }
}
