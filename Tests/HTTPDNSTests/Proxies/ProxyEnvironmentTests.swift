// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import ServerRig
import Testing

@testable import HTTPDNS

/// The environment, when asked.
struct ProxyEnvironmentTests {
    private static let all: [String: String] = [
        "http_proxy": "http://small.test:1", "HTTP_PROXY": "http://capital.test:2",
        "https_proxy": "https://secure.test:3",
        "HTTPS_PROXY": "http://secure-capital.test:4", "all_proxy": "socks5://all.test:5",
        "ALL_PROXY": "http://rest.test:6",
        "no_proxy": "direct.test", "NO_PROXY": "capital-direct.test",
    ]

    private func proxy(_ names: [String], for url: String) throws -> String {
        let environment = ProxyEnvironmentTests.all.filter { names.contains($0.key) }
        let canonical = try HTTPDNSRewriter.Canonicalizer.canonicalize(url)
        let proxies = ProxyEnvironment { environment[$0] }
        return try proxies.proxy(for: canonical, usesTLS: canonical.scheme == "https")?.description ?? "-"
    }

    /// Small letters go before capitals.
    @Test(
        "A scheme's variable goes before the one for all, and HTTP_PROXY never counts",
        arguments: [
            (["http_proxy", "HTTP_PROXY", "all_proxy"], "http://one.test", "http://small.test:1"),
            (["HTTP_PROXY"], "http://one.test", "-"),
            (["HTTP_PROXY", "ALL_PROXY"], "http://one.test", "http://rest.test:6"),
            (["https_proxy", "HTTPS_PROXY"], "https://one.test", "https://secure.test:3"),
            (["HTTPS_PROXY", "all_proxy"], "https://one.test", "http://secure-capital.test:4"),
            (["all_proxy", "ALL_PROXY"], "https://one.test", "socks5://all.test:5"),
            (["https_proxy"], "http://one.test", "-"),
            (["all_proxy", "no_proxy", "NO_PROXY"], "https://a.direct.test", "-"),
            (["all_proxy", "no_proxy", "NO_PROXY"], "https://capital-direct.test", "socks5://all.test:5"),
            (["all_proxy", "NO_PROXY"], "https://capital-direct.test", "-"),
        ]
    )
    func order(names: [String], url: String, expected: String) throws {
        #expect(try proxy(names, for: url) == expected)
    }

    static let empties: [([String: String], Bool)] = [
        (["http_proxy": "", "all_proxy": "*"], true), (["http_proxy": "", "ALL_PROXY": "*"], true),
        (["http_proxy": "", "all_proxy": "", "ALL_PROXY": "*"], true),
        (["http_proxy": "", "all_proxy": "", "ALL_PROXY": ""], false),
        (["http_proxy": "*", "no_proxy": "", "NO_PROXY": "127.0.0.1"], false),
        (["http_proxy": "*", "no_proxy": "192.0.2.1", "NO_PROXY": "127.0.0.1"], true),
    ]

    @Test("An empty variable counts as one that is not set", arguments: empties)
    func empty(variables: [String: String], isProxied: Bool) throws {
        let environment = variables.mapValues { $0 == "*" ? "http://127.0.0.1:1" : $0 }
        let url = try HTTPDNSRewriter.Canonicalizer.canonicalize("http://127.0.0.1/")
        #expect(try (ProxyEnvironment { environment[$0] }.proxy(for: url, usesTLS: false) != nil) == isProxied)
    }

    @Test(
        "The curl program ignores an empty variable, too",
        .enabled(if: ServerRig.isAvailable([.witnesses])),
        arguments: empties
    )
    func emptyToCurl(variables: [String: String], isProxied: Bool) async throws {
        let ok: [RawServer.Step] = [.readHead, .respond()]
        let (direct, proxy) = (try RawServer { _ in ok }, try RawServer { _ in ok })
        let given = variables.map { "\($0)=\($1 == "*" ? "http://127.0.0.1:\(proxy.port)" : $1)" }
        let names = ["http_proxy", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"]
        // A command's own environment cannot have empty variables.
        let curl = try await Command(
            "env",
            names.flatMap { ["-u", $0] } + given + ["curl", "-q", "-s", "http://127.0.0.1:\(direct.port)/"]
        ).run()
        #expect(curl.status == 0, "\(curl)")
        #expect(proxy.connections.count == (isProxied ? 1 : 0) && direct.connections.count == (isProxied ? 0 : 1))
    }

    /// The error names the variable.
    @Test("A variable that names no proxy is an error only where the environment is used")
    func broken() async throws {
        var configuration = HTTPDNSClient.Configuration()
        configuration.environment = { ["https_proxy": "ftp://me:hunter2@proxy.test"][$0] }
        try configuration.validate()
        configuration.proxy = .environment
        let error = try #require(throws: HTTPDNSClientError.self) { try configuration.validate() }
        #expect(error.code == .configuration && error.message.contains("https_proxy"))
        #expect(!error.description.contains("hunter2"))
    }
}
