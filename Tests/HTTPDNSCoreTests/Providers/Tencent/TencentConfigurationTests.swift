// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import HTTPDNSCore
@testable import HTTPDNSVendors

struct TencentConfigurationTests {
    private static let canary = "canary 5f3759df canary"

    private func refusal(
        _ access: ScriptedTencent.Access = .token,
        secret: String? = nil,
        _ settings: (inout HTTPDNSTencentProvider.Configuration) -> Void = { _ in }
    ) throws -> String? {
        do {
            _ = try ScriptedTencent(access, secret: secret.map { text in HTTPDNSSecret { text } }, settings: settings) {
                $0.reply("")
            }
            return nil
        } catch let error as HTTPDNSProviderConfigurationError {
            #expect(error.provider == "tencent" && !error.description.contains(Self.canary))
            return error.message
        }
    }

    @Test("Plain settings of either kind are accepted, with public answers by default")
    func plain() throws {
        for access in ScriptedTencent.Access.allCases {
            #expect(try refusal(access) == nil)
            let scripted = try ScriptedTencent(access) { $0.reply("") }
            #expect(scripted.provider.name == "tencent" && scripted.provider.kind == "tencent")
            #expect(scripted.provider.answerScope == .public)
        }
        let near = try ScriptedTencent(settings: { $0.url = "http://127.0.0.1:8053" }) { $0.reply("") }
        #expect(near.provider.answerScope == .public)
        let allowed = try ScriptedTencent(settings: { $0.answerScope = .private }) { $0.reply("") }
        #expect(allowed.provider.answerScope == .private)
    }

    @Test("The defaults are those of the documentation")
    func defaults() {
        let credential = HTTPDNSVendorCredential(account: "1")
        let settings = HTTPDNSTencentProvider.Configuration(name: "a", credential: credential)
        #expect(settings.region == .mainlandChina && settings.url == nil && settings.bootstrap.isEmpty)
        #expect(settings.sendsExpiry && settings.encryptsClientSubnet && settings.discoversAddresses)
        #expect(settings.accountRefusalStatuses.isEmpty && settings.addressStore == nil)
    }

    @Test("Either a token or a key is needed, and not both")
    func secrets() throws {
        let word = "one of two"
        #expect(try refusal { $0.credential = HTTPDNSVendorCredential(account: "1") }?.contains(word) == true)
        #expect(try refusal { $0.credential.encryptionKey = HTTPDNSSecret { "a" } }?.contains(word) == true)
    }

    /// The vendor's entry in clear is such a URL.
    @Test(
        "A URL that cannot be used is refused with advice",
        arguments: [
            ("http://119.29.29.98", "https://"), ("https://dns.example", "bootstrap"), ("https://192.0.2.1/d", "path"),
            ("https://192.0.2.1/?a=b", "path"), ("https://me:x@192.0.2.1", "user name"), ("ftp://192.0.2.1", "url"),
        ]
    )
    func urls(url: String, word: String) throws {
        for access in ScriptedTencent.Access.allCases {
            #expect(try refusal(access) { $0.url = url }?.contains(word) == true)
        }
    }

    @Test(
        "A token that would break a URL is refused immediately, without repeating it",
        arguments: [canary, "a&b", "a?", "é", "%41"]
    )
    func tokens(text: String) throws {
        #expect(try refusal(secret: text)?.contains("token") == true)
    }

    @Test("A secret that cannot be read is reported with its source")
    func missing() throws {
        #expect(try refusal { $0.credential.secret = .file("/nowhere/tc") }?.contains("/nowhere/tc") == true)
    }

    @Test(
        "A temporary status cannot be configured as an account refusal",
        arguments: [200, 302, 399, 408, 429, 500, 501, 0, -1]
    )
    func statuses(status: Int) throws {
        let message = try refusal { $0.accountRefusalStatuses = [401, status] }
        #expect(message?.contains("status \(status) ") == true)
        #expect(try refusal { $0.accountRefusalStatuses = [400, 401, 403, 499] } == nil)
    }

    #if Signing
    @Test(
        "A key of more than 16 bytes is refused immediately, without repeating it",
        arguments: [canary, "éééééééée"]
    )
    func keys(text: String) throws {
        #expect(try refusal(.aes, secret: text)?.contains("1 to 16 bytes") == true)
    }

    @Test(
        "The account of encrypted queries is a number, and is not sent with a token",
        arguments: ["", "a", "1&b", "12345678901"]
    )
    func accounts(account: String) throws {
        #expect(try refusal(.aes) { $0.credential.account = account }?.contains("not a number") == true)
        #expect(try refusal(.token) { $0.credential.account = account } == nil)
    }
    #endif
}
