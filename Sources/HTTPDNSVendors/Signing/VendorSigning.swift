// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSPrimitives

#if Signing
internal import Crypto
#endif

/// The digests for vendors' signatures, from swift-crypto (package trait `Signing`).
enum VendorSigning {
    /// The reason why this build cannot use settings that need a signature or a cipher; `nil` when it can.
    static var refusal: String? {
        #if Signing
        nil
        #else
        "its account signs or encrypts its queries, which this build cannot: enable the trait Signing of the package "
            + "swift-httpdns, or use an account that takes plain, unsigned queries"
        #endif
    }

    /// Returns the HMAC-SHA256 (RFC 2104) in lower-case hexadecimal.
    static func hmacSHA256(_ text: String, key: [UInt8]) throws(HTTPDNSProviderError) -> String {
        #if Signing
        let code = HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: SymmetricKey(data: key))
        return Array(code).hexadecimal
        #else
        throw HTTPDNSProviderError(
            code: .notConfigured,
            message: "this build has no signatures (package trait Signing)"
        )
        #endif
    }

    /// Returns the MD5 (RFC 1321) in lower-case hexadecimal, for the signatures of older protocols. It does not protect a
    /// valuable secret; TLS protects the query.
    static func md5(_ text: String) throws(HTTPDNSProviderError) -> String {
        #if Signing
        return Array(Insecure.MD5.hash(data: Array(text.utf8))).hexadecimal
        #else
        throw HTTPDNSProviderError(
            code: .notConfigured,
            message: "this build has no signatures (package trait Signing)"
        )
        #endif
    }
}
