// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import HTTPDNSCore

@Suite("Scanning host names")
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
