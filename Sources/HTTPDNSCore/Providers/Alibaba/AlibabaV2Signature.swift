/// The signature of version 2: HMAC-SHA256, keyed by the secret's bytes, over the parameters. They are sorted by name, with
/// their values before any escaping.
///
/// Source: three of the vendor's clients. The vendor publishes no test vectors.
struct AlibabaV2Signature {
    /// The parameters that the signature covers, in addition to those of custom resolution.
    private static let signed: Set<String> = ["id", "m", "dn", "cip", "q", "enc", "exp", "tags", "v"]

    private let key: [UInt8]

    /// - Throws: ``HTTPDNSProviderError`` when the secret is not hexadecimal. The error does not contain the secret.
    init(secret: String) throws(HTTPDNSProviderError) {
        guard let key = Hexadecimal.octets(secret), !key.isEmpty else {
            throw HTTPDNSProviderError(
                code: .notConfigured,
                message:
                    "the secret is not hexadecimal, or has an odd number of digits; copy it from the vendor's console"
            )
        }
        self.key = key
    }

    func signature(over parameters: [(name: String, value: String)]) throws(HTTPDNSProviderError) -> String {
        try VendorSigning.hmacSHA256(Self.text(of: parameters), key: key)
    }

    /// Returns the text that is signed.
    static func text(of parameters: [(name: String, value: String)]) -> String {
        parameters
            .filter { !$0.value.isEmpty }
            .filter { signed.contains($0.name) || $0.name.hasPrefix(AlibabaCustomParameters.prefix) }
            .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
            .map { "\($0.name)=\($0.value)" }
            .joined(separator: "&")
    }
}
