// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import ServerRig
import Testing

@testable import HTTPDNS

struct CurlCommandTests {
    private static let canary = "c4narybird"

    static let requests: [HTTPDNSClient.Request] = {
        let secret = canary
        let fields: [HTTPFields] = [
            [.authorization: "Bearer \(secret)"], [.cookie: "id=\(secret)"], [.referer: "https://a.test/?q=\(secret)"],
            [HTTPField.Name("X-Api-Key")!: secret], [HTTPField.Name("My-Session")!: secret],
            [.proxyAuthorization: secret], [HTTPField.Name("X-Forwarded-Auth")!: "Bearer \(secret)"],
            [HTTPField.Name("X-Custom")!: "token:\(secret)"],
        ]
        let urls = [
            "https://me:\(secret)@one.test/", "https://one.test/?token=\(secret)",
            "https://one.test/?a=1&api_key=\(secret)",
            "https://one.test/?user%5Bpassword%5D=\(secret)", "https://one.test/a;jsessionid=\(secret)",
            "https://one.test/#\(secret)", "https://one.test/bcdn_token=\(secret)/a.m3u8",
            "https://one.test/?query=%7Blogin(password:%22\(secret)%22)%7Bid%7D%7D",
            "https://one.test/?%2570assword=\(secret)", "no url?token=\(secret)",
        ]
        let bodies: [HTTPDNSClient.Request.Body?] = [
            .text("the secret is \(secret)"), .bytes([0, 255] + Array(secret.utf8)), .form(["password": secret]),
            try? .json(["a": ["token": secret]]), try? .json([["client_secret": [secret]]]),
            .multipart([.field("password", secret), .field("a", "b")]),
            .multipart([.file("token", path: "/tmp/a"), .field("password", secret), .field("a", "b")]),
            .multipart([
                .field("operations", "{\"variables\":{\"password\":\"\(secret)\"}}", contentType: "application/json")
            ]),
            .multipart([.field("a", "Bearer \(secret)")]),
        ]
        return fields.map { HTTPDNSClient.Request(url: "https://one.test/", headerFields: $0) }
            + urls.map { HTTPDNSClient.Request(url: $0) }
            + bodies.compactMap { $0 }.map { HTTPDNSClient.Request(method: .post, url: "https://one.test/", body: $0) }
    }()

    @Test("No secret is in a command line unless it is asked for", arguments: requests.indices)
    func secrets(index: Int) {
        let request = Self.requests[index]
        let command = request.curlCommand()
        let octal = Self.canary.utf8.map { "\\" + String($0, radix: 8) }.joined()
        #expect(!command.contains(Self.canary) && !command.contains(octal), "\(command)")
        // User information and fragments are no part of the request line.
        guard !request.url.contains("@"), !request.url.contains("#") else { return }
        #expect(request.curlCommand(redacting: .off).contains(Self.canary))
    }

    @Test("A field value that is not UTF-8 keeps its bytes in any sh")
    func rawFields() throws {
        var request = HTTPDNSClient.Request(url: "https://one.test/")
        request.headerFields.append(HTTPField(name: .userAgent, lenientValue: [0x4b, 0xf6, 0x6c, 0x6e, 0x25]))
        request.headerFields.append(HTTPField(name: .authorization, lenientValue: [0xf6]))
        let name = try #require(HTTPField.Name("X-Any"))
        request.headerFields.append(HTTPField(name: name, lenientValue: [0xf6] + Array(" token=x".utf8)))
        let command = request.curlCommand()
        #expect(command.contains(#" --header "$(printf -- 'User-Agent: K\366ln\045')" "#), "\(command)")
        #expect(command.contains("--header 'Authorization: (redacted)'"), "\(command)")
        #expect(command.contains(#"'X-Any: \366 token\075\050redacted\051'"#), "\(command)")
        #expect(request.curlCommand(redacting: .off).contains(#""$(printf -- 'Authorization: \366')""#))
    }

    @Test("A multipart form keeps its parts when secrets are replaced")
    func parts() {
        let body = HTTPDNSClient.Request.Body.multipart(
            [.file("token", path: "/tmp/a"), .field("b", "one"), .field("password", "two"), .field("c", "three")],
            boundary: "x"
        )
        let request = HTTPDNSClient.Request(method: .post, url: "https://one.test/", body: body)
        let (plain, redacted) = (request.curlCommand(redacting: .off), request.curlCommand())
        #expect(redacted.contains("cat /tmp/a"))
        let mark = Self.printed("(redacted)")
        #expect(redacted == plain.replacing("'two'", with: "'\(mark)'"))
        #expect(plain != redacted && redacted.contains("'one'") && redacted.contains("'three'"))
    }

    /// A text as `printf` gets it.
    private static func printed(_ text: String) -> String {
        text.map { $0 == "(" ? "\\050" : $0 == ")" ? "\\051" : String($0) }.joined()
    }

    @Test("Names of the caller's are secrets, and others stay")
    func names() {
        var request = HTTPDNSClient.Request(url: "https://one.test/?plan=gold&page=2")
        request.headerFields[.userAgent] = "app/1"
        let command = request.curlCommand(redacting: HTTPDNSClient.Redaction(names: ["plan"]))
        #expect(command.contains("?plan=(redacted)&page=2") && command.contains("app/1"))
        #expect(request.curlCommand().contains("plan=gold"))
    }

    @Test("Options that curl has are in the command line")
    func options() {
        let request = HTTPDNSClient.Request(url: "https://One.Test/a") {
            $0.addresses = .only(["[2001:db8::9]:8443", "203.0.113.9"])
            $0.timeouts.total = .milliseconds(1500)
            $0.versions = .http1Only
            $0.families = .v6
            $0.proxy = .off
            $0.unixSocket = "/run/a b.sock"
            $0.hostHeader = "two.test"
        }
        let command = request.curlCommand()
        for part in [
            "--connect-to 'one.test:443:[2001:db8::9]:8443'", "--max-time 1.5", "--http1.1", "--ipv6", "--noproxy '*'",
            "--unix-socket '/run/a b.sock'", "--header 'Host: two.test'", "--url https://one.test/a", "--compressed",
        ] {
            #expect(command.contains(part), "\(part) in \(command)")
        }
        #expect(!command.contains("\n"))
    }
}
