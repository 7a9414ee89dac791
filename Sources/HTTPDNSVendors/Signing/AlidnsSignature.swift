// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSCore
internal import HTTPDNSPrimitives

#if Signing
internal import Crypto
#endif

extension HTTPDNSJSONProvider.Service {
    /// Alidns with an account: every query is signed with SHA-256 and the time of the machine's clock.
    ///
    /// Needs the package trait `Signing`.
    /// - Parameters:
    ///   - account: The account (`uid`): letters, digits, `-`, `_` and `.`.
    ///   - accessKey: The identifier of the access key (`ak`), in the same characters.
    ///   - secret: The secret of the access key.
    public static func alidns(
        account: String,
        accessKey: String,
        secret: HTTPDNSSecret
    ) -> HTTPDNSJSONProvider.Service {
        HTTPDNSJSONProvider.Service(
            url: "https://223.5.5.5/resolve",
            bootstrap: HTTPDNSJSONProvider.Service.alidns.bootstrap,
            acceptsClientSubnet: true,
            signature: AlidnsSignature(account: account, accessKey: accessKey, secret: secret)
        )
    }
}

/// The signature of queries to Alidns with an account: the parameters `uid`, `ak`, `ts` and `key`.
///
/// `key` is the SHA-256, in hexadecimal, of uid, secret, ts, name and ak without separators.
///
/// Source: Alidns' reference of its JSON API for the parameters, its published clients in Go, C# and JavaScript for the
/// formula.
struct AlidnsSignature: JSONQuerySigning {
    let account: String
    let accessKey: String
    let secret: HTTPDNSSecret

    func check(provider: String) throws(HTTPDNSProviderConfigurationError) {
        func refusal(_ message: String) -> HTTPDNSProviderConfigurationError {
            HTTPDNSProviderConfigurationError(provider: provider, message: message)
        }
        #if Signing
        for (name, word) in [("account", account), ("access key", accessKey)] {
            guard !word.isEmpty, word.utf8.allSatisfy({ $0.isLetterOrDigit(or: "-_.") }) else {
                throw refusal("its \(name) is empty or has other characters than a-z, A-Z, 0-9, -, _ and .")
            }
        }
        do {
            _ = try secret.read()
        } catch {
            throw refusal("\(error)")
        }
        #else
        throw refusal(
            "an account of Alidns signs its queries, which this build cannot: enable the trait Signing of the package "
                + "swift-httpdns, or use Alidns without an account"
        )
        #endif
    }

    func parameters(
        for host: HTTPDNSName,
        at seconds: Int64,
        until deadline: MonotonicTime,
        on time: any TimeSource
    ) async throws -> String {
        #if Signing
        let word: String
        do {
            word = try await secret.current(until: deadline, on: time)
        } catch let error as SecretError {
            throw HTTPDNSProviderError(unreadable: error)
        }
        let text = "\(account)\(word)\(seconds)\(host)\(accessKey)"
        let key = Array(SHA256.hash(data: Array(text.utf8))).hexadecimal
        return "&uid=\(account)&ak=\(accessKey)&ts=\(seconds)&key=\(key)"
        #else
        throw HTTPDNSProviderError(
            code: .notConfigured,
            message: "this build has no signatures (package trait Signing)"
        )
        #endif
    }

    func isSame(as other: any JSONQuerySigning) -> Bool {
        guard let other = other as? AlidnsSignature else { return false }
        return other.account == account && other.accessKey == accessKey && other.secret == secret
    }
}
