// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if LocalProvider && Signing
import HTTPDNSCore
import HTTPDNSVendors
import Testing

/// The client and the service of one account of Alibaba's.
enum AlibabaAccount {
    static let secret = "000102030405060708090a0b0c0d0e0f"
    static let key = "f0e0d0c0b0a090807060504030201000"

    /// What a client may be set to.
    struct Client: Sendable, CustomTestStringConvertible {
        var version = HTTPDNSAlibabaProvider.Version.v2
        var isSigned = false
        var encryption: HTTPDNSAlibabaProvider.Encryption?

        var testDescription: String {
            "\(version)\(isSigned ? " signed" : "")\(encryption.map { " \($0)" } ?? "")"
        }

        static let all = [
            Client(version: .v1), Client(version: .v1, isSigned: true), Client(), Client(isSigned: true),
            Client(encryption: .cbc), Client(encryption: .gcm), Client(isSigned: true, encryption: .cbc),
            Client(isSigned: true, encryption: .gcm),
        ]

        /// - Parameters:
        ///   - secret: In the place of the account's.
        ///   - key: In the place of the account's.
        func provider(
            _ url: String,
            secret: String = AlibabaAccount.secret,
            key: String = AlibabaAccount.key,
            _ settings: (inout HTTPDNSAlibabaProvider.Configuration) -> Void = { _ in }
        ) throws -> HTTPDNSAlibabaProvider {
            var configuration = HTTPDNSAlibabaProvider.Configuration(
                name: "ali",
                version: version,
                credential: HTTPDNSVendorCredential(
                    account: "123456",
                    secret: isSigned ? HTTPDNSSecret { secret } : nil,
                    encryptionKey: encryption.map { _ in HTTPDNSSecret { key } }
                )
            )
            configuration.encryption = encryption
            configuration.url = url
            configuration.discoversAddresses = false
            settings(&configuration)
            return try HTTPDNSAlibabaProvider(configuration)
        }

        /// The part `serve` for an account that wants what the client does.
        func serve(_ more: String = "") throws -> String {
            let secret = isSigned ? ", secret: \(try Secrets.place(AlibabaAccount.secret))" : ""
            let key = try Secrets.place(AlibabaAccount.key)
            return "alibaba: { account: \"123456\"\(secret), encryption_key: \(key) }\n\(more)"
        }
    }
}
#endif
