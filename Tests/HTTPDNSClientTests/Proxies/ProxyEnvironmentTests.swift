import HTTPDNS
import Testing

@testable import HTTPDNSClient

/// Row 32 of the acceptance list: the environment, when asked.
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
        return try ProxyEnvironment { environment[$0] }.proxy(for: Canonicalizer.canonicalize(url))?.description ?? "-"
    }

    @Test(
        "The scheme's variable goes before the one for all, small letters before capitals, and HTTP_PROXY never counts",
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

    @Test("An empty variable means no proxy, whatever the one for all says")
    func empty() throws {
        let variables = ["https_proxy": "", "all_proxy": "http://all.test"]
        let url = try Canonicalizer.canonicalize("https://one.test/")
        #expect(try ProxyEnvironment { variables[$0] }.proxy(for: url) == nil)
    }

    @Test(
        "A variable that names no proxy is an error that names the variable, and only for who asked for the environment"
    )
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
