// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSVendors
import Testing

#if !Signing
/// Accounts that sign or encrypt their queries, in a program without the trait for it.
struct AccountTests {
    private static let canary = "ca0a57deadbeef00ca0a57deadbeef00"

    /// What the error says, whose description never repeats a secret.
    private func refusal(_ make: () throws -> Void) -> String? {
        let error = #expect(throws: HTTPDNSProviderConfigurationError.self) { try make() }
        #expect(error?.description.contains(Self.canary) == false)
        return error?.message
    }

    private static let signing: [(HTTPDNSAlibabaProvider.Version, HTTPDNSVendorCredential)] = [
        (.v1, HTTPDNSVendorCredential(account: "1", secret: HTTPDNSSecret { canary })),
        (.v2, HTTPDNSVendorCredential(account: "1", secret: HTTPDNSSecret { canary })),
        (.v2, HTTPDNSVendorCredential(account: "1", encryptionKey: HTTPDNSSecret { canary })),
    ]

    @Test("An Alibaba account that signs is refused with the name of the missing trait", arguments: signing.indices)
    func alibaba(index: Int) throws {
        let (version, credential) = Self.signing[index]
        let message = refusal {
            var configuration = HTTPDNSAlibabaProvider.Configuration(
                name: "ali",
                version: version,
                credential: credential
            )
            if credential.encryptionKey != nil { configuration.encryption = .gcm }
            _ = try HTTPDNSAlibabaProvider(configuration)
        }
        #expect(message?.contains("trait Signing") == true)
    }

    @Test("A Tencent encryption key is refused with the name of the missing trait")
    func tencent() throws {
        let message = refusal {
            let credential = HTTPDNSVendorCredential(account: "1", encryptionKey: HTTPDNSSecret { Self.canary })
            _ = try HTTPDNSTencentProvider(
                HTTPDNSTencentProvider.Configuration(name: "tencent", credential: credential)
            )
        }
        #expect(message?.contains("trait Signing") == true)
    }

    @Test("An Alidns account is refused with the name of the missing trait")
    func alidns() throws {
        let message = refusal {
            let secret = HTTPDNSSecret { Self.canary }
            let service = HTTPDNSJSONProvider.Service.alidns(account: "9999", accessKey: "test", secret: secret)
            _ = try HTTPDNSJSONProvider(.init(name: "alidns", service: service))
        }
        #expect(message?.contains("trait Signing") == true)
    }
}
#endif
