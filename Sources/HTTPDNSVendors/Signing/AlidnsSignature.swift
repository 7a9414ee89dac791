internal import HTTPDNSPrimitives

#if Signing
internal import Crypto
#endif

/// The signature of queries to Alidns with an account: the parameters `uid`, `ak`, `ts` and `key`.
///
/// `key` is the SHA-256, in hexadecimal, of uid, secret, ts, name and ak without separators.
///
/// Source: Alidns' reference of its JSON API for the parameters, its published clients in Go, C# and JavaScript for the
/// formula.
struct AlidnsSignature {
    private let account: HTTPDNSJSONProvider.Service.Account

    init(
        _ account: HTTPDNSJSONProvider.Service.Account,
        provider: String
    ) throws(HTTPDNSProviderConfigurationError) {
        func refusal(_ message: String) -> HTTPDNSProviderConfigurationError {
            HTTPDNSProviderConfigurationError(provider: provider, message: message)
        }
        #if Signing
        for (name, word) in [("account", account.identifier), ("access key", account.accessKey)] {
            guard !word.isEmpty, word.utf8.allSatisfy(Self.isWordOctet) else {
                throw refusal("its \(name) is empty or has other characters than a-z, A-Z, 0-9, -, _ and .")
            }
        }
        do {
            _ = try account.secret.read()
        } catch {
            throw refusal("\(error)")
        }
        self.account = account
        #else
        throw refusal(
            "an account of Alidns signs its queries, which this build cannot: enable the trait Signing of the package "
                + "swift-httpdns, or use Alidns without an account"
        )
        #endif
    }

    /// Returns the parameters for a query for `host`, beginning with `&`.
    /// - Throws: ``HTTPDNSProviderError`` when the secret cannot be read any more.
    func parameters(for host: HTTPDNSName, at seconds: Int64) async throws -> String {
        #if Signing
        let secret: String
        do {
            secret = try await account.secret.current()
        } catch let error as SecretError {
            throw HTTPDNSProviderError(code: .notConfigured, message: "\(error)")
        }
        let text = "\(account.identifier)\(secret)\(seconds)\(host)\(account.accessKey)"
        let key = SHA256.hash(data: Array(text.utf8)).map { octet in
            (octet < 16 ? "0" : "") + String(octet, radix: 16)
        }
        return "&uid=\(account.identifier)&ak=\(account.accessKey)&ts=\(seconds)&key=\(key.joined())"
        #else
        throw HTTPDNSProviderError(
            code: .notConfigured,
            message: "this build has no signatures (package trait Signing)"
        )
        #endif
    }

    private static func isWordOctet(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}
