// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if Signing
import Testing

@testable import HTTPDNSCore
@testable import HTTPDNSVendors

struct AESCipherTests {
    private static let key: [UInt8] = Array(0...15)
    private static let otherKey: [UInt8] = Array(1...16)

    private func cipher(_ mode: AESCipher.Mode, key: [UInt8] = key) throws -> AESCipher {
        try #require(AESCipher(mode, key: key))
    }

    @Test(
        "Encrypted text is decrypted again, at every length around a block",
        arguments: [AESCipher.Mode.cbc, .gcm]
    )
    func roundTrip(mode: AESCipher.Mode) throws {
        let cipher = try cipher(mode)
        for length in [0, 1, 15, 16, 17, 31, 32, 33, 1000] {
            let text = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
            let vector = [UInt8](repeating: UInt8(length % 256), count: mode.vectorOctets)
            let octets = try cipher.encrypt(text, vector: vector)
            #expect(octets.starts(with: vector))
            #expect(octets.count == (mode == .cbc ? 16 + (length / 16 + 1) * 16 : 12 + length + 16))
            #expect(try cipher.decrypt(octets) == text)
        }
    }

    @Test("Every prefix is refused, and none crashes", arguments: [AESCipher.Mode.cbc, .gcm])
    func prefixes(mode: AESCipher.Mode) throws {
        let cipher = try cipher(mode)
        let text = Array("a text of more than two blocks, so that a cut may fall anywhere".utf8)
        let octets = try cipher.encrypt(text, vector: [UInt8](repeating: 9, count: mode.vectorOctets))
        for count in 0..<octets.count {
            // CBC proves nothing: a cut at a block's end may by chance have a padding that is one, and never the text.
            #expect((try? cipher.decrypt(Array(octets.prefix(count)))) != text)
            if mode == .gcm || !count.isMultiple(of: 16) {
                #expect(throws: AESCipher.Failure.self) { try cipher.decrypt(Array(octets.prefix(count))) }
            }
        }
    }

    /// GCM refuses every changed octet.
    @Test(
        "A changed byte or another key does not give the text back",
        arguments: [AESCipher.Mode.cbc, .gcm]
    )
    func altered(mode: AESCipher.Mode) throws {
        let text = Array("forty octets of text, or a bit over that".utf8)
        let octets = try cipher(mode).encrypt(text, vector: [UInt8](repeating: 7, count: mode.vectorOctets))
        #expect((try? cipher(mode, key: Self.otherKey).decrypt(octets)) != text)
        for index in octets.indices {
            var changed = octets
            changed[index] ^= 1
            #expect((try? cipher(mode).decrypt(changed)) != text)
            if mode == .gcm { #expect(throws: AESCipher.Failure.self) { try cipher(mode).decrypt(changed) } }
        }
    }

    @Test(
        "Keys of other lengths are refused, and vectors of other lengths fail",
        arguments: [AESCipher.Mode.cbc, .gcm]
    )
    func lengths(mode: AESCipher.Mode) throws {
        for count in [0, 8, 15, 17, 24, 32] {
            #expect(AESCipher(mode, key: [UInt8](repeating: 0, count: count)) == nil)
        }
        let cipher = try cipher(mode)
        for count in [0, 1, 11] {
            #expect(throws: AESCipher.Failure.self) {
                try cipher.encrypt([1], vector: [UInt8](repeating: 0, count: count))
            }
        }
    }
}
#endif
