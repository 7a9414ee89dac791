// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSTesting
import Testing

@testable import Guide

/// A shop's API, as a program uses it.
struct Shop: Sendable {
    let client: HTTPDNSClient

    func hasItem(_ number: Int) async throws -> Bool {
        try await client.head("https://api.shop.example/v1/items/\(number)").status == .ok
    }

    func order(_ number: Int) async throws -> Bool {
        let response = try await client.post("https://api.shop.example/v1/orders", json: ["item": number])
        return response.status == .created
    }
}

struct StubTests {
    @Test("The code that calls a service is tested without a server")
    func caller() async throws {
        let stubs = HTTPDNSStubs()
        stubs.on(.head, "https://api.shop.example/v1/items/7").respond(.status(.ok))
        stubs.on(.post, path: "/v1/orders", where: .json(["item": 7])).respond(.status(.created))
        let client = try await HTTPDNSClient(configuration: .stubbed(stubs))
        let shop = Shop(client: client)

        #expect(try await shop.hasItem(7))
        #expect(try await shop.order(7))
        #expect(stubs.requests.map(\.method) == [.head, .post])
        try stubs.verify()

        let error = await #expect(throws: HTTPDNSClientError.self) { try await shop.hasItem(8) }
        #expect(error?.code == .unmatchedRequest)

        try await client.shutdown()
    }

    @Test("Retries of the client pass a sequence of answers")
    func retries() async throws {
        let stubs = HTTPDNSStubs()
        stubs.on(.head, "https://api.shop.example/v1/items/7")
            .respond(.status(.serviceUnavailable), times: 2)
            .then(.status(.ok))

        var configuration = HTTPDNSClient.Configuration.stubbed(stubs)
        configuration.retries = .standard
        configuration.retries.delay = .zero
        let client = try await HTTPDNSClient(configuration: configuration)

        #expect(try await Shop(client: client).hasItem(7))
        #expect(stubs.requests.count == 3)
        try await client.shutdown()
    }

    @Test("Tests that share a client have stubs of their own in a scope")
    func scope() async throws {
        let stubs = HTTPDNSStubs()
        let client = try await HTTPDNSClient(configuration: .stubbed(stubs))
        let shop = Shop(client: client)

        try await stubs.scope {
            stubs.on(.head, "https://api.shop.example/v1/items/7").respond(.status(.notFound))
            #expect(try await !shop.hasItem(7))
            try stubs.verify()
        }

        #expect(stubs.all.isEmpty)
        try await client.shutdown()
    }

    @Test("An interceptor is tested with stubs, and alone")
    func interceptor() async throws {
        let stubs = HTTPDNSStubs()
        stubs.on(.all).respond(.status(.ok))
        var configuration = HTTPDNSClient.Configuration.stubbed(stubs)
        configuration.applicationInterceptors = [UploadMark()]
        let client = try await HTTPDNSClient(configuration: configuration)

        var request = HTTPDNSClient.Request(method: .post, url: "https://api.shop.example/images", body: .text("a"))
        request[JobName.self] = "nightly"
        _ = try await client.execute(request)
        #expect(stubs.requests.first?.headerFields[values: HTTPField.Name("X-Job")!] == ["nightly"])

        let context = HTTPDNSClient.InterceptionContext(requestURL: request.url)
        _ = try await UploadMark().intercept(request, context: context) { request, _ in
            #expect(request.headerFields[values: HTTPField.Name("X-Job")!] == ["nightly"])
            return HTTPDNSClient.Response(head: HTTPResponse(status: .ok), body: .bytes([]))
        }

        try await client.shutdown()
    }

    @Test("A redirect hook is tested with redirects that stubs answer")
    func redirectHook() async throws {
        let stubs = HTTPDNSStubs()
        stubs.on(.get, "https://api.shop.example/old")
            .respond(.status(.found, headers: [.location: "https://other.example/"]))

        var configuration = HTTPDNSClient.Configuration.stubbed(stubs)
        configuration.redirectHook = { $0.changesOrigin ? .refuse : .follow }
        let client = try await HTTPDNSClient(configuration: configuration)
        #expect(try await client.get("https://api.shop.example/old").status == .found)
        try stubs.verify()
        try await client.shutdown()
    }

    /// Other uses of stubs, as the article shows them.
    static func uses(_ client: HTTPDNSClient) async throws {
        let stubs = HTTPDNSStubs(unmatched: .warn, allowing: ["localhost", "*.cdn.example"])

        let uploads: HTTPDNSClient.RequestPredicate = .method(.put) && .path(glob: "/images/*") && .header(.contentType)
        let stub = stubs.on(uploads, named: "uploads").skip(1).respond(.status(.created), times: 3)
        stub.remove()

        var configuration = HTTPDNSClient.Configuration()
        configuration.use(stubs)

        let registration = HTTPDNSClient.InterceptorRegistry.shared.addNetworkInterceptor(stubs)
        registration.remove()

        client.usesStubs = false
        stubs.isEnabled = false
    }
}
