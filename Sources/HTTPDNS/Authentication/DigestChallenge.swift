// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// A challenge of the Digest scheme that this client can answer (RFC 7616 section 3.3).
struct DigestChallenge: Hashable, Sendable {
    /// The protection of a message.
    enum Protection: String, Hashable, Sendable {
        /// The method and the target are protected.
        case auth
        /// The body is protected as well.
        case authInt = "auth-int"
    }

    let realm: [UInt8]
    let nonce: [UInt8]
    let opaque: [UInt8]?
    let function: DigestHash.Function
    /// Whether the session variant of the algorithm is used (`-sess`).
    let isSession: Bool
    /// The algorithm as the challenge has it; nil when it has none, which means MD5.
    let algorithm: String?
    /// The chosen protection; nil for a challenge without `qop`, as in RFC 2069.
    let protection: Protection?
    /// Whether only the nonce of the last request was wrong.
    let isStale: Bool
    let hashesUser: Bool
    /// Whether the server reads the user in UTF-8 (RFC 7616 section 4): only such a server knows the extended form of it.
    let isInUTF8: Bool
    /// The URIs for which the credential may be sent without another challenge; nil means the whole origin.
    var domain: [String]?

    /// The most URIs of `domain` that are kept.
    private static let maximumDomain = 16
    /// The longest nonce and realm, in bytes. Servers that put their state into the nonce need some hundred.
    private static let maximumText = 4096

    /// Creates nil for another scheme, for an algorithm that is not supported, and for a challenge without a nonce:
    /// ``refusal(of:)`` has the reason. As in curl, a realm that is missing is empty.
    init?(_ challenge: AuthenticationChallenge) {
        let parameters = challenge.parameters
        let realm = parameters["realm"] ?? []
        guard challenge.scheme == "digest", let nonce = parameters["nonce"],
            max(realm.count, nonce.count) <= DigestChallenge.maximumText
        else { return nil }
        self.realm = realm
        self.nonce = nonce
        opaque = parameters["opaque"]
        algorithm = parameters["algorithm"].map { String(decoding: $0, as: UTF8.self) }
        switch (algorithm ?? "MD5").lowercasedASCII {
        case "md5": (function, isSession) = (.md5, false)
        case "md5-sess": (function, isSession) = (.md5, true)
        case "sha-256": (function, isSession) = (.sha256, false)
        case "sha-256-sess": (function, isSession) = (.sha256, true)
        default: return nil
        }
        let words = (challenge.word("qop") ?? "").split { $0 == "," || $0 == " " || $0 == "\t" }
        // As in curl, unknown protections count as none.
        protection = words.contains("auth") ? .auth : words.contains("auth-int") ? .authInt : nil
        // A session key contains the client's nonce, which RFC 2617 section 3.2.2 forbids to send without qop.
        guard !isSession || protection != nil else { return nil }
        isStale = challenge.word("stale") == "true"
        hashesUser = challenge.word("userhash") == "true"
        isInUTF8 = challenge.word("charset") == "utf-8"
        domain = parameters["domain"].flatMap { text in
            let uris = text.split { $0 == 0x20 || $0 == 0x09 }.prefix(DigestChallenge.maximumDomain)
            return uris.isEmpty ? nil : uris.map { String(decoding: $0, as: UTF8.self) }
        }
    }

    /// Returns the reason why none of several challenges can be answered, without any text of the server.
    static func refusal(of challenges: [AuthenticationChallenge]) -> String {
        guard let challenge = challenges.first(where: { $0.scheme == "digest" }) else {
            return "none of them is a Digest challenge"
        }
        guard challenge.parameters["nonce"] != nil else { return "the Digest challenge has no nonce that can be read" }
        return "the Digest challenge has an algorithm that is not supported, or too long a text"
    }

    /// Returns the strongest of several challenges, and the first of those that are equally strong (RFC 7616 section
    /// 3.7).
    static func strongest(of challenges: [AuthenticationChallenge]) -> DigestChallenge? {
        var strongest: DigestChallenge?
        for challenge in challenges.lazy.compactMap(DigestChallenge.init) {
            guard let other = strongest, other.function.rawValue >= challenge.function.rawValue else {
                strongest = challenge
                continue
            }
        }
        return strongest
    }

    /// Returns the challenge with another nonce, from `nextnonce` (RFC 7616 section 3.5).
    func with(nonce: [UInt8]) -> DigestChallenge? {
        guard nonce.count <= DigestChallenge.maximumText else { return nil }
        return DigestChallenge(self, nonce: nonce)
    }

    private init(_ other: DigestChallenge, nonce: [UInt8]) {
        self.nonce = nonce
        (realm, opaque, function, isSession) = (other.realm, other.opaque, other.function, other.isSession)
        (algorithm, protection, hashesUser, isInUTF8, domain) =
            (other.algorithm, other.protection, other.hashesUser, other.isInUTF8, other.domain)
        isStale = false
    }
}
