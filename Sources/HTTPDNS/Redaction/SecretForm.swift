// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The secrets that are recognized by their form, whatever name they have. A value: one for each text.
struct SecretForm {
    /// A key that begins with the prefix of a service.
    private struct Key {
        let prefix: [UInt8]
        /// The least bytes behind the prefix.
        let minimum: Int
        /// Whether other texts begin like this, so that a digit decides.
        var needsDigit = false
        /// Whether `-` and `_` belong to the key.
        var hasMarks = false
        var isUpperCase = false

        init(_ prefix: String, _ minimum: Int, needsDigit: Bool = false, hasMarks: Bool = false, upper: Bool = false) {
            self.prefix = Array(prefix.utf8)
            self.minimum = minimum
            (self.needsDigit, self.hasMarks, isUpperCase) = (needsDigit, hasMarks, upper)
        }

        func includes(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
            case UInt8(ascii: "a")...UInt8(ascii: "z"): !isUpperCase
            case UInt8(ascii: "-"), UInt8(ascii: "_"): hasMarks
            default: false
            }
        }
    }

    /// Those of AWS, GitHub, GitLab, Slack, Stripe, Google, npm, PyPI, SendGrid, OpenAI, Hugging Face, DigitalOcean, Shopify.
    private static let keys: [UInt8: [Key]] = Dictionary(
        grouping: [
            Key("AKIA", 12, upper: true), Key("ASIA", 12, upper: true),
            Key("ghp_", 10), Key("gho_", 10), Key("ghu_", 10), Key("ghs_", 10), Key("ghr_", 10),
            Key("github_pat_", 10, hasMarks: true), Key("glpat-", 10, hasMarks: true),
            Key("xoxb-", 8, hasMarks: true), Key("xoxa-", 8, hasMarks: true), Key("xoxp-", 8, hasMarks: true),
            Key("xoxr-", 8, hasMarks: true), Key("xoxs-", 8, hasMarks: true), Key("xoxe-", 8, hasMarks: true),
            Key("xoxe.", 8, hasMarks: true), Key("xapp-", 8, hasMarks: true),
            Key("sk_live_", 8), Key("sk_test_", 8), Key("rk_live_", 8), Key("rk_test_", 8), Key("whsec_", 8),
            Key("AIza", 30, hasMarks: true), Key("ya29.", 16, hasMarks: true), Key("GOCSPX-", 16, hasMarks: true),
            Key("npm_", 30), Key("pypi-", 30, hasMarks: true), Key("SG.", 16, hasMarks: true),
            Key("sk-", 20, needsDigit: true, hasMarks: true), Key("hf_", 20), Key("dop_v1_", 20), Key("shpat_", 20),
        ],
        by: { $0.prefix[0] }
    )

    /// The schemes of credentials, in lower case.
    private static let schemes: [UInt8: [[UInt8]]] = Dictionary(
        grouping: ["apikey", "basic", "bearer", "dpop", "negotiate", "ntlm", "splunk", "ssws", "token"].map {
            Array($0.utf8)
        },
        by: { $0[0] }
    )
    private static let basic = Array("basic".utf8)
    private static let token = Array("token".utf8)
    private static let pemStart = Array("-----BEGIN ".utf8)
    private static let pemEnd = Array("-----END ".utf8)
    private static let tokenStart = Array("eyJ".utf8)

    private static let starts: [Bool] = (0...255).map { byte in
        let byte = UInt8(byte)
        let isLetter = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
        return byte == UInt8(ascii: "-") || byte == tokenStart[0] || keys[byte] != nil || schemes[byte] != nil
            || isLetter && schemes[byte | 0x20] != nil
    }

    /// The index before which no JSON Web Token begins, and that for keys: a run of bytes is read once.
    private var (noToken, noKey) = (0, 0)

    /// Returns whether a secret may begin with a byte.
    static func mayBegin(_ byte: UInt8) -> Bool { starts[Int(byte)] }

    /// Returns the bytes of a secret that begins at an index, without the name of its scheme.
    mutating func secret(_ bytes: [UInt8], at index: Int) -> Range<Int>? {
        let previous = index > 0 ? bytes[index - 1] : 0
        let byte = bytes[index]
        if byte == UInt8(ascii: "-") { return previous == byte ? nil : Self.privateKey(bytes, index) }
        guard !previous.isLetterOrDigit() else { return nil }
        if byte == Self.tokenStart[0], let range = webToken(bytes, index) { return range }
        if let range = key(bytes, index) { return range }
        return Self.credential(bytes, index)
    }

    // MARK: forms

    /// Returns the bytes of a private key in PEM (RFC 7468).
    private static func privateKey(_ bytes: [UInt8], _ index: Int) -> Range<Int>? {
        guard bytes[index...].starts(with: pemStart) else { return nil }
        let label = bytes[(index + pemStart.count)...].prefix(40).prefix { byte in
            (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) || byte == UInt8(ascii: " ")
        }
        guard label.contains(sequence: Array("PRIVATE KEY".utf8)),
            bytes[label.endIndex...].starts(with: pemStart.prefix(5))
        else { return nil }
        let start = label.endIndex + 5
        guard !bytes[start...].starts(with: HTTPDNSClient.Redaction.mark.utf8) else { return nil }
        let end = bytes[start...].firstRange(of: pemEnd)?.lowerBound ?? bytes.count
        return start < end ? start..<end : nil
    }

    /// Returns a token of three parts (RFC 7515) or five (RFC 7516) in Base64, of which the first is a JSON object. A token may
    /// end within the second one.
    private mutating func webToken(_ bytes: [UInt8], _ index: Int) -> Range<Int>? {
        guard index >= noToken, bytes[index...].starts(with: Self.tokenStart) else { return nil }
        var (end, parts, isObject) = (index, 0, false)
        while true {
            let start = end
            end = bytes[start...].firstIndex { !Self.isBase64URL($0) } ?? bytes.count
            parts += 1
            if parts == 1, end - start < 6 { break }
            if parts == 2 { isObject = bytes[start..<end].starts(with: Self.tokenStart) }
            guard parts < 5, end < bytes.count, bytes[end] == UInt8(ascii: ".") else { break }
            end += 1
        }
        guard parts > 2 || parts == 2 && isObject else {
            noToken = end
            return nil
        }
        // A full stop may end a sentence.
        if parts == 2 || parts > 3, bytes[end - 1] == UInt8(ascii: ".") { end -= 1 }
        return index..<end
    }

    private mutating func key(_ bytes: [UInt8], _ index: Int) -> Range<Int>? {
        guard index >= noKey, let keys = Self.keys[bytes[index]] else { return nil }
        for key in keys where bytes[index...].starts(with: key.prefix) {
            let start = index + key.prefix.count
            let end = bytes[start...].firstIndex { !key.includes($0) } ?? bytes.count
            guard end - start >= key.minimum, !key.needsDigit || bytes[start..<end].contains(where: \.isDigit) else {
                if end - start > 256 { noKey = end }
                continue
            }
            // A key that has parts.
            let rest = bytes[end...].prefix { key.hasMarks && (key.includes($0) || $0 == UInt8(ascii: ".")) }
            return index..<rest.endIndex
        }
        return nil
    }

    /// Returns the credential behind a scheme (RFC 9110 section 11.4), such as that of `Bearer abc`.
    private static func credential(_ bytes: [UInt8], _ index: Int) -> Range<Int>? {
        guard let schemes = schemes[bytes[index] | 0x20] else { return nil }
        func isNamed(_ scheme: [UInt8]) -> Bool {
            bytes[index...].prefix(scheme.count).lazy.map { $0 | 0x20 }.elementsEqual(scheme)
        }
        guard let scheme = schemes.first(where: isNamed) else { return nil }
        let start = bytes[(index + scheme.count)...].firstIndex { $0 != UInt8(ascii: " ") } ?? bytes.count
        guard start > index + scheme.count, start < bytes.count else { return nil }
        let run = bytes[start...].prefix { isBase64URL($0) || credentialMarks.contains($0) }
        let signs = bytes[run.endIndex...].prefix { $0 == UInt8(ascii: "=") }
        guard !run.isEmpty, !isParameter(bytes, run, signs) else { return nil }
        let isWhole = index == 0 && signs.endIndex == bytes.count
        let hasDigit = run.contains(where: \.isDigit)
        let isSecret =
            if scheme == basic {
                isWhole && run.count >= 16 || isPair(run)
            } else if isWhole {
                scheme != token || run.count >= 8 || hasDigit
            } else {
                run.count >= 24 || run.count >= 8 && hasDigit
            }
        return isSecret ? start..<signs.endIndex : nil
    }

    private static let credentialMarks = Set(".~+/".utf8)

    /// Returns whether bytes are the name of a parameter, as in `Bearer realm="a"`, and no credential.
    private static func isParameter(_ bytes: [UInt8], _ run: ArraySlice<UInt8>, _ signs: ArraySlice<UInt8>) -> Bool {
        guard !signs.isEmpty, signs.endIndex < bytes.count else { return false }
        let next = bytes[signs.endIndex]
        let isQuoted = next == UInt8(ascii: "\"") || next == UInt8(ascii: "'")
        guard isQuoted else { return isBase64URL(next) }
        return signs.count == 1 && run.allSatisfy { $0.isLetter || $0 == UInt8(ascii: "_") }
    }

    /// Returns whether Base64 is that of a user and a password (RFC 7617).
    private static func isPair(_ run: ArraySlice<UInt8>) -> Bool {
        let whole = run.prefix(run.count / 4 * 4)
        guard !whole.isEmpty else { return false }
        let count = run.count % 4
        let rest = count < 2 ? [] : run.suffix(count) + [UInt8](repeating: UInt8(ascii: "A"), count: 4 - count)
        return Base64.bytes(String(decoding: whole + rest, as: UTF8.self))?.contains(UInt8(ascii: ":")) ?? false
    }

    // MARK: bytes

    private static func isBase64URL(_ byte: UInt8) -> Bool { byte.isLetterOrDigit(or: "-_") }
}

extension ArraySlice<UInt8> {
    fileprivate func contains(sequence: [UInt8]) -> Bool { firstRange(of: sequence) != nil }
}
