// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

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
        let base = hash(Array("\(user):".utf8) + challenge.realm + Array(":\(password)".utf8))
        return challenge.isSession ? hash(with(nonce: base, ":\(clientNonce)")) : base
    }

    private var countText: String {
        let digits = String(count, radix: 16)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }

    private func hash(_ text: String) -> String { hash(Array(text.utf8)) }

    private func hash(_ text: [UInt8]) -> String {
        var hash = DigestHash(challenge.function)
        hash.update(text)
        return hash.finish()
    }

    /// Returns the text of a hash that begins with another one and the server's nonce.
    private func with(nonce first: String, _ rest: String) -> [UInt8] {
        Array("\(first):".utf8) + challenge.nonce + Array(rest.utf8)
    }

    /// Returns the proof for a method, which is empty for the proof of the server.
    private func proof(method: String, bodyHash: String?) -> String {
        var message = "\(method):\(target)"
        if challenge.protection == .authInt { message += ":\(bodyHash ?? "")" }
        let messageHash = hash(message)
        guard let protection = challenge.protection else {
            return hash(with(nonce: credentialHash, ":\(messageHash)"))
        }
        return hash(
            with(nonce: credentialHash, ":\(countText):\(clientNonce):\(protection.rawValue):\(messageHash)")
        )
    }

    /// The proof of the request, the parameter `response`.
    var response: String { proof(method: method, bodyHash: bodyHash) }

    /// The proof that a server which knows the password sends as `rspauth` (RFC 7616 section 3.5). Nil without `qop`,
    /// where there is none, and for `auth-int`, where it covers a body that has not been read.
    var expectedServerProof: String? {
        challenge.protection == .auth ? proof(method: "", bodyHash: nil) : nil
    }

    /// The bytes of the field's value. Those of the challenge are sent back as they came.
    var fieldValue: [UInt8] {
        var value = Array("Digest ".utf8)
        if challenge.hashesUser {
            let userHash = hash(Array("\(user):".utf8) + challenge.realm)
            value += "username=\"\(userHash)\", userhash=true".utf8
        } else if challenge.isInUTF8, !user.utf8.allSatisfy({ $0 < 0x80 }) {
            // A quoted string has no encoding (RFC 7616 section 3.4). All bytes but those of `attr-char` are encoded (RFC 8187
            // section 3.2.1).
            value += "username*=UTF-8''\(PercentCoding.encoded(user.utf8, keeping: "!#$&+-.^_`|~"))".utf8
        } else {
            // Servers that do not announce UTF-8 know no other form, and compare bytes.
            value += "username=".utf8 + quoted(Array(user.utf8))
        }
        value += ", realm=".utf8 + quoted(challenge.realm)
        value += ", nonce=".utf8 + quoted(challenge.nonce)
        value += ", uri=".utf8 + quoted(Array(target.utf8))
        if let algorithm = challenge.algorithm { value += ", algorithm=\(algorithm)".utf8 }
        if let protection = challenge.protection {
            value += ", qop=\(protection.rawValue), nc=\(countText), cnonce=\"\(clientNonce)\"".utf8
        }
        value += ", response=\"\(response)\"".utf8
        if let opaque = challenge.opaque { value += ", opaque=".utf8 + quoted(opaque) }
        return value
    }

    /// Returns a quoted string (RFC 9110 section 5.6.4).
    private func quoted(_ text: [UInt8]) -> [UInt8] {
        var quoted = [UInt8(ascii: "\"")]
        for byte in text {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { quoted.append(UInt8(ascii: "\\")) }
            quoted.append(byte)
        }
        return quoted + [UInt8(ascii: "\"")]
    }

    /// Returns a nonce of the client: 128 random bits.
    static func newClientNonce() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) }.hexadecimal
    }
}
