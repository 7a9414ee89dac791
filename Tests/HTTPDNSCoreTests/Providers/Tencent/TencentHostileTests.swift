// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPTypes
import Testing

@testable import HTTPDNSCore
@testable import HTTPDNSVendors

/// What a service, or what answers in its place, may do wrong. Named after the list of the issue.
struct TencentHostileTests {
    private static let name = "www.example.com"

    private func error(
        _ access: ScriptedTencent.Access = .token,
        key: String? = nil,
        _ body: String,
        fields: HTTPFields = [:]
    ) async throws -> HTTPDNSProviderError? {
        let scripted = try ScriptedTencent(access, secret: key.map { key in HTTPDNSSecret { key } }) {
            $0.reply(body, fields: fields)
        }
        return try await scripted.error()
    }

    @Test("The unmodified answers of the following tests are accepted", arguments: ScriptedTencent.Access.allCases)
    func good(access: ScriptedTencent.Access) async throws {
        let body = try TencentBody.written(TencentBody.both, access)
        let answer = try await ScriptedTencent(access) { $0.reply(body) }.resolve()
        let v4 = [TencentBody.address, HTTPDNSAddress(v4: 192, 0, 2, 11)]
        #expect(answer.v4 == .addresses(v4, timeToLive: .seconds(120), canonicalName: nil))
        #expect(answer.v6 == .addresses([TencentBody.address6], timeToLive: .seconds(90), canonicalName: nil))
    }

    /// It gives the same where it lacks a part of the client's address alone.
    @Test(
        "Every prefix of a good body is refused or gives the same answer",
        arguments: [TencentBody.both, "www.example.com.:0|203.0.113.7", "www.example.com.:0-0|2001:db8::7"]
    )
    func prefixes(body: String) async throws {
        let whole = try await ScriptedTencent { $0.reply(body) }.resolve()
        let end = body.utf8.count - (body.split(separator: "|").last?.utf8.count ?? 0)
        for count in 0..<body.utf8.count {
            let scripted = try ScriptedTencent { $0.reply(String(body.prefix(count))) }
            do {
                #expect(try await scripted.resolve() == whole && count > end, "\(count) octets")
            } catch let error as HTTPDNSProviderError {
                #expect(error.code == .badResponse, "\(count) octets")
            }
        }
    }

    @Test("Every prefix of a good server list is refused, or has the same addresses")
    func discoveryPrefixes() throws {
        let body = Array(TencentBody.services.utf8)
        let whole = try TencentServiceList.read(body, port: 443)
        let end = body.count - "60".utf8.count
        for count in 0..<end {
            #expect(throws: VendorAnswerError.self) {
                try TencentServiceList.read(Array(body.prefix(count)), port: 443)
            }
        }
        for count in end...body.count {
            #expect(try TencentServiceList.read(Array(body.prefix(count)), port: 443).endpoints == whole.endpoints)
        }
    }

    @Test("An empty answer names the likely cause", arguments: ScriptedTencent.Access.allCases, ["", "\n", "\r\n"])
    func empty(access: ScriptedTencent.Access, body: String) async throws {
        let error = try #require(try await error(access, body))
        #expect(error.code == .badResponse)
        #expect(error.message.contains("account or \(access == .token ? "token" : "key") refused?"), "\(error)")
    }

    @Test(
        "Other texts are refused, and never taken for an absence",
        arguments: [
            "error", "err: bad token", "{\"code\":1}", "0", "-1", "null", "error|203.0.113.7", "a b|203.0.113.7",
        ]
    )
    func texts(text: String) async throws {
        #expect(try await error(.token, text)?.code == .badResponse)
    }

    #if Signing
    /// The advice is there where the padding shows it.
    @Test("An answer under another key is refused, with advice to check the key")
    func wrongKey() async throws {
        let body = try TencentBody.written(TencentBody.both, .aes)
        var advised = 0
        for index in 0..<50 {
            let error = try #require(try await error(.aes, key: "another key \(index)", body))
            #expect(error.code == .badResponse)
            if error.message.contains("check the encryption key") { advised += 1 }
        }
        // By chance the padding is right once in 255 times.
        #expect(advised >= 45)
    }

    @Test("An answer in clear to an encrypted question is refused, and the reverse")
    func wrongMode() async throws {
        #expect(try await error(.aes, TencentBody.both)?.message.contains("hexadecimal") == true)
        #expect(try await error(.token, try TencentBody.written(TencentBody.both, .aes))?.code == .badResponse)
    }

    @Test("Truncated cipher text is refused at every length")
    func truncated() async throws {
        let body = try TencentBody.written(TencentBody.both, .aes)
        for count in 0..<body.count {
            #expect(try await error(.aes, String(body.prefix(count)))?.code == .badResponse, "\(count) digits")
        }
        #expect(try await error(.aes, String(body.prefix(32)))?.message.contains("cut off") == true)
    }

    @Test("An odd number of hexadecimal digits and other characters are refused")
    func oddHex() async throws {
        let body = try TencentBody.written(TencentBody.both, .aes)
        for text in [body + "0", "0x" + body, body + " 00", body.replacing("a", with: "g"), " " + body, "é" + body] {
            let error = try #require(try await error(.aes, text))
            #expect(error.code == .badResponse && error.message.contains("hexadecimal"))
        }
        #expect(try await error(.aes, body.uppercased() + "\r\n") == nil)
    }

    @Test("Well-encrypted data that is no answer is refused, such as every prefix of one")
    func encryptedRubbish() async throws {
        let end = try #require(TencentBody.both.firstIndex(of: "|"))
        for text in TencentBody.both[..<end].indices.map({ String(TencentBody.both[..<$0]) }) + [
            "\u{0}\u{1}", "<html>",
        ] {
            let error = try await error(.aes, try TencentBody.written(text, .aes))
            #expect(error?.code == .badResponse, "\(text)")
        }
    }
    #endif
}
