// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The answer to a Digest challenge for one request (RFC 7616 section 3.4, RFC 2069 for a challenge without `qop`).
struct DigestAnswer: Sendable {
    let challenge: DigestChallenge
    let user: String
    let password: String
    let method: String
    /// The request target, such as `/dir/index.html?a=b`.
    let target: String
    /// The number of requests with this nonce, this one included.
    var count: UInt32
    var clientNonce: String
    /// The hash of the request body, for the protection `auth-int`.
    var bodyHash: String?

    /// The hash of the credential, H(A1).
    private var credentialHash: String {
        let base = hash("\(user):\(challenge.realm):\(password)")
        return challenge.isSession ? hash("\(base):\(challenge.nonce):\(clientNonce)") : base
    }

    private var countText: String {
        let digits = String(count, radix: 16)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }

    private func hash(_ text: String) -> String { DigestHash.of(text, challenge.function) }

    /// Returns the proof for a method, which is empty for the proof of the server.
    private func proof(method: String, bodyHash: String?) -> String {
        var message = "\(method):\(target)"
        if challenge.protection == .authInt { message += ":\(bodyHash ?? "")" }
        let messageHash = hash(message)
        guard let protection = challenge.protection else {
            return hash("\(credentialHash):\(challenge.nonce):\(messageHash)")
        }
        return hash(
            "\(credentialHash):\(challenge.nonce):\(countText):\(clientNonce):\(protection.rawValue):\(messageHash)"
        )
    }

    /// The proof of the request, the parameter `response`.
    var response: String { proof(method: method, bodyHash: bodyHash) }

    /// The proof that a server which knows the password sends as `rspauth` (RFC 7616 section 3.5). Nil without `qop`,
    /// where there is none, and for `auth-int`, where it covers a body that has not been read.
    var expectedServerProof: String? {
        challenge.protection == .auth ? proof(method: "", bodyHash: nil) : nil
    }

    /// The value of the field.
    var fieldValue: String {
        var parts: [String] = []
        if challenge.hashesUser {
            parts += ["username=\"\(hash("\(user):\(challenge.realm)"))\"", "userhash=true"]
        } else if user.utf8.allSatisfy({ $0 < 0x80 }) {
            parts.append("username=\(quoted(user))")
        } else {
            // A quoted string has no encoding (RFC 7616 section 3.4, RFC 8187 section 3.2).
            parts.append("username*=UTF-8''\(DigestAnswer.percentEncoded(user))")
        }
        parts += ["realm=\(quoted(challenge.realm))", "nonce=\(quoted(challenge.nonce))", "uri=\(quoted(target))"]
        if let algorithm = challenge.algorithm { parts.append("algorithm=\(algorithm)") }
        if let protection = challenge.protection {
            parts += ["qop=\(protection.rawValue)", "nc=\(countText)", "cnonce=\"\(clientNonce)\""]
        }
        parts.append("response=\"\(response)\"")
        if let opaque = challenge.opaque { parts.append("opaque=\(quoted(opaque))") }
        return "Digest " + parts.joined(separator: ", ")
    }

    /// Returns a quoted string (RFC 9110 section 5.6.4).
    private func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            if scalar == "\"" || scalar == "\\" { quoted.unicodeScalars.append("\\") }
            quoted.unicodeScalars.append(scalar)
        }
        return quoted + "\""
    }

    /// Returns the text of an extended parameter: all bytes but those of `attr-char` are encoded (RFC 8187 section
    /// 3.2.1).
    private static func percentEncoded(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            let isPlain =
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"):
                    true
                default: "!#$&+-.^_`|~".utf8.contains(byte)
                }
            if isPlain {
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                encoded += "%" + [byte].hexadecimal.uppercased()
            }
        }
        return encoded
    }

    /// Returns a nonce of the client: 128 random bits.
    static func newClientNonce() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) }.hexadecimal
    }
}
