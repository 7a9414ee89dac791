// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPDNSPrimitives
import HTTPTypes
import Testing

@testable import HTTPDNSCore
@testable import HTTPDNSVendors

/// What a service, or what answers in its place, may do wrong. Named after the list of the issue.
struct AlibabaHostileTests {
    private static let name = "www.example.com"

    @Test("Every prefix of a good body is refused without a crash", arguments: HTTPDNSAlibabaProvider.Version.allCases)
    func prefixes(version: HTTPDNSAlibabaProvider.Version) async throws {
        let body = version == .v1 ? AlibabaBody.v1 : AlibabaBody.v2
        for count in 0..<body.count {
            let scripted = try ScriptedAlibaba(version) { $0.reply(String(body.prefix(count))) }
            #expect(try await scripted.error()?.code == .badResponse, "\(count) octets")
        }
    }

    @Test("Every prefix of a good discovery changes nothing")
    func discoveryPrefixes() async throws {
        let body = #"{"service_ip":["198.51.100.1"],"service_status":"disable"}"#
        let location = try UpstreamLocation.vendor(url: "https://192.0.2.1", bootstrap: [], provider: "ali")
        let schedule = AlibabaSchedule(location: location, account: "1", region: .mainlandChina) { _ in [] }
        for count in 0..<body.count {
            #expect(throws: VendorAnswerError.self) { try schedule.discovery(parsing: Array(body.utf8.prefix(count))) }
        }
    }

    @Test("An answer of the other version is refused", arguments: HTTPDNSAlibabaProvider.Version.allCases)
    func otherVersion(version: HTTPDNSAlibabaProvider.Version) async throws {
        let scripted = try ScriptedAlibaba(version) { $0.reply(version == .v1 ? AlibabaBody.v2 : AlibabaBody.v1) }
        #expect(try await scripted.error()?.code == .badResponse)
    }

    #if Signing
    private func encrypted(
        _ encryption: HTTPDNSAlibabaProvider.Encryption,
        key: String = ScriptedAlibaba.aesKey,
        _ body: String
    ) async throws -> HTTPDNSProviderError? {
        let scripted = try ScriptedAlibaba(encryption: encryption, encryptionKey: HTTPDNSSecret { key }) {
            $0.reply(body)
        }
        return try await scripted.error(Self.name, .v4)
    }

    @Test("The unmodified answers of the following tests are accepted")
    func good() async throws {
        #expect(try await encrypted(.cbc, AlibabaBody.encrypted(AlibabaBody.cbcData, mode: "1")) == nil)
        #expect(try await encrypted(.gcm, AlibabaBody.encrypted(AlibabaBody.gcmData, mode: "\"2\"")) == nil)
    }

    @Test("An answer under another key is refused, with advice what to check")
    func wrongKey() async throws {
        let other = "f0e0d0c0b0a090807060504030201001"
        for (encryption, data, mode) in [
            (HTTPDNSAlibabaProvider.Encryption.cbc, AlibabaBody.cbcData, "1"), (.gcm, AlibabaBody.gcmData, "2"),
        ] {
            let error = try #require(
                try await encrypted(encryption, key: other, AlibabaBody.encrypted(data, mode: mode))
            )
            #expect(error.code == .badResponse)
            if encryption == .gcm { #expect(error.message.contains("check the encryption key")) }
        }
    }

    /// An answer in clear too.
    @Test("An answer in another cipher mode than the question's is refused")
    func wrongMode() async throws {
        for (encryption, body) in [
            (HTTPDNSAlibabaProvider.Encryption.cbc, AlibabaBody.encrypted(AlibabaBody.gcmData, mode: "2")),
            (.gcm, AlibabaBody.encrypted(AlibabaBody.cbcData, mode: "1")),
            (.cbc, AlibabaBody.encrypted(AlibabaBody.gcmData, mode: "1")),
            (.gcm, AlibabaBody.encrypted(AlibabaBody.cbcData, mode: "2")),
            (.cbc, AlibabaBody.v2), (.gcm, AlibabaBody.v2),
        ] {
            #expect(try await encrypted(encryption, body)?.code == .badResponse)
        }
        let plain = try ScriptedAlibaba { $0.reply(AlibabaBody.encrypted(AlibabaBody.gcmData, mode: "2")) }
        #expect(try await plain.error()?.message.contains("\"mode\" is 2") == true)
    }

    @Test(
        "Truncated cipher text, and text that is not Base64, are refused",
        arguments: [HTTPDNSAlibabaProvider.Encryption.cbc, .gcm]
    )
    func truncated(encryption: HTTPDNSAlibabaProvider.Encryption) async throws {
        let (data, mode) = encryption == .cbc ? (AlibabaBody.cbcData, "1") : (AlibabaBody.gcmData, "2")
        let payload = try #require(try AlibabaV2Payload(encryption, key: ScriptedAlibaba.aesKey))
        let whole = try payload.decrypted(data)
        for count in 0..<data.count {
            let text = try? payload.decrypted(String(data.prefix(count)))
            #expect(text != whole)
            if encryption == .gcm { #expect(text == nil) }
        }
        for cut in [0, 4, 20, 64] {
            let body = AlibabaBody.encrypted(String(data.prefix(cut)), mode: mode)
            #expect(try await encrypted(encryption, body)?.code == .badResponse)
        }
        for text in ["!!!!", "é", "00", data + "=", data.replacing("A", with: "-")] {
            #expect(try await encrypted(encryption, AlibabaBody.encrypted(text, mode: mode))?.code == .badResponse)
        }
    }

    @Test("Well-encrypted data that is no answer is refused, such as every prefix of one")
    func encryptedRubbish() async throws {
        let payload = try #require(try AlibabaV2Payload(.gcm, key: ScriptedAlibaba.aesKey))
        let key = try #require([UInt8](hexadecimal: ScriptedAlibaba.aesKey))
        let cipher = try #require(AESCipher(.gcm, key: key))
        let text = Array(try payload.decrypted(AlibabaBody.gcmData))
        let question = VendorQuery(hosts: [try HTTPDNSName(Self.name)], families: .v4)
        for count in 0..<text.count {
            let octets = try cipher.encrypt(Array(text.prefix(count)), vector: [UInt8](repeating: 3, count: 12))
            let body = AlibabaBody.encrypted(base64(octets), mode: "2")
            #expect(throws: VendorAnswerError.self) {
                try AlibabaV2Answer.read(Array(body.utf8), question: question, payload: payload)
            }
        }
    }

    /// Base64 by bits, so that the decoder is not measured by its mirror.
    private func base64(_ octets: [UInt8]) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
        var bits = octets.flatMap { octet in (0..<8).map { octet >> (7 - $0) & 1 } }
        while !bits.count.isMultiple(of: 6) { bits.append(0) }
        var text = stride(from: 0, to: bits.count, by: 6).map { start in
            alphabet[bits[start..<start + 6].reduce(0) { $0 << 1 | Int($1) }]
        }
        while !text.count.isMultiple(of: 4) { text.append("=") }
        return String(text)
    }
    #endif
}
