// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if LocalProvider
internal import Crypto
internal import CryptoExtras
internal import Foundation
internal import HTTPDNSPrimitives

/// Verification of query signatures, with code that shares nothing with the clients' signing.
enum SignatureCheck {
    /// Returns whether `signature` is the HMAC-SHA256 of `text` in lower-case hexadecimal. Compared in constant time.
    static func isHMAC(_ signature: String, of text: String, key: [UInt8]) -> Bool {
        guard let code = [UInt8](lowerCaseHexadecimal: signature) else { return false }
        return HMAC<SHA256>.isValidAuthenticationCode(
            code,
            authenticating: Data(text.utf8),
            using: SymmetricKey(data: key)
        )
    }

    /// Returns whether `signature` is the MD5 of `text` in lower-case hexadecimal.
    static func isMD5(_ signature: String, of text: String) -> Bool {
        isSame(signature, Array(Insecure.MD5.hash(data: Data(text.utf8))).hexadecimal)
    }

    /// Returns whether `signature` is the SHA-256 of `text` in lower-case hexadecimal.
    static func isSHA256(_ signature: String, of text: String) -> Bool {
        isSame(signature, Array(SHA256.hash(data: Data(text.utf8))).hexadecimal)
    }

    /// Returns whether two texts are equal, in a time that does not depend on the position of a difference.
    static func isSame(_ left: String, _ right: String) -> Bool {
        let (left, right) = (Array(left.utf8), Array(right.utf8))
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

/// AES-128 as the vendors' services use it, with code that shares nothing with the clients'.
struct BlockCipher: Sendable {
    /// The two modes, by their numbers in Alibaba's `m`.
    enum Mode: Int, Sendable {
        case cbc = 1
        case gcm = 2

        var vectorOctets: Int { self == .cbc ? 16 : 12 }

        /// The opposite mode.
        var other: Mode { self == .cbc ? .gcm : .cbc }
    }

    let mode: Mode
    private let key: SymmetricKey

    /// - Parameter key: 16 bytes; any other number gives nil.
    init?(_ mode: Mode, key: [UInt8]) {
        guard key.count == 16 else { return nil }
        self.mode = mode
        self.key = SymmetricKey(data: key)
    }

    /// Encrypts a text: a new initialization vector, then the cipher text, then the tag of GCM.
    func sealed(_ text: [UInt8]) throws -> [UInt8] {
        switch mode {
        case .cbc:
            let vector = (0..<mode.vectorOctets).map { _ in UInt8.random(in: .min ... .max) }
            return try vector + Array(AES._CBC.encrypt(text, using: key, iv: AES._CBC.IV(ivBytes: vector)))
        case .gcm:
            let box = try AES.GCM.seal(text, using: key)
            return Array(box.nonce) + Array(box.ciphertext) + Array(box.tag)
        }
    }

    /// Decrypts the result of ``sealed(_:)``; nil for anything else.
    func opened(_ octets: [UInt8]) -> [UInt8]? {
        switch mode {
        case .cbc:
            let rest = octets.dropFirst(mode.vectorOctets)
            guard !rest.isEmpty, rest.count.isMultiple(of: 16),
                let vector = try? AES._CBC.IV(ivBytes: octets.prefix(mode.vectorOctets))
            else { return nil }
            return (try? AES._CBC.decrypt(Data(rest), using: key, iv: vector)).map(Array.init)
        case .gcm:
            guard let box = try? AES.GCM.SealedBox(combined: Data(octets)) else { return nil }
            return (try? AES.GCM.open(box, using: key)).map(Array.init)
        }
    }
}

extension [UInt8] {
    /// Reads what vendors' services read: digits in lower case, else nil.
    init?(lowerCaseHexadecimal text: String) {
        guard text == text.lowercased() else { return nil }
        self.init(hexadecimal: text)
    }
}
#endif
