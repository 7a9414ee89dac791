// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Testing

struct SHA256HashTests {
    /// The examples of FIPS 180-4 and lengths around a block.
    @Test(
        "A text has the hash of the standard",
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
            (String(repeating: "a", count: 55), "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"),
            (String(repeating: "a", count: 64), "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"),
        ]
    )
    func hash(_ text: String, _ expected: String) {
        #expect(SHA256Hash.hexadecimal(of: text) == expected)
    }

    /// The sizes are around the length of a block.
    @Test("Pieces have the hash of the whole", arguments: [1, 7, 55, 56, 63, 64, 65, 119, 120, 1000])
    func pieces(size: Int) {
        let bytes = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        var hash = SHA256Hash()
        for start in stride(from: 0, to: 1000, by: size) { hash.update(Array(bytes[start..<min(1000, start + size)])) }
        // sha256sum of the same bytes.
        #expect(hash.finish().hexadecimal == "945acdf575d6a2430bf4d6163e1d03b4b0b896fcef107c8b24bf7ff07a621fa3")
    }
}
