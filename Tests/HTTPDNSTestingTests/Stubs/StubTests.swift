// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

@testable import HTTPDNSTesting

struct StubTests {
    private let url = "https://api.shop.test/v1/items"

    @Test("The stub that was added last is asked first, and then the next one")
    func order() async throws {
        let stubs = HTTPDNSStubs()
        stubs.on(.all).respond(.reply("catch-all"))
        stubs.on(.get, path: "/v1/items").respond(.reply("first"))
        stubs.on(.get, url).respond(.reply("second"))
        try await withStubs(stubs) { client async throws in
            #expect(try await client.text(url) == "second")
            #expect(try await client.text("https://other.test/v1/items") == "first")
            #expect(try await client.text("https://other.test/") == "catch-all")
        }
    }

    @Test("A response has the URL of the last hop, also of a stub and after a redirect")
    func url() async throws {
        let stubs = HTTPDNSStubs()
        stubs.on(.get, url).respond(.reply("first"))
        stubs.on(.get, path: "/old").respond(.status(.found, headers: [.location: url]))
        try await withStubs(stubs) { client async throws in
            for address in [url, "https://api.shop.test/old"] {
                let response = try await client.get(address)
                #expect(response.url == url && response.exchanges.isEmpty)
                #expect(try await response.text() == "first")
            }
        }
    }

    @Test("A stub is removed by its handle, and all are at once")
    func removal() async throws {
        let stubs = HTTPDNSStubs()
        stubs.on(.get, url).respond(.reply("old"))
        let new = stubs.on(.get, url, named: "new").respond(.reply("new"))
        try await withStubs(stubs) { client async throws in
            #expect(try await client.text(url) == "new")
            #expect(new.uses == 1)
            new.remove()
            new.remove()
            new.respond(.reply("late"))
            #expect(new.uses == 0)
            #expect(try await client.text(url) == "old")
            stubs.removeAll()
            #expect(stubs.all.isEmpty && stubs.requests.count == 2)
            let error = await clientError { try await client.text(url) }
            #expect(error?.code == .unmatchedRequest && error?.message.hasSuffix("there are no stubs") == true)
            stubs.reset()
            #expect(stubs.requests.isEmpty)
        }
    }

    @Test("The list has the names in the order in which the stubs are asked")
    func list() {
        let stubs = HTTPDNSStubs()
        stubs.on(.get, url).respond(.reply())
        stubs.on(.post, path: "/v1/charge", where: .header(.accept)).respond(.reply())
        stubs.on(.host("*.cdn.test"), named: "pictures").respond(.reply())
        stubs.on(.method(.put) && .path(prefix: "/x")).respond(.reply())
        #expect(
            stubs.all.map(\.description) == [
                #"method PUT && path "/x...""#, "pictures", "POST /v1/charge where header Accept", "GET \(url)",
            ]
        )
        let pictures = stubs.all.first { $0.description == "pictures" }
        pictures?.remove()
        #expect(stubs.all.count == 3)
    }

    @Test("A request whose stub is removed before its response fails with a clear error")
    func removalInFlight() async throws {
        let stubs = HTTPDNSStubs()
        let (asked, goOn) = (Gate(), Gate())
        let stub = stubs.on(.get, url, named: "items").respond(
            .computed { _ in
                asked.open()
                await goOn.passage()
                return HTTPDNSClient.Response(head: HTTPResponse(status: .ok), body: .bytes([]))
            }
        )
        try await withStubs(stubs) { client async throws in
            async let call = clientError { try await client.get(url) }
            await asked.passage()
            stub.remove()
            goOn.open()
            let error = await call
            #expect(error?.code == .unmatchedRequest)
            #expect(error?.message == "the stub items was removed while it answered GET \(url)")
        }
    }

    @Test("A response that the caller has is readable after the removal of its stub")
    func removalBeforeBody() async throws {
        let stubs = HTTPDNSStubs()
        stubs.on(.get, url).respond(.reply("kept"))
        try await withStubs(stubs) { client async throws in
            let response = try await client.get(url)
            stubs.removeAll()
            #expect(try await response.body.collect(upTo: .kibibytes(1)) == Array("kept".utf8))
        }
    }

    @Test("A stub without an answer leaves the request to older ones")
    func noAnswer() async throws {
        let stubs = HTTPDNSStubs()
        stubs.on(.get, url).respond(.reply("old"))
        let empty = stubs.on(.get, url)
        try await withStubs(stubs) { client async throws in
            #expect(try await client.text(url) == "old")
            empty.respond(.reply("new"))
            #expect(try await client.text(url) == "new")
        }
    }

    @Test("A stub with an unreadable URL fails the calls that reach it")
    func unreadableURL() async throws {
        let stubs = HTTPDNSStubs()
        stubs.on(.get, "api.shop.test/v1 items").respond(.reply())
        try await withStubs(stubs) { client async throws in
            let error = await clientError { try await client.get(url) }
            #expect(error?.code == .invalidURL && error?.message.contains("api.shop.test/v1 items") == true)
        }
    }

    @Test("A set that is installed twice handles a request once")
    func installedTwice() async throws {
        let server = try RawServer(.serve("real"))
        let stubs = HTTPDNSStubs(allowing: ["127.0.0.1"])
        stubs.on(.get, url).respond(.reply("one"), times: 1).then(.reply("two"))
        let process = HTTPDNSClient.InterceptorRegistry()
        let registration = process.addNetworkInterceptor(stubs)
        let stubbed = HTTPDNSStubs(unmatched: .pass)
        try await withStubs(stubs) {
            $0.processInterceptors = process
        } _: { client async throws in
            #expect(try await client.text(url) == "one")
            let error = await clientError { try await client.get("https://other.test/") }
            #expect(error?.code == .unmatchedRequest)
            #expect(try await client.text("http://127.0.0.1:\(server.port)/") == "real")
            #expect(stubs.requests.map(\.outcome) == [.answered, .failed, .sent])
        }
        // A client that knows nothing of the stubs has them from the registry.
        try await withStubs(stubbed) {
            $0.processInterceptors = process
        } _: { client async throws in
            #expect(try await client.text(url) == "two")
            registration.remove()
            #expect(stubbed.requests.isEmpty)
        }
    }
}
