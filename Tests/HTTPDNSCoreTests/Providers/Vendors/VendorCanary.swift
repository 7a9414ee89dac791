// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Logging
import ServerRig
import Testing

@testable import HTTPDNSCore
@testable import HTTPDNSVendors

/// Everything that the library can say about a vendor's provider and its queries, for tests that look for secrets in it.
enum VendorCanary {
    /// What the errors of two queries say, and descriptions and dumps of provider, settings, credential and secrets.
    static func said(
        by vendor: some ScriptedVendor,
        with settings: Any,
        _ credential: HTTPDNSVendorCredential
    ) async throws -> [String] {
        var texts: [String] = []
        for _ in 0..<2 {
            do {
                texts.append("\(try await vendor.resolve())")
            } catch {
                var text = "\(error) \(String(reflecting: error))"
                dump(error, to: &text)
                texts.append(text)
            }
        }
        let secrets = try credential.read()
        #expect(secrets.secret != nil || secrets.encryptionKey != nil)
        var text = "\(settings) \(credential) \(secrets) \(String(reflecting: secrets))"
        dump(vendor.provider, to: &text, maxDepth: 12)
        dump(settings, to: &text)
        dump(secrets, to: &text)
        texts.append(text)
        #expect(!vendor.exchange.sent.isEmpty)
        return texts
    }

    /// What a resolver at its most talkative logs and tells about a query, and the error that it ends with.
    static func logged(by vendor: some ScriptedVendor) async throws -> [String] {
        try await logged(by: vendor) { resolver, question in
            let error = await #expect(throws: HTTPDNSResolver.Error.self) { try await resolver.resolve(question) }
            return "\(error as Any)"
        }
    }

    /// What a resolver at its most talkative logs and tells about a query that is answered, and what it knows afterwards.
    static func answered(by vendor: some ScriptedVendor) async throws -> [String] {
        try await logged(by: vendor) { resolver, question in
            var resolution = try await resolver.resolve(question)
            // An answer that took longer than it lives is not kept.
            for _ in 0..<5 where resolver.cache.answers.isEmpty { resolution = try await resolver.resolve(question) }
            #expect(resolution.source == .provider && !resolution.endpoints.isEmpty)
            let known = resolver.cache.answers.map { "\($0.key) \(KnownAnswer($0)) \($0.origin?.provider ?? "")" }
            #expect(!known.isEmpty)
            var text = "\(resolution) \(resolver.counters) \(resolver.providerHealth) \(known)"
            dump(resolution, to: &text)
            dump(resolver.counters, to: &text)
            return text
        }
    }

    private static func logged(
        by vendor: some ScriptedVendor,
        _ ask: (HTTPDNSResolver, HTTPDNSResolver.Query) async throws -> String
    ) async throws -> [String] {
        let log = RecordedLog()
        var configuration = HTTPDNSResolver.Configuration()
        configuration.providers = [vendor.provider]
        configuration.routes = [HTTPDNSRoute(.any, .providers([vendor.provider.name], fallback: .off))]
        configuration.logger = log.logger(.trace)
        // A busy machine must not end a query before it is sent.
        configuration.timeLimit = .seconds(60)
        configuration.attemptLimit = .seconds(60)
        let resolver = try HTTPDNSResolver(configuration)
        let events = resolver.events
        let question = HTTPDNSResolver.Query(.name(try HTTPDNSName("www.example.com")), port: 443)
        let outcome = try await ask(resolver, question)
        await resolver.shutdown()
        var said = log.lines
        #expect(!said.isEmpty)
        for await event in events { said.append("\(event)") }
        said.append(outcome)
        #expect(!vendor.exchange.sent.isEmpty)
        return said
    }

    /// Expects that none of the canaries is in any text.
    static func expect(_ canaries: [String], in texts: [String]) {
        for canary in canaries where !canary.isEmpty {
            #expect(!texts.contains { $0.contains(canary) }, "\(canary)")
        }
    }
}
