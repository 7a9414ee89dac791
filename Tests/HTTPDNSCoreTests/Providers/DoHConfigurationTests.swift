// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSCurl
import HTTPTypes
import Testing

struct DoHConfigurationTests {
    private static let publicAddress = HTTPDNSAddress(v4: 9, 9, 9, 9)
    private static let privateAddress = HTTPDNSAddress(v4: 10, 0, 0, 1)
    private static let loopback = HTTPDNSAddress(v4: 127, 0, 0, 1)
    private static let linkLocal = HTTPDNSAddress(v4: 169, 254, 20, 10)

    private func make(_ url: String, _ bootstrap: [HTTPDNSAddress] = []) throws(HTTPDNSProviderConfigurationError)
        -> HTTPDNSDoHProvider
    {
        let exchange = ScriptedExchange { .loopback(to: $0) }
        return try HTTPDNSDoHProvider(.init(name: "mine", url: url, bootstrap: bootstrap), exchange: exchange)
    }

    @Test(
        "A URL that cannot serve is refused with the provider's name and advice",
        arguments: [
            ("https://doh.test/dns-query", "give the addresses of the service as bootstrap"),
            ("https://localhost/dns-query", "give the addresses of the service as bootstrap"),
            ("http://9.9.9.9/dns-query", "must begin with https://"),
            ("http://10.0.0.1/dns-query", "must begin with https://"),
            ("ftp://9.9.9.9/dns-query", "its url cannot be used"),
            ("", "its url cannot be used"),
            ("9.9.9.9", "its url cannot be used"),
            ("https://9.9.9.9/\r\nx", "its url cannot be used"),
            ("https://9.9.9.9/{dns}", "{?dns}"),
            ("https://9.9.9.9/q{?dns}x", "{?dns}"),
            ("https://9.9.9.9/q{?dns,type}", "{?dns}"),
            ("https://9.9.9.9/q#part", "fragment"),
        ]
    )
    func refused(url: String, advice: String) throws {
        let error = try #require(throws: HTTPDNSProviderConfigurationError.self) { try make(url) }
        #expect(error.description.hasPrefix("provider \"mine\": "))
        #expect(error.message.contains(advice), "\(error)")
    }

    @Test("A user name in the URL is refused without repeating it")
    func credential() throws {
        let error = try #require(throws: HTTPDNSProviderConfigurationError.self) {
            try make("https://someone:secret@9.9.9.9/dns-query")
        }
        #expect(error.message.contains("user name or password"))
        #expect(!error.description.contains("secret") && !error.description.contains("someone"))
    }

    @Test("Plain http is for loopback literals alone, whatever the bootstrap is")
    func clearText() throws {
        _ = try make("http://127.0.0.1:8053/dns-query")
        _ = try make("http://[::1]:8053/dns-query")
        #expect(throws: HTTPDNSProviderConfigurationError.self) { try make("http://doh.test/", [Self.loopback]) }
        #expect(throws: HTTPDNSProviderConfigurationError.self) { try make("http://127.0.0.1/", [Self.publicAddress]) }
    }

    @Test(
        "Answers are public until the provider's settings allow more",
        arguments: [
            ("https://doh.test/", [publicAddress]), ("https://doh.test/", [loopback]), ("https://127.0.0.1/", []),
            ("https://doh.test/", [privateAddress]), ("http://127.0.0.1:8053/", []), ("https://doh.test/", [linkLocal]),
        ] as [(String, [HTTPDNSAddress])]
    )
    func answers(url: String, bootstrap: [HTTPDNSAddress]) throws {
        #expect(try make(url, bootstrap).answerScope == .public)
        for scope in [HTTPDNSAddressPolicy.Scope.private, .loopback] {
            var configuration = HTTPDNSDoHProvider.Configuration(name: "doh", url: url, bootstrap: bootstrap)
            configuration.answerScope = scope
            #expect(try HTTPDNSDoHProvider(configuration).answerScope == scope)
        }
    }

    @Test("Bootstrap addresses beside a literal are asked after it, each once")
    func literalWithBootstrap() async throws {
        let exchange = ScriptedExchange { _ in
            throw TransferFailure(code: .connectFailed, phase: .connect, message: "refused")
        }
        let provider = try HTTPDNSDoHProvider(
            .init(name: "mine", url: "https://9.9.9.9/", bootstrap: [Self.privateAddress, Self.publicAddress]),
            exchange: exchange
        )
        let query = HTTPDNSProviderQuery(host: try HTTPDNSName("one.test"), families: .v4, timeLimit: .seconds(60))
        await #expect(throws: HTTPDNSProviderError.self) { try await provider.resolve(query) }
        #expect(exchange.sent.map(\.endpoint.address) == [Self.publicAddress, Self.privateAddress])
    }
}
