// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import HTTPDNSControl
import HTTPDNSCore
import HTTPDNSPrimitives
import HTTPDNSVendors
import ServerRig
import Testing

/// A vendor's account whose queries are answered: no secret, signature or request is in anything that program and service
/// say.
@Suite("Secrets of a vendor's account", .timeLimit(.minutes(10)))
struct VendorSecretTests {
    private static let name = "img.shop.test"
    /// A token for one vendor, and the secret of a signature for the other.
    private static let secret = "ca0a57deadbeef00ca0a57deadbeef00"

    /// How an account asks, and what its service answers.
    struct Account: CustomTestStringConvertible {
        let kind: String
        let answer: String
        var testDescription: String { kind }

        var settings: String {
            "{ kind: \(kind), account: 100000, discovery: false, secret: { env: VENDOR_SECRET }, url: 'URL' }"
        }
    }

    static let accounts = [Account(kind: "tencent", answer: "\(name).:203.0.113.7,60-0|198.51.100.1")] + signed

    #if Signing
    private static let signed = [
        Account(
            kind: "alibaba-v2",
            answer: #"{"code":"success","mode":0,"data":{"answers":[{"dn":"\#(name)","v4":\#(family)}]}}"#
        ),
        Account(kind: "alibaba-v1", answer: #"{"host":"\#(name)","ips":["203.0.113.7"],"ipsv6":[],"ttl":60}"#),
    ]
    private static let family = #"{"ips":["203.0.113.7"],"ttl":60}"#
    #else
    private static let signed: [Account] = []
    #endif

    /// A service that answers every query alike.
    private func server(_ account: Account) throws -> RawServer {
        try RawServer(.serve(account.answer, fields: "Content-Type: text/plain\r\n"))
    }

    /// Expects that nothing of what was sent to the vendor is in a text, but the name.
    private func expect(_ texts: [String], withoutWordOf server: RawServer) throws {
        let requests = server.connections.flatMap { $0.text.split(separator: "\r\n") }.filter { $0.hasPrefix("GET ") }
        #expect(!requests.isEmpty)
        let targets = requests.compactMap { $0.split(separator: " ").dropFirst().first.map(String.init) }
        let signatures = targets.flatMap { $0.split(separator: "&") }.filter {
            $0.hasPrefix("s=") || $0.hasPrefix("token=")
        }
        .map { String($0.drop { $0 != "=" }.dropFirst()) }
        #expect(!signatures.isEmpty)
        for canary in [Self.secret, "token="] + targets + signatures {
            #expect(!texts.contains { $0.contains(canary) }, "\(canary)")
        }
    }

    @Test("The program's output has no secrets, in JSON, in text and at its most verbose", arguments: accounts)
    func program(account: Account) async throws {
        let server = try server(account)
        let folder = try TemporaryFolder()
        let provider = account.settings.replacing("URL", with: "http://127.0.0.1:\(server.port)")
        let file = try folder.write(
            "version: 1\nproviders:\n  vendor: \(provider)\nroutes:\n  \"*\": { providers: vendor, fallback: none }\n",
            to: "httpdns.yaml"
        )
        var texts: [String] = []
        for arguments in [
            ["resolve", Self.name], ["resolve", Self.name, "-v"], ["resolve", Self.name, "--json"],
            ["resolve", Self.name, "--json", "-v"], ["explain", "https://\(Self.name)/a.jpg", "-v"],
            ["explain", "https://\(Self.name)/a.jpg", "--json"], ["watch", Self.name, "--count", "1", "--json"],
        ] {
            let run = try await Program.run(
                arguments + ["--config", file],
                environment: ["VENDOR_SECRET": Self.secret]
            )
            #expect(run.status == 0 && run.output.contains("203.0.113.7"), "\(arguments): \(run)")
            texts += [run.output, run.error]
        }
        let check = try await Program.run(
            ["check", file, "--json"],
            environment: ["VENDOR_SECRET": Self.secret]
        )
        texts += [check.output, check.error]
        try expect(texts, withoutWordOf: server)
        server.stop()
    }

    @Test("A service's dump, diagnostics and events over the socket have no secrets", arguments: accounts)
    func socket(account: Account) async throws {
        let server = try server(account)
        let folder = try TemporaryFolder()
        var configuration = HTTPDNSClient.Configuration()
        let credential = VendorCredential(account: "100000", secret: HTTPDNSSecret { Self.secret })
        let url = "http://127.0.0.1:\(server.port)"
        if account.kind == "tencent" {
            var vendor = TencentProvider.Configuration(name: "vendor", credential: credential)
            (vendor.url, vendor.discoversAddresses) = (url, false)
            configuration.resolver.providers = [try TencentProvider(vendor)]
        } else {
            let version = try #require(AlibabaProvider.Version(rawValue: String(account.kind.suffix(2))))
            var vendor = AlibabaProvider.Configuration(name: "vendor", version: version, credential: credential)
            (vendor.url, vendor.discoversAddresses) = (url, false)
            configuration.resolver.providers = [try AlibabaProvider(vendor)]
        }
        configuration.resolver.routes = [HTTPDNSRoute(.any, .providers(["vendor"], fallback: .none))]
        let client = try await HTTPDNSClient(configuration: configuration)
        #expect(try await client.resolve(Self.name).provider == "vendor")
        let socket = try ControlSocket(client: client, path: "\(folder.path)/s")
        var texts = ["\(client.status())"]
        for arguments in [["dump"], ["dump", "--json"], ["watch", "--json", "--count", "1"], ["switch", "on"]] {
            let run = try await Program.run(arguments + ["--socket", socket.path])
            #expect(run.status == 0, "\(arguments): \(run)")
            texts += [run.output, run.error]
        }
        #expect(texts[1].contains("203.0.113.7"))
        try expect(texts, withoutWordOf: server)
        await socket.shutdown()
        try await client.shutdown()
        server.stop()
    }
}
