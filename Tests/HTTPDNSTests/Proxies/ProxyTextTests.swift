// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import HTTPDNS

/// What is written about a proxy.
struct ProxyTextTests {
    @Test(
        "A proxy is read as curl reads it",
        arguments: [
            ("proxy.test", "http://proxy.test:1080"), ("proxy.test:3128", "http://proxy.test:3128"),
            ("HTTP://Proxy.Test:3128/", "http://proxy.test:3128"), ("https://proxy.test", "https://proxy.test:443"),
            ("socks://proxy.test", "socks4://proxy.test:1080"), ("socks4a://proxy.test:9", "socks4a://proxy.test:9"),
            ("socks5://192.0.2.1", "socks5://192.0.2.1:1080"),
            ("socks5h://[2001:db8::1]:9", "socks5h://[2001:db8::1]:9"),
            ("[2001:db8::1]", "http://[2001:db8::1]:1080"), ("http://proxy.test:80/path?x", "http://proxy.test:80"),
            ("http://me:a%40b@proxy.test:3128", "http://proxy.test:3128"),
        ]
    )
    func good(text: String, expected: String) throws {
        #expect(try HTTPDNSClient.Proxy(text).description == expected)
    }

    @Test("User and password are percent-decoded, and are in no text of the proxy")
    func credential() throws {
        let proxy = try HTTPDNSClient.Proxy("http://us%65r:p@ss:hunter2%20@proxy.test:3128")
        let credential = try #require(proxy.credential)
        #expect(credential.user == "user")
        #expect(try credential.password?.read() == "p@ss:hunter2 ")
        var dumped = ""
        dump(proxy, to: &dumped)
        dump(credential, to: &dumped)
        dump(HTTPDNSClient.Proxy.Rules.through(proxy), to: &dumped)
        for text in [
            "\(proxy)", "\(credential)", String(reflecting: proxy), "\(HTTPDNSClient.Proxy.Rules.through(proxy))",
            dumped,
        ] {
            #expect(!text.contains("hunter2") && !text.contains("user"), "\(text)")
        }
        #expect(try HTTPDNSClient.Proxy("http://me@proxy.test").credential?.password == nil)
    }

    /// Any source of the password will do.
    @Test("A proxy equals itself, and another password makes another proxy")
    func equality() throws {
        let text = "http://me:hunter2@proxy.test:3128"
        let proxy = try HTTPDNSClient.Proxy(text)
        #expect(try proxy == proxy && proxy == HTTPDNSClient.Proxy(text))
        #expect(
            try proxy != HTTPDNSClient.Proxy("http://me:hunter3@proxy.test:3128")
                && proxy != HTTPDNSClient.Proxy("http://me@proxy.test:3128")
        )
        var closure = proxy
        closure.credential = HTTPDNSClient.Proxy.Credential(user: "me", password: HTTPDNSSecret { "hunter2" })
        let copy = closure
        #expect(closure == copy && closure != proxy)
        var options = HTTPDNSClient.Request.Options()
        options.proxy = .through(closure)
        #expect(Set([options, options]).count == 1)
    }

    /// The login is in the proxy's URL or in a closure.
    @Test("Unchanged proxy settings need no restart in a reload")
    func reload() async throws {
        var proxy = try HTTPDNSClient.Proxy("http://proxy.test:3128")
        proxy.credential = HTTPDNSClient.Proxy.Credential(user: "me", password: HTTPDNSSecret { "hunter2" })
        for proxy in [proxy, try HTTPDNSClient.Proxy("http://me:hunter2@proxy.test:3128")] {
            let rig = try Rig { $0.proxy = .through(proxy) }
            #expect(try await rig.client.reload(rig.configuration).needsRestart == [])
            var other = rig.configuration
            other.proxy = .through(try HTTPDNSClient.Proxy("http://me:hunter3@proxy.test:3128"))
            #expect(try await rig.client.reload(other).needsRestart == ["client.proxy"])
        }
    }

    @Test(
        "A text that is no proxy is a typed error without user and password",
        arguments: [
            "", "ftp://me:hunter2@proxy.test", "http://", "http://me:hunter2@", "http://me:hunter2@proxy.test:0",
            "http://me:hunter2@proxy.test:65536", "http://me:hunter2@proxy test", "http://me:hunter2@a..b",
            "http://m%3ae:hunter2@proxy.test", "http://me:hunter2%00@proxy.test", "http://me:hunter2@[2001:db8::1",
            "http://me:hunter2%40proxy.test:3128", "me:hunter2", "http://me:hunter2/", "http://me:hunter2/proxy.test:1",
            "me:hunter2:http://proxy.test:3128", "http://me:hunter2\u{ff20}proxy.test", "socks5://me:hunter2:3128",
            "http:me:hunter2", "http://[2001:db8::1]3128", "[2001:db8::1]x",
        ]
    )
    func bad(text: String) throws {
        let error = try #require(throws: HTTPDNSClientError.self) { try HTTPDNSClient.Proxy(text) }
        #expect(error.code == .configuration)
        #expect(!error.description.contains("hunter2"), "\(error)")
    }

    @Test(
        "A text that cannot be a password is in the error",
        arguments: [
            ("http://proxy..test:3128", "http://proxy..test:3128"), ("[2001:db8::g]:3128", "[2001:db8::g]:3128"),
            ("proxy.test:99999", "proxy.test:99999"), ("ftp://proxy.test", "ftp://proxy.test"),
            ("http://me:hunter2@proxy..test:1/a", "http://...@proxy..test:1/a"),
            ("http://proxy.test:port", "http://proxy.test:..."),
            ("http://[2001:db8::1]3128", "http://[2001:db8::1]3128"), ("http://2001:db8::1", "http://2001:..."),
        ]
    )
    func shown(text: String, shown: String) throws {
        let error = try #require(throws: HTTPDNSClientError.self) { try HTTPDNSClient.Proxy(text) }
        #expect(error.message.hasPrefix("the proxy \"\(shown)\" cannot be used"), "\(error)")
    }
}
