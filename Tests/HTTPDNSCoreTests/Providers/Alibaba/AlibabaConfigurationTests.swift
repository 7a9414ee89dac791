// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import HTTPDNSCore
@testable import HTTPDNSVendors

struct AlibabaConfigurationTests {
    private static let canary = "canary5f3759df"

    private func refusal(
        _ version: HTTPDNSAlibabaProvider.Version = .v2,
        secret: String? = nil,
        key: String? = nil,
        _ settings: (inout HTTPDNSAlibabaProvider.Configuration) -> Void = { _ in }
    ) throws -> String? {
        do {
            let secretPlace = secret.map { text in HTTPDNSSecret { text } }
            let keyPlace = key.map { text in HTTPDNSSecret { text } }
            _ = try ScriptedAlibaba(version, secret: secretPlace, encryptionKey: keyPlace, settings: settings) {
                $0.reply("")
            }
            return nil
        } catch let error as HTTPDNSProviderConfigurationError {
            #expect(error.provider == "ali")
            #expect(!error.description.contains(Self.canary))
            return error.message
        }
    }

    @Test("Plain settings of either version are accepted, with public answers by default")
    func plain() throws {
        for version in HTTPDNSAlibabaProvider.Version.allCases {
            #expect(try refusal(version) == nil)
            let scripted = try ScriptedAlibaba(version) { $0.reply("") }
            #expect(scripted.provider.name == "ali" && scripted.provider.answerScope == .public)
        }
        let near = try ScriptedAlibaba(settings: { $0.url = "http://127.0.0.1:8053" }) { $0.reply("") }
        #expect(near.provider.answerScope == .public)
        let allowed = try ScriptedAlibaba(settings: { $0.answerScope = .private }) { $0.reply("") }
        #expect(allowed.provider.answerScope == .private)
    }

    @Test(
        "An account that would break a URL is refused",
        arguments: ["", "a/b", "a?b", "a b", "é", "a&b", "..%2f", String(repeating: "1", count: 129)]
    )
    func accounts(account: String) throws {
        #expect(try refusal { $0.credential.account = account }?.contains("account") == true)
    }

    @Test(
        "A URL that cannot be used is refused with advice",
        arguments: [
            ("http://192.0.2.1", "https://"), ("https://dns.example", "bootstrap"), ("https://192.0.2.1/v2/d", "path"),
            ("https://192.0.2.1/?a=b", "path"), ("https://me:x@192.0.2.1", "user name"), ("ftp://192.0.2.1", "url"),
        ]
    )
    func urls(url: String, word: String) throws {
        #expect(try refusal { $0.url = url }?.contains(word) == true)
    }

    @Test("The region without published addresses needs addresses in the settings")
    func global() throws {
        #expect(try refusal { $0.region = .global }?.contains("bootstrap") == true)
        #expect(
            try refusal {
                $0.region = .global
                $0.bootstrap = [HTTPDNSAddress(v4: 192, 0, 2, 1)]
            } == nil
        )
    }

    @Test(
        "Custom parameters that the vendor would drop silently are refused",
        arguments: [
            ["": "a"], ["a b": "c"], ["a": ""], ["a": "b c"], ["a": "b&s=1"], ["a": "é"], ["é": "a"], ["a.b": "c"],
            ["sdns-a": "b"], ["a": "\"}"], ["a": String(repeating: "b", count: 1000)],
        ]
    )
    func customParameters(parameters: [String: String]) throws {
        for version in HTTPDNSAlibabaProvider.Version.allCases {
            #expect(try refusal(version) { $0.customParameters = parameters }?.contains("custom parameter") == true)
        }
        #expect(try refusal { $0.customParameters = ["a": String(repeating: "b", count: 999)] } == nil)
    }

    @Test("Version 1 has no encryption, and encryption and key need each other")
    func encryption() throws {
        #expect(try refusal(.v1) { $0.encryption = .gcm }?.contains("version 1") == true)
        #expect(try refusal(.v1, key: ScriptedAlibaba.aesKey)?.contains("version 1") == true)
        #expect(try refusal { $0.encryption = .gcm }?.contains("key") == true)
        #expect(try refusal(key: ScriptedAlibaba.aesKey)?.contains("key") == true)
    }

    #if Signing
    /// Version 1 accepts any text.
    @Test(
        "Version 2 refuses a secret that is not hexadecimal, without repeating it",
        arguments: [canary, "abc", "0x00", "00 11"]
    )
    func secrets(text: String) throws {
        #expect(try refusal(secret: text)?.contains("hexadecimal") == true)
        #expect(try refusal(.v1, secret: text) == nil)
    }

    @Test(
        "An encryption key that is not 32 hexadecimal digits is refused immediately",
        arguments: [canary, "00", "abc", ScriptedAlibaba.aesKey + "0", ScriptedAlibaba.aesKey + "00"]
    )
    func keys(text: String) throws {
        #expect(try refusal(key: text) { $0.encryption = .cbc }?.contains("32 hexadecimal digits") == true)
    }

    @Test("A secret that cannot be read is reported with its source")
    func missing() throws {
        let message = try refusal(.v1) { $0.credential.secret = .file("/nowhere/ali") }
        #expect(message?.contains("/nowhere/ali") == true)
    }
    #endif
}
