// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import ServerRig
import Testing

@testable import HTTPDNSCore
@testable import HTTPDNSVendors

/// The provider over its own transport, against a server that says what no real one would.
@Suite("Tencent: over the wire", .timeLimit(.minutes(10)))
struct TencentOverTheWireTests {
    private func provider(port: UInt16) throws -> HTTPDNSTencentProvider {
        var configuration = HTTPDNSTencentProvider.Configuration(
            name: "raw",
            credential: HTTPDNSVendorCredential(account: "100000", secret: HTTPDNSSecret { ScriptedTencent.token })
        )
        configuration.url = "http://127.0.0.1:\(port)"
        configuration.discoversAddresses = false
        return try HTTPDNSTencentProvider(configuration)
    }

    private func error(_ steps: RawServer.Step..., timeLimit: Duration = .seconds(120)) async throws
        -> HTTPDNSProviderError?
    {
        try await VendorWire.error(steps, .both, timeLimit: timeLimit, provider)
    }

    @Test("A request is one line with the parameters, and the answer is read")
    func exchange() async throws {
        let text = try await VendorWire.request(answered: TencentBody.both, provider)
        #expect(text.hasPrefix("GET /d?dn=www.example.com;"))
        #expect(text.contains("&token=800900&type=addrs&ttl=1&clientip=1&query=1 HTTP/1.1\r\n"))
    }

    @Test(
        "An error quotes nothing of the request, whatever the response repeats",
        arguments: [
            "HTTP/1.1 200 ECHO\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 403 ECHO\r\nContent-Type: ECHO\r\nContent-Length: 0\r\n\r\n",
            "ECHO\r\n\r\n", "HTTP/1.1 ECHO\r\n\r\n", "HTTP/9.9 200 ECHO\r\n\r\n", "HTTP/1.1 200 OK\r\nECHO\r\n\r\n",
            "HTTP/1.1 200 OK\r\nECHO: ECHO\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: ECHO\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: ECHO\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nECHO\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Encoding: ECHO\r\nContent-Length: 4\r\n\r\nECHO",
            "HTTP/1.1 302 Found\r\nLocation: ECHO\r\nLocation: ECHO/x\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 429 ECHO\r\nRetry-After: ECHO\r\nContent-Length: 0\r\n\r\n",
        ]
    )
    func echoes(answer: String) async throws {
        let line = "GET /d?dn=www.example.com;&token=\(ScriptedTencent.token)&type=addrs"
        let text = answer.replacing("ECHO", with: line)
        let error = try await error(.readHead, .sendText(text), .shutdownSending, .hang)
        let said = try #require(error.map { "\($0) \(String(reflecting: $0))" })
        for canary in [ScriptedTencent.token, "token=", "/d?", "dn=", "type=addrs"] {
            #expect(!said.contains(canary), "\(canary) in \(said)")
        }
    }

    @Test("10 MB body: given up after 64 KiB")
    func longBody() async throws {
        let chunk = String(repeating: "1", count: 64 * 1024)
        let length = 10 * 1024 * 1024
        let long = try await error(.readHead, VendorWire.answer("", length: length), .repeatForever([.sendText(chunk)]))
        #expect(long?.code == .badResponse && long?.message.contains("longer than an answer") == true)
    }

    /// Also where the bytes that arrived could be a whole answer.
    @Test("A body that breaks off or stalls is no answer")
    func broken() async throws {
        let body = TencentBody.both
        #expect(try await error(.readHead, VendorWire.answer(body, length: body.utf8.count + 1)) != nil)
        let stalled = try await error(
            .readHead,
            VendorWire.answer("w", length: 100),
            .hang,
            timeLimit: .milliseconds(300)
        )
        #expect(stalled?.code == .timedOut)
        let redirect = RawServer.Step.respond(status: "302 Found", fields: "Location: http://127.0.0.1:1/\r\n")
        #expect(try await error(.readHead, redirect, .hang)?.code == .httpStatus)
    }
}
