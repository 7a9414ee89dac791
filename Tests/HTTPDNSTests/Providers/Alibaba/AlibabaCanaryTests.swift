#if Signing
import CurlTransport
import HTTPDNSPrimitives
import HTTPTypes
import Logging
import Testing

@testable import HTTPDNS

/// No secret, signature, signed URL or cipher text in anything that the library can say.
@Suite("Alibaba: canary")
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
        { _ in throw ScriptedVendorExchange.failure(.connectFailed) },
        { _ in throw ScriptedVendorExchange.failure(.certificateRefused) },
        { $0.reply(AlibabaBody.encrypted(AlibabaBody.cbcData, mode: "1")) },
    ]

    /// Everything in a request that must stand nowhere else.
    private static func canaries(_ sent: [ScriptedVendorExchange.Sent]) -> [String] {
        let words = sent.flatMap { sent in ["s", "enc"].compactMap { sent.parameters[$0] } }
        return [secret, key, "&s=", "enc=", "/v2/d?", "sign_d?"] + words
    }

    @Test(
        "neither errors, descriptions nor dumps of provider, settings, credential and secrets have one",
        arguments: failures.indices
    )
    func errors(index: Int) async throws {
        let secret = Secret { Self.secret }
        for (version, encryption) in [
            (AlibabaProvider.Version.v1, nil), (.v2, nil), (.v2, .cbc), (.v2, .gcm),
        ] as [(AlibabaProvider.Version, AlibabaProvider.Encryption?)] {
            var settings: AlibabaProvider.Configuration?
            let scripted = try ScriptedAlibaba(
                version,
                secret: secret,
                encryption: encryption,
                encryptionKey: encryption.map { _ in Secret { Self.key } },
                settings: { settings = $0 },
                Self.failures[index]
            )
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
            dump(VendorSecrets(secret: Self.secret, encryptionKey: Self.key), to: &dumped)
            dumped += settings.map { "\($0) \($0.credential)" } ?? ""
            texts.append(dumped)
            for text in texts {
                for canary in Self.canaries(scripted.exchange.sent) where !canary.isEmpty {
                    #expect(!text.contains(canary), "\(canary)")
                }
            }
        }
    }

    @Test(
        "the log of a resolver at its most talkative has none, nor has any of its errors",
        arguments: failures.indices
    )
    func log(index: Int) async throws {
        let log = CollectedLog()
        let scripted = try ScriptedAlibaba(
            secret: Secret { Self.secret },
            encryption: .gcm,
            encryptionKey: Secret { Self.key },
            Self.failures[index]
        )
        var configuration = ResolverConfiguration()
        configuration.providers = [scripted.provider]
        configuration.routes = [Route(.any, .providers(["ali"], fallback: .none))]
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
        for canary in Self.canaries(scripted.exchange.sent) where !canary.isEmpty {
            #expect(!said.contains { $0.contains(canary) }, "\(canary)")
        }
    }
}
#endif
