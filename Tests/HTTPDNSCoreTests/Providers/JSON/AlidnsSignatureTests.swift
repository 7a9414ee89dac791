// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Glibc
import HTTPDNSCore
import HTTPDNSCurl
import HTTPDNSTesting
import HTTPDNSVendors
import HTTPTypes
import ServerRig
import Testing

struct AlidnsSignatureTests {
    private static let canary = "canary-topsecret"

    #if Signing
    private func scripted(
        secret: HTTPDNSSecret,
        account: String = "9999",
        accessKey: String = "test",
        _ answer: @escaping @Sendable (ScriptedExchange.Sent) async throws -> UpstreamReply = { .jsonLoopback(to: $0) }
    ) throws -> ScriptedJSONService {
        try ScriptedJSONService(
            service: .alidns(account: account, accessKey: accessKey, secret: secret),
            clock: WallClock { 1_614_927_253_000 },
            answer
        )
    }

    /// The signature covers these, the secret and the name.
    @Test("A signed query has account, access key, time and a SHA-256 signature")
    func signature() async throws {
        let scripted = try scripted(secret: HTTPDNSSecret { "topsecret" })
        _ = try await scripted.resolve("www.taobao.com", .v4)
        let sent = try #require(scripted.exchange.sent.first)
        #expect(sent.endpoint.description == "223.5.5.5:443")
        #expect(
            sent.request.url.target
                == "/resolve?name=www.taobao.com&type=1&uid=9999&ak=test&ts=1614927253"
                + "&key=2f6398a1dab29e5bd6f2fd9a3e3ddca5b2a5f8309c3fb4522db3aa563586f0ed"
        )
    }

    @Test("No error of a failed query contains the secret or the signature")
    func canary() async throws {
        let failures: [@Sendable (ScriptedExchange.Sent) async throws -> UpstreamReply] = [
            { .status(403, to: $0) }, { .status(400, to: $0) }, { .status(200, to: $0, body: Array("<html>".utf8)) },
            { .json(to: $0, #""Status":5"#) },
            // Whatever repeats the request, wherever messages quote something.
            { .status(200, to: $0, fields: [.contentType: $0.request.url.target], body: Array("<html>".utf8)) },
            { .json(to: $0, #""Status":5,"Comment":"\#($0.request.url.target)""#) },
            { .json(to: $0, #""Status":2,"Comment":["\#($0.request.parameters["key"] ?? "")"]"#) },
            { sent in
                let name = (sent.request.parameters["key"] ?? "").prefix(60)
                let text = #"{"Status":0,"Question":{"name":"\#(name).test","type":1}}"#
                return .status(200, to: sent, body: Array(text.utf8))
            },
            { sent in
                let name = (sent.request.parameters["key"] ?? "").prefix(60)
                let alias = #"{"name":"one.test","type":5,"TTL":1,"data":"\#(name).test"}"#
                let back = #"{"name":"\#(name).test","type":5,"TTL":1,"data":"one.test"}"#
                return .json(to: sent, #""Status":0,"Answer":[\#(alias),\#(back)]"#)
            },
            { _ in throw TransferFailure(code: .connectFailed, phase: .connect, message: "refused") },
            { _ in throw TransferFailure(code: .certificateRefused, phase: .tls, message: "no") },
            { _ in throw CanaryFailure() },
        ]
        for failure in failures {
            let scripted = try scripted(secret: HTTPDNSSecret { Self.canary }, failure)
            var texts: [String] = []
            do {
                texts.append("\(try await scripted.resolve("one.test", .v4))")
            } catch {
                texts.append("\(error)")
                dump(error, to: &texts[0])
            }
            dump(scripted.provider, to: &texts[0])
            let key = try #require(scripted.exchange.sent.first?.request.parameters["key"])
            #expect(key.count == 64)
            for text in texts {
                #expect(!text.contains(Self.canary) && !text.contains(key.prefix(60)) && !text.contains("key="))
            }
        }
    }

    @Test("A missing secret fails the query with its source, and nothing is sent")
    func goneSecret() async throws {
        let isThere = Lock(true)
        let secret = HTTPDNSSecret {
            guard isThere.withLock({ $0 }) else { throw CanaryFailure() }
            return Self.canary
        }
        let scripted = try scripted(secret: secret)
        isThere.withLock { $0 = false }
        let error = try #require(await scripted.error(.v4))
        #expect(error.code == .notConfigured && error.message.contains("from a closure"))
        #expect(scripted.exchange.sent.isEmpty)
    }

    /// The pool's own limit is not there when a program calls the provider.
    @Test("A query ends at its limit while the file of its secret hangs")
    func hangingSecret() async throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(Self.canary, to: "secret")
        try #require(chmod(path, 0o600) == 0)
        let secret = HTTPDNSSecret.file(path)
        let (clock, exchange) = (HTTPDNSManualClock(), ScriptedExchange { .jsonLoopback(to: $0) })
        let provider = try HTTPDNSJSONProvider(
            .init(name: "json", service: .alidns(account: "9999", accessKey: "test", secret: secret)),
            exchange: exchange,
            time: clock
        )
        let query = HTTPDNSProviderQuery(
            host: try HTTPDNSName("one.test"),
            families: .v4,
            timeLimit: .seconds(3)
        )
        // A secret that was read once stays in use, until a read fails.
        try #require(unlink(path) == 0)
        #expect(throws: SecretError.self) { try secret.read() }
        try #require(mkfifo(path, 0o600) == 0)
        let answer = Task { try await provider.resolve(query) }
        await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(3))
        let error = await #expect(throws: HTTPDNSProviderError.self) { try await answer.value }
        #expect(error?.code == .timedOut && exchange.sent.isEmpty)
    }

    /// Identifiers that would break the query are invalid.
    @Test("Invalid account identifiers and an unreadable secret are refused immediately")
    func settings() {
        for (account, key) in [("", "a"), ("a&b", "a"), ("a", "b c"), ("a", "é")] {
            #expect(throws: HTTPDNSProviderConfigurationError.self) {
                try scripted(secret: HTTPDNSSecret { Self.canary }, account: account, accessKey: key)
            }
        }
        let error = #expect(throws: HTTPDNSProviderConfigurationError.self) {
            try scripted(secret: .file("/nowhere/secret"))
        }
        #expect(error?.message.contains("/nowhere/secret") == true)
    }

    private struct CanaryFailure: Error {}
    #endif
}
