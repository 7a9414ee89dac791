// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPTypes
import Testing

@testable import HTTPDNSCore
@testable import HTTPDNSVendors

/// No token, key, query or cipher text in anything that the library can say.
struct TencentCanaryTests {
    /// A token and a key: both have no more than 16 octets.
    private static let secret = "ca0a57deadbeef00"

    /// Replies that a hostile or broken service may send; some repeat the request.
    private static let failures: [ScriptedTencent.Answer] = [
        { $0.reply("", status: 500) }, { $0.reply("<html>", status: 403) }, { $0.reply(secret, status: 429) },
        { $0.reply(secret, status: 401, fields: [.date: "Tue, 14 Nov 2023 22:13:20 GMT"]) },
        { $0.reply($0.request.url.description, status: 404) }, { $0.reply($0.request.url.description) },
        { $0.reply($0.parameters["dn"] ?? "") }, { $0.reply("\(secret)|203.0.113.7") },
        { $0.reply("www.example.com.:\(secret),\(secret)-\(secret)|203.0.113.7") },
        { $0.reply("\(secret).:192.0.2.1|203.0.113.7") }, { $0.reply("", fields: [.contentType: "text/html"]) },
        { $0.reply("", status: 418, fields: [.location: $0.request.url.description]) },
        // A portal or a broken server repeats the request line where a media type belongs.
        { $0.reply("", fields: [.contentType: $0.request.url.target]) },
        { $0.reply("<html>", fields: [.contentType: "GET \($0.request.url.target) HTTP/1.1"]) },
        { $0.reply("<html>", status: 403, fields: [.contentType: $0.request.url.description]) },
        { $0.reply("<html>", fields: [.contentType: "text/html; \($0.request.url.target)"]) },
        { _ in throw ScriptedVendorExchange.failure(.connectFailed) },
        { _ in throw ScriptedVendorExchange.failure(.certificateRefused) },
    ]

    private func scripted(
        _ access: ScriptedTencent.Access,
        _ index: Int,
        settings: (inout HTTPDNSTencentProvider.Configuration) -> Void = { _ in }
    ) throws -> ScriptedTencent {
        try ScriptedTencent(
            access,
            secret: HTTPDNSSecret { Self.secret },
            settings: {
                $0.accountRefusalStatuses = [418]
                settings(&$0)
            },
            Self.failures[index]
        )
    }

    /// Everything in a request that must stand nowhere else.
    private static func canaries(_ sent: [ScriptedVendorExchange.Sent]) -> [String] {
        [secret, "token=", "dn=", "/d?", "alg="] + sent.compactMap { $0.parameters["dn"] }
    }

    /// Of provider, settings, credential and secrets.
    @Test(
        "Errors, descriptions and dumps of a Tencent provider have no secrets",
        arguments: failures.indices
    )
    func errors(index: Int) async throws {
        for access in ScriptedTencent.Access.allCases {
            var settings: HTTPDNSTencentProvider.Configuration?
            let scripted = try scripted(access, index) { settings = $0 }
            let credential = try #require(settings?.credential)
            let texts = try await VendorCanary.said(by: scripted, with: settings as Any, credential)
            VendorCanary.expect(Self.canaries(scripted.exchange.sent), in: texts)
        }
    }

    @Test(
        "A resolver's log at trace level and its errors have no secrets",
        arguments: failures.indices
    )
    func log(index: Int) async throws {
        for access in ScriptedTencent.Access.allCases {
            let scripted = try scripted(access, index)
            let texts = try await VendorCanary.logged(by: scripted)
            VendorCanary.expect(Self.canaries(scripted.exchange.sent), in: texts)
        }
    }

    @Test("No text about an answered query has a secret", arguments: ScriptedTencent.Access.allCases)
    func answered(access: ScriptedTencent.Access) async throws {
        let body = try TencentBody.written(TencentBody.both, access, key: Self.secret)
        let scripted = try ScriptedTencent(access, secret: HTTPDNSSecret { Self.secret }) { $0.reply(body) }
        let texts = try await VendorCanary.answered(by: scripted)
        VendorCanary.expect(Self.canaries(scripted.exchange.sent), in: texts)
    }
}
