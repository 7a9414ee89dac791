// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if Signing
internal import Crypto
internal import CryptoExtras
#endif

/// AES-128 as vendors use it: the initialization vector precedes the cipher text, and with GCM the tag follows it.
struct AESCipher: Sendable {
    enum Mode: Hashable, Sendable {
        /// CBC with PKCS#7 padding and a vector of 16 bytes. It encrypts, but does not authenticate.
        case cbc
        /// GCM with a nonce of 12 bytes and a tag of 16.
        case gcm

        /// The length of the vector.
        var vectorOctets: Int { self == .cbc ? 16 : 12 }
    }

    /// The reason why a cipher text cannot be decrypted. It contains no part of either text.
    struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
        let description: String
    }

    static let keyOctets = 16
    private static let blockOctets = 16
    private static let tagOctets = 16

    let mode: Mode
    private let key: [UInt8]

    /// - Parameter key: ``keyOctets`` bytes; any other number makes the initializer return `nil`.
    init?(_ mode: Mode, key: [UInt8]) {
        guard key.count == Self.keyOctets else { return nil }
        self.mode = mode
        self.key = key
    }

    /// Returns vector, cipher text and tag.
    /// - Parameter vector: Of the mode's length, never used with this key before.
    func encrypt(_ text: [UInt8], vector: [UInt8]) throws(Failure) -> [UInt8] {
        #if Signing
        do {
            switch mode {
            case .cbc:
                let initial = try AES._CBC.IV(ivBytes: vector)
                return try vector + Array(AES._CBC.encrypt(text, using: SymmetricKey(data: key), iv: initial))
            case .gcm:
                let nonce = try AES.GCM.Nonce(data: vector)
                let box = try AES.GCM.seal(text, using: SymmetricKey(data: key), nonce: nonce)
                return vector + Array(box.ciphertext) + Array(box.tag)
            }
        } catch {
            throw Failure(description: "it cannot be encrypted")
        }
        #else
        throw Failure(description: "this build has no ciphers (package trait Signing)")
        #endif
    }

    /// Returns the plain text of vector, cipher text and tag.
    func decrypt(_ octets: [UInt8]) throws(Failure) -> [UInt8] {
        #if Signing
        let vector = Array(octets.prefix(mode.vectorOctets))
        let rest = Array(octets.dropFirst(mode.vectorOctets))
        do {
            switch mode {
            case .cbc:
                guard !rest.isEmpty, rest.count.isMultiple(of: Self.blockOctets) else { throw Self.cutOff }
                let initial = try AES._CBC.IV(ivBytes: vector)
                return Array(try AES._CBC.decrypt(rest, using: SymmetricKey(data: key), iv: initial))
            case .gcm:
                guard rest.count >= Self.tagOctets else { throw Self.cutOff }
                let box = try AES.GCM.SealedBox(
                    nonce: AES.GCM.Nonce(data: vector),
                    ciphertext: rest.dropLast(Self.tagOctets),
                    tag: rest.suffix(Self.tagOctets)
                )
                return Array(try AES.GCM.open(box, using: SymmetricKey(data: key)))
            }
        } catch {
            throw (error as? Failure) ?? Self.wrongKey
        }
        #else
        throw Failure(description: "this build has no ciphers (package trait Signing)")
        #endif
    }

    private static let cutOff = Failure(description: "its length is that of no cipher text: it was cut off")
    private static let wrongKey = Failure(
        description: "it is not encrypted with this key in this mode, or was altered; check the encryption key"
    )
}
