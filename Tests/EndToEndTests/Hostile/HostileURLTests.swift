// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

/// URLs and requests that mean to reach somewhere else than they say: through the client and through the program.
@Suite("Hostile URLs and requests", .serialized)
struct HostileURLTests {
    static let refused: [String] = [
        // user information and its look-alikes
        "http://user:pa ss@one.test/", "http://a@b@one.test/", "http://one.test\\@evil.test/", "http://one.test\\evil/",
        "http:\\\\one.test/", "http://evil.test\\@one.test/", "http://one.test:80\\@evil.test/",
        "http://us%00er@one.test/",
        "http://u:p%0d%0aX:y@one.test/", "http://u%3ax:p@one.test/", "http://@/", "http://user:pass@/",
        // spaces and control characters
        " http://one.test/", "http://one.test/ ", "http://one.test/a b", "http://one .test/",
        "http://one.test/\r\nX: y",
        "http://one.test/\n", "http://one.test\t/", "http://one.test/\u{0}", "http://one.test/\u{7f}",
        "ht\ttp://one.test/",
        // hosts
        "http://\(String(repeating: "a", count: 300)).test/", "http://\(String(repeating: "a", count: 64)).test/",
        "http://\(String(repeating: "a.", count: 150))test/", "http://one..test/", "http://.one.test/",
        "http://one.test../",
        "http://.../", "http://one|test/", "http://one%00.test/",
        "http://*.test/",
        "http://one%2f.test/", "http://one%40evil.test/", "http://one.test,two.test/", "http://one.test;x/",
        "http://[one]/",
        "http://one.test]/", "http://[::1]x/", "http://[::1", "http://\u{200d}/", "http://one\u{2100}.test/",
        // schemes
        "ftp://one.test/", "file:///etc/passwd", "gopher://one.test/", "javascript:alert(1)", "data:,x",
        "ws://one.test/",
        "https+unix://x/", "//one.test/", "/path", "one.test", "one.test:80", "http:one.test", "http:/one.test",
        "http://",
        "http:///path", "", ":", "://", "http", "httpx://one.test/",
        // number forms of addresses
        "http://0x7f.1/", "http://0x7f000001/", "http://2130706433/", "http://0177.0.0.1/", "http://127.1/",
        "http://0/",
        "http://1.2.3/", "http://1.2.3.4.5/", "http://256.1.1.1/", "http://127.0.0.1./", "http://１２７.0.0.1/",
        "http://①.1.1.1/", "http://%31%32%37.0.0.1/", "http://[::ffff:127.0.0.1%25lo]/", "http://[fe80::1%eth0]/",
        "http://[::1]./", "http://0x/", "http://one.test.0x7f/", "http://foo.1/",
        // ports
        "http://one.test:0/", "http://one.test:65536/", "http://one.test:-1/", "http://one.test:+80/",
        "http://one.test:8 0/",
        "http://one.test:80:80/", "http://one.test:x/", "http://one.test:99999999999999999999/", "http://one.test:８０/",
    ]

    @Test("A hostile URL is refused by its type, and nothing is resolved, dialed or leaked", arguments: refused)
    func isRefused(url: String) async throws {
        let server = try RawServer(.hang)
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.mappings = [try HTTPDNSMapping.Key("*.test"): .addresses(["127.0.0.1:\(server.port)"])]
        let provider = try HTTPDNSDoHProvider(.init(name: "trap", url: "http://127.0.0.1:\(server.port)/dns-query"))
        configuration.resolver.providers = [provider]
        configuration.resolver.routes = [HTTPDNSRoute(.any, .providers(["trap"], fallback: .off))]
        try await withClient(configuration) { client in
            let error = try await refusal { _ = try await client.get(url) }
            #expect(error.code == .invalidURL && error.phase == .request, "\(error.code) \(error)")
            #expect(error.requestMayHaveBeenSent == false && error.attempts.isEmpty)
            let text = "\(error)"
            #expect(!text.contains { $0.isNewline } && text.utf8.count < 800, "\(text)")
            #expect(!text.contains("pa ss") && !text.contains("pass@"), "\(text)")
            #expect(!text.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7f }, "\(text)")
        }
        #expect(server.connections.isEmpty)
    }

    @Test("The program refuses each hostile URL on one line, with status 2")
    func programRefuses() async throws {
        for (number, url) in Self.refused.filter({ !$0.contains("\0") }).enumerated() {
            // Behind "--" also what looks like a flag is a URL.
            // For fetch, as for curl, these are URLs of the scheme http.
            let isCompleted = ["one.test", "one.test:80", "http"].contains(url)
            let command = number.isMultiple(of: 2) && !isCompleted ? "fetch" : "explain"
            let arguments = [command, "--map", "*.test=127.0.0.1", "--", url]
            let result = try await Command.resolveTest(arguments).run()
            #expect(result.status == 2 && result.output == "", "\(url): \(result)")
            #expect(result.error.hasPrefix("resolve-test: "), "\(url): \(result)")
            #expect(result.error.split(separator: "\n").count == 1, "\(url): \(result)")
        }
    }

    /// The host is the part behind the last at sign.
    @Test("User information in a URL never becomes the host")
    func userInformation() async throws {
        let server = try RawServer(.serve())
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.mappings = [
            try HTTPDNSMapping.Key("real.test"): .addresses(["127.0.0.1:\(server.port)"])
        ]
        configuration.allowsCleartextCredentials = true
        try await withClient(configuration) { client in
            for url in [
                "http://one.test@real.test/", "http://one.test:80@real.test/", "http://one.test%2f@real.test/",
                "http://one.test%5c@real.test/", "http://real.test/@one.test/", "http://real.test?@one.test/",
                "http://real.test#@one.test/", "http://real.test/\\@one.test/", "http://real.test//one.test/",
            ] {
                let response = try await client.get(url)
                #expect(response.exchanges.first?.request.host == "real.test", "\(url)")
                try await response.text()
            }
        }
        let text = server.text
        #expect(text.split(separator: "\r\n").filter { $0.hasPrefix("Host: ") }.allSatisfy { $0 == "Host: real.test" })
    }

    @Test("Line breaks and NULs in fields, methods and Host never reach the wire")
    func injection() async throws {
        let server = try RawServer(.serve())
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.mappings = [try HTTPDNSMapping.Key("one.test"): .addresses(["127.0.0.1:\(server.port)"])]
        try await withClient(configuration) { client in
            for value in ["a\r\nEvil: 1", "a\nEvil: 1", "a\rEvil: 1", "a\0Evil", "\r\n\r\nGET /evil HTTP/1.1"] {
                // HTTPTypes replaces such characters itself; whatever it lets through must be refused, not sent.
                var fields = HTTPFields()
                fields[.accept] = value
                do {
                    try await client.get("http://one.test/", headerFields: fields).text()
                } catch let error as HTTPDNSClientError {
                    #expect(error.code == .invalidRequest, "\(error)")
                }
                let error = try await refusal {
                    _ = try await client.get("http://one.test/") { $0.hostHeader = "one.test\(value)" }
                }
                #expect(error.code == .invalidRequest && !"\(error)".contains { $0.isNewline }, "\(error)")
            }
            for host in ["", " ", "a b", "a/b", "a@b", "a,b", "a\\b", "ü.test"] {
                let error = try await refusal { _ = try await client.get("http://one.test/") { $0.hostHeader = host } }
                #expect(error.code == .invalidRequest, "\(host): \(error)")
            }
            for name in ["Host", "host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade"] {
                var fields = HTTPFields()
                fields[try #require(HTTPField.Name(name))] = "x"
                let error = try await refusal { _ = try await client.get("http://one.test/", headerFields: fields) }
                #expect(error.code == .invalidRequest, "\(name): \(error)")
            }
        }
        for connection in server.connections {
            let lines = connection.text.split(separator: "\r\n", omittingEmptySubsequences: true)
            for line in lines {
                #expect(!line.hasPrefix("Evil") && !line.hasPrefix("GET /evil") && !line.contains("\n"))
            }
        }
    }
}
