// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// A challenge of the Digest scheme that this client can answer (RFC 7616 section 3.3).
struct DigestChallenge: Hashable, Sendable {
    /// The protection of a message.
    enum Protection: String, Hashable, Sendable {
        /// The method and the target are protected.
        case auth
        /// The body is protected as well.
        case authInt = "auth-int"
    }

    let realm: String
    let nonce: String
    let opaque: String?
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
    /// The URIs for which the credential may be sent without another challenge; nil means the whole origin.
    var domain: [String]?

    /// The most URIs of `domain` that are kept.
    private static let maximumDomain = 16
    /// The longest nonce and realm, in bytes. Servers that put their state into the nonce need some hundred.
    private static let maximumText = 4096

    /// Creates nil for another scheme, for an algorithm or protection that is not supported, and for a challenge
    /// without realm or nonce.
    init?(_ challenge: AuthenticationChallenge) {
        let parameters = challenge.parameters
        guard challenge.scheme == "digest", let realm = parameters["realm"], let nonce = parameters["nonce"],
            max(realm.utf8.count, nonce.utf8.count) <= DigestChallenge.maximumText
        else { return nil }
        self.realm = realm
        self.nonce = nonce
        opaque = parameters["opaque"]
        algorithm = parameters["algorithm"]
        switch (algorithm ?? "MD5").asciiLowercased {
        case "md5": (function, isSession) = (.md5, false)
        case "md5-sess": (function, isSession) = (.md5, true)
        case "sha-256": (function, isSession) = (.sha256, false)
        case "sha-256-sess": (function, isSession) = (.sha256, true)
        default: return nil
        }
        if let offered = parameters["qop"] {
            let words = offered.asciiLowercased.split { $0 == "," || $0 == " " || $0 == "\t" }
            if words.contains("auth") {
                protection = .auth
            } else if words.contains("auth-int") {
                protection = .authInt
            } else {
                return nil
            }
        } else {
            // A session key contains the client's nonce, which RFC 2617 section 3.2.2 forbids to send without qop.
            guard !isSession else { return nil }
            protection = nil
        }
        isStale = parameters["stale"]?.asciiLowercased == "true"
        hashesUser = parameters["userhash"]?.asciiLowercased == "true"
        domain = parameters["domain"].flatMap { text in
            let uris = text.split { $0 == " " || $0 == "\t" }.prefix(DigestChallenge.maximumDomain).map(String.init)
            return uris.isEmpty ? nil : uris
        }
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
    func with(nonce: String) -> DigestChallenge? {
        guard nonce.utf8.count <= DigestChallenge.maximumText else { return nil }
        return DigestChallenge(self, nonce: nonce)
    }

    private init(_ other: DigestChallenge, nonce: String) {
        self.nonce = nonce
        (realm, opaque, function, isSession) = (other.realm, other.opaque, other.function, other.isSession)
        (algorithm, protection, hashesUser, domain) =
            (other.algorithm, other.protection, other.hashesUser, other.domain)
        isStale = false
    }
}
