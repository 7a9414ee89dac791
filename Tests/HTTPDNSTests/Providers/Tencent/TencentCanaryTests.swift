import CurlTransport
import HTTPDNSPrimitives
import HTTPTypes
import Logging
import Testing

@testable import HTTPDNS

/// No token, key, query or cipher text in anything that the library can say.
@Suite("Tencent: canary")
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
        { _ in throw ScriptedVendorExchange.failure(.connectFailed) },
        { _ in throw ScriptedVendorExchange.failure(.certificateRefused) },
    ]

    private func scripted(
        _ access: ScriptedTencent.Access,
        _ index: Int,
        settings: (inout TencentProvider.Configuration) -> Void = { _ in }
    ) throws -> ScriptedTencent {
        try ScriptedTencent(
            access,
            secret: Secret { Self.secret },
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

    @Test(
        "neither errors, descriptions nor dumps of provider, settings, credential and secrets have one",
        arguments: failures.indices
    )
    func errors(index: Int) async throws {
        for access in ScriptedTencent.Access.allCases {
            var settings: TencentProvider.Configuration?
            let scripted = try scripted(access, index) { settings = $0 }
            var texts: [String] = []
            for _ in 0..<2 {
                do {
                    texts.append("\(try await scripted.resolve())")
                } catch {
                    var text = "\(error) \(String(reflecting: error))"
                    dump(error, to: &text)
                    texts.append(text)
                }
            }
            var dumped = ""
            dump(scripted.provider, to: &dumped, maxDepth: 12)
            dump(settings, to: &dumped)
            dumped += settings.map { "\($0) \($0.credential)" } ?? ""
            texts.append(dumped)
            #expect(!scripted.exchange.sent.isEmpty)
            for text in texts {
                for canary in Self.canaries(scripted.exchange.sent) { #expect(!text.contains(canary), "\(canary)") }
            }
        }
    }

    @Test(
        "the log of a resolver at its most talkative has none, nor has any of its errors",
        arguments: failures.indices
    )
    func log(index: Int) async throws {
        for access in ScriptedTencent.Access.allCases {
            let log = CollectedLog()
            let scripted = try scripted(access, index)
            var configuration = ResolverConfiguration()
            configuration.providers = [scripted.provider]
            configuration.routes = [Route(.any, .providers(["tencent"], fallback: .none))]
            configuration.logger = log.logger(.trace)
            let resolver = try Resolver(configuration)
            let events = resolver.events
            let question = ResolutionQuestion(.name(try HostName("www.example.com")), port: 443)
            let error = await #expect(throws: ResolutionError.self) { try await resolver.resolve(question) }
            await resolver.shutdown()
            var said = log.lines
            #expect(said.count >= 2)
            for await event in events { said.append("\(event)") }
            said.append("\(error as Any)")
            for canary in Self.canaries(scripted.exchange.sent) {
                #expect(!said.contains { $0.contains(canary) }, "\(canary)")
            }
        }
    }
}
