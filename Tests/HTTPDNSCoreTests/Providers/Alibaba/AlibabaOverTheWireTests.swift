// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import ServerRig
import Testing

@testable import HTTPDNSCore
@testable import HTTPDNSVendors

/// The provider over its own transport, against a server that says what no real one would.
@Suite("Alibaba: over the wire", .timeLimit(.minutes(10)))
struct AlibabaOverTheWireTests {
    private func provider(port: UInt16) throws -> HTTPDNSAlibabaProvider {
        var configuration = HTTPDNSAlibabaProvider.Configuration(
            name: "raw",
            version: .v2,
            credential: HTTPDNSVendorCredential(account: "123456")
        )
        configuration.url = "http://127.0.0.1:\(port)"
        configuration.discoversAddresses = false
        return try HTTPDNSAlibabaProvider(configuration)
    }

    private func error(_ steps: RawServer.Step..., timeLimit: Duration = .seconds(120)) async throws
        -> HTTPDNSProviderError?
    {
        try await VendorWire.error(steps, .v4, timeLimit: timeLimit, provider)
    }

    @Test("A request is one line with the parameters, and the answer is read")
    func exchange() async throws {
        let text = try await VendorWire.request(answered: AlibabaBody.v2, provider)
        #expect(text.hasPrefix("GET /v2/d?id=123456&m=0&dn=www.example.com&q=4,6 HTTP/1.1\r\n"))
    }

    @Test("The code in the body of a refusal is read")
    func refusal() async throws {
        let body = #"{"code":"InvalidAccount"}"#
        let error = try await error(.readHead, VendorWire.answer(body, status: "403 Forbidden"), .hang)
        #expect(error?.code == .accountRefused && error?.message.contains("InvalidAccount") == true)
    }

    @Test("10 MB body: given up after 64 KiB; a refusal that long is one by its status")
    func longBody() async throws {
        let chunk = String(repeating: " ", count: 64 * 1024)
        let length = 10 * 1024 * 1024
        let long = try await error(.readHead, VendorWire.answer("", length: length), .repeatForever([.sendText(chunk)]))
        #expect(long?.code == .badResponse && long?.message.contains("longer than an answer") == true)
        let refusal = try await error(
            .readHead,
            VendorWire.answer("", status: "502 Bad Gateway", length: length),
            .repeatForever([.sendText(chunk)])
        )
        #expect(refusal?.code == .httpStatus && refusal?.message.contains("HTTP 502") == true)
    }

    @Test("A body that breaks off or stalls is no answer")
    func broken() async throws {
        let cut = try await error(.readHead, VendorWire.answer(AlibabaBody.v2, length: AlibabaBody.v2.utf8.count + 1))
        #expect(cut != nil)
        let stalled = try await error(
            .readHead,
            VendorWire.answer("{", length: 100),
            .hang,
            timeLimit: .milliseconds(300)
        )
        #expect(stalled?.code == .timedOut)
        let redirect = RawServer.Step.respond(status: "302 Found", fields: "Location: http://127.0.0.1:1/\r\n")
        #expect(try await error(.readHead, redirect, .hang)?.code == .httpStatus)
    }
}
