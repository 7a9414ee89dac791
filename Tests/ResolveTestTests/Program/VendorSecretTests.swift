// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import Foundation
import HTTPDNS
import HTTPDNSControl
import HTTPDNSMonitor
import HTTPDNSVendors
import ServerRig
import Testing

/// A vendor's account whose queries are answered: no secret, signature or request is in anything that program and service
/// say.
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

    /// Returns a client that asks the account's service for all names.
    private func client(_ account: Account, _ server: RawServer) async throws -> HTTPDNSClient {
        var configuration = HTTPDNSClient.Configuration()
        let credential = HTTPDNSVendorCredential(account: "100000", secret: HTTPDNSSecret { Self.secret })
        let url = "http://127.0.0.1:\(server.port)"
        if account.kind == "tencent" {
            var vendor = HTTPDNSTencentProvider.Configuration(name: "vendor", credential: credential)
            (vendor.url, vendor.discoversAddresses, vendor.answerScope) = (url, false, .loopback)
            configuration.resolver.providers = [try HTTPDNSTencentProvider(vendor)]
        } else {
            let version = try #require(HTTPDNSAlibabaProvider.Version(rawValue: String(account.kind.suffix(2))))
            var vendor = HTTPDNSAlibabaProvider.Configuration(name: "vendor", version: version, credential: credential)
            (vendor.url, vendor.discoversAddresses, vendor.answerScope) = (url, false, .loopback)
            configuration.resolver.providers = [try HTTPDNSAlibabaProvider(vendor)]
        }
        configuration.resolver.routes = [HTTPDNSRoute(.any, .providers(["vendor"], fallback: .off))]
        // Beside other tests the default may pass before the answer.
        (configuration.resolver.attemptLimit, configuration.resolver.timeLimit) = (.seconds(60), .seconds(60))
        return try await HTTPDNSClient(configuration: configuration)
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
            "version: 1\nresolver: { time_limit: 1m, attempt_limit: 1m }\nproviders:\n  vendor: \(provider)\nroutes:\n  \"*\": { providers: vendor, fallback: none }\n",
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
        let client = try await client(account, server)
        #expect(try await client.resolve(Self.name).provider == "vendor")
        let socket = try HTTPDNSControlSocket(client: client, path: "\(folder.path)/s")
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

    /// The queries to the vendor are no calls of the client.
    @Test("No record, archive, page or batch of a monitor has the queries to the vendor", arguments: accounts)
    func monitor(account: Account) async throws {
        let origin = try RawServer(.serve("hello"))
        let local = Account(kind: account.kind, answer: account.answer.replacing("203.0.113.7", with: "127.0.0.1"))
        let server = try server(local)
        let client = try await client(local, server)
        let batches = Journal<String>()
        var settings = HTTPDNSTrafficMonitor.Settings()
        (settings.requestBodyLimit, settings.responseBodyLimit) = (.kibibytes(4), .kibibytes(4))
        let exporter = HTTPDNSTrafficMonitor.Exporter { batch in
            batches.write(String(decoding: batch.lines, as: UTF8.self))
        }
        settings.exporter = exporter
        let monitor = try HTTPDNSTrafficMonitor(settings)
        monitor.start(on: client)
        let url = "http://\(Self.name):\(origin.port)/a"
        let body = try await client.get(url).body.collect(upTo: .kibibytes(1))
        #expect(body == Array("hello".utf8))
        await exporter.close(within: .seconds(60))
        #expect(
            monitor.records.map(\.url) == [url] && monitor.records.first?.hops.first?.addresses.provider == "vendor"
        )
        #expect(monitor.counters.calls.calls == 1)
        var dumped = ""
        dump(monitor.records, to: &dumped)
        var texts = [dumped, batches.all.joined(), monitor.report.text()]
        var bytes: [UInt8] = []
        for await chunk in monitor.archive { bytes += chunk }
        texts.append(String(decoding: bytes, as: UTF8.self))
        bytes = []
        for await chunk in monitor.report { bytes += chunk }
        texts.append(String(decoding: bytes, as: UTF8.self))
        for text in texts { #expect(text.contains(Self.name) && text.contains("vendor")) }
        try expect(texts, withoutWordOf: server)
        try await client.shutdown()
        server.stop()
    }
}
#endif
