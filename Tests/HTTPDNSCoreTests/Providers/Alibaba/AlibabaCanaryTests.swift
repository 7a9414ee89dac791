// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if Signing
import HTTPDNSCurl
import Foundation
import HTTPDNSPrimitives
import HTTPTypes
import Testing

@testable import HTTPDNSCore
@testable import HTTPDNSVendors

/// No secret, signature, signed URL or cipher text in anything that the library can say.
struct AlibabaCanaryTests {
    private static let secret = "ca0a57deadbeef00ca0a57deadbeef00"
    private static let key = "ca0a57feedface11ca0a57feedface11"

    /// Replies that a hostile or broken service may send; some repeat the request.
    private static let failures: [ScriptedAlibaba.Answer] = [
        { $0.reply("", status: 500) }, { $0.reply("<html>", status: 403) }, { $0.refusal("InvalidSignature") },
        { $0.refusal("SignatureExpired", fields: [.date: "Tue, 14 Nov 2023 22:13:20 GMT"]) },
        { $0.refusal("InvalidHost") },
        { $0.refusal($0.parameters["s"] ?? "", status: 400) }, { $0.refusal($0.request.url.description, status: 200) },
        { $0.refusal($0.parameters["enc"] ?? "", status: 503) }, { $0.reply($0.request.url.description) },
        { $0.reply(#"{"code":"success","mode":1,"data":"\#(secret)\#(key)"}"#) },
        { $0.reply(#"{"code":"success","mode":"\#(key)","data":{"answers":"\#(secret)"}}"#) },
        { $0.reply(#"{"\#(secret)":1,"\#(secret)":2}"#) },
        { $0.reply(#"{"code":"success","data":{"answers":[{"dn":"\#(secret)"}]}}"#) },
        // A portal or a broken server repeats the request line where a media type or an error code belongs.
        { $0.reply("", fields: [.contentType: $0.request.url.target]) },
        { $0.reply("<html>", fields: [.contentType: "GET \($0.request.url.target) HTTP/1.1"]) },
        { $0.reply("<html>", status: 403, fields: [.contentType: $0.request.url.description]) },
        { $0.reply("<html>", fields: [.contentType: "text/html; \($0.request.url.target)"]) },
        // The signature's own letters would pass for a word.
        { $0.refusal(String(($0.parameters["s"] ?? "").filter(\.isLetter)), status: 200) },
        { $0.refusal(String(($0.parameters["enc"] ?? "").filter(\.isLetter).prefix(40)), status: 403) },
        { _ in throw ScriptedVendorExchange.failure(.connectFailed) },
        { _ in throw ScriptedVendorExchange.failure(.certificateRefused) },
        { $0.reply(AlibabaBody.encrypted(AlibabaBody.cbcData, mode: "1")) },
    ]

    /// Everything in a request that must stand nowhere else.
    private static func canaries(_ sent: [ScriptedVendorExchange.Sent]) -> [String] {
        let words = sent.flatMap { sent in ["s", "enc"].compactMap { sent.parameters[$0] } }
        let letters = words.map { String($0.filter(\.isLetter).prefix(40)) }
        return [secret, key, "&s=", "enc=", "/v2/d?", "sign_d?"] + words + letters
    }

    /// The versions of the protocol, and how their queries are encrypted.
    private static let accesses: [(HTTPDNSAlibabaProvider.Version, HTTPDNSAlibabaProvider.Encryption?)] = [
        (.v1, nil), (.v2, nil), (.v2, .cbc), (.v2, .gcm),
    ]

    private func scripted(
        _ access: (version: HTTPDNSAlibabaProvider.Version, encryption: HTTPDNSAlibabaProvider.Encryption?),
        _ index: Int,
        settings: (inout HTTPDNSAlibabaProvider.Configuration) -> Void = { _ in }
    ) throws -> ScriptedAlibaba {
        try ScriptedAlibaba(
            access.version,
            secret: HTTPDNSSecret { Self.secret },
            encryption: access.encryption,
            encryptionKey: access.encryption.map { _ in HTTPDNSSecret { Self.key } },
            settings: settings,
            Self.failures[index]
        )
    }

    /// Of provider, settings, credential and secrets.
    @Test(
        "Errors, descriptions and dumps of an Alibaba provider have no secrets",
        arguments: failures.indices
    )
    func errors(index: Int) async throws {
        for access in Self.accesses {
            var settings: HTTPDNSAlibabaProvider.Configuration?
            let scripted = try scripted(access, index) { settings = $0 }
            let credential = try #require(settings?.credential)
            let texts = try await VendorCanary.said(by: scripted, with: settings as Any, credential)
            VendorCanary.expect(Self.canaries(scripted.exchange.sent), in: texts)
        }
    }

    /// The service's answer, encrypted as the question was.
    private static func answer(
        _ version: HTTPDNSAlibabaProvider.Version,
        _ encryption: HTTPDNSAlibabaProvider.Encryption?
    ) throws
        -> String
    {
        guard version == .v2 else { return AlibabaBody.v1 }
        guard let encryption else { return AlibabaBody.v2 }
        let family = #"{"ips":["192.0.2.10"],"ttl":60}"#
        let data = #"{"answers":[{"dn":"www.example.com","v4":\#(family)}]}"#
        let mode: AESCipher.Mode = encryption == .cbc ? .cbc : .gcm
        let octets = try #require([UInt8](hexadecimal: key))
        let cipher = try #require(AESCipher(mode, key: octets))
        let vector = [UInt8](repeating: 7, count: mode.vectorOctets)
        let text = Data(try cipher.encrypt(Array(data.utf8), vector: vector)).base64EncodedString()
        return AlibabaBody.encrypted(text, mode: encryption == .cbc ? "1" : "2")
    }

    @Test("No text about an answered query has a secret, signed or encrypted", arguments: accesses.indices)
    func answered(index: Int) async throws {
        let (version, encryption) = Self.accesses[index]
        let body = try Self.answer(version, encryption)
        let scripted = try ScriptedAlibaba(
            version,
            secret: HTTPDNSSecret { Self.secret },
            encryption: encryption,
            encryptionKey: encryption.map { _ in HTTPDNSSecret { Self.key } }
        ) { $0.reply(body) }
        let texts = try await VendorCanary.answered(by: scripted)
        VendorCanary.expect(Self.canaries(scripted.exchange.sent), in: texts)
    }

    @Test(
        "A resolver's log at trace level and its errors have no secrets",
        arguments: failures.indices
    )
    func log(index: Int) async throws {
        for access in Self.accesses {
            let scripted = try scripted(access, index)
            let texts = try await VendorCanary.logged(by: scripted)
            VendorCanary.expect(Self.canaries(scripted.exchange.sent), in: texts)
        }
    }
}
#endif
