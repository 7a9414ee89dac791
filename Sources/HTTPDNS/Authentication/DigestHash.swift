// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

#if Digest
internal import Crypto
#endif

/// A hash of the Digest scheme, in the hexadecimal form in which the scheme uses it (RFC 7616 section 3.4.1).
///
/// It is available with the package trait `Digest` only: swift-crypto has MD5 and SHA-256. It has no SHA-512/256, so
/// that algorithm is not supported.
struct DigestHash {
    /// The function, without the suffix `-sess`. Larger values are stronger.
    enum Function: Int, Hashable, Sendable {
        case md5
        case sha256
    }

    /// Whether this build has the hashes.
    static var isAvailable: Bool {
        #if Digest
        true
        #else
        false
        #endif
    }

    #if Digest
    private var md5 = Insecure.MD5()
    private var sha256 = SHA256()
    #endif
    private let function: Function

    init(_ function: Function) { self.function = function }

    /// Adds bytes.
    mutating func update(_ bytes: [UInt8]) {
        #if Digest
        switch function {
        case .md5: md5.update(data: bytes)
        case .sha256: sha256.update(data: bytes)
        }
        #endif
    }

    /// Returns the hash in lower-case hexadecimal digits; an empty text in a build without hashes, where no Digest
    /// credential is accepted.
    func finish() -> String {
        #if Digest
        switch function {
        case .md5: return Array(md5.finalize()).hexadecimal
        case .sha256: return Array(sha256.finalize()).hexadecimal
        }
        #else
        return ""
        #endif
    }

    /// Returns the hash of a text in UTF-8.
    static func of(_ text: String, _ function: Function) -> String {
        var hash = DigestHash(function)
        hash.update(Array(text.utf8))
        return hash.finish()
    }
}
