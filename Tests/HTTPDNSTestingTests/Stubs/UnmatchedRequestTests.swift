// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import Logging
import ServerRig
import Testing

@testable import HTTPDNSTesting

struct UnmatchedRequestTests {
    /// A client whose real server is a `RawServer`, at `real.test`, and that has stubs.
    private func withServer(
        _ stubs: HTTPDNSStubs,
        logger: Logger? = nil,
        _ body: (HTTPDNSClient, RawServer) async throws -> Void
    ) async throws {
        let server = try RawServer(.serve("real"))
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.mappings = [
            try HTTPDNSMapping.Key("real.test"): .addresses(["127.0.0.1:\(server.port)"]),
            try HTTPDNSMapping.Key("other.test"): .addresses(["127.0.0.1:\(server.port)"]),
        ]
        configuration.logger = logger
        configuration.use(stubs)
        try await withHTTPDNSClient(configuration: configuration) { try await body($0, server) }
    }

    @Test("By default the call fails, and no connection is made to the server")
    func fail() async throws {
        let stubs = HTTPDNSStubs()
        try await withServer(stubs) { client, server async throws in
            let error = await clientError { try await client.get("http://real.test/") }
            #expect(error?.code == .unmatchedRequest && error?.phase == .interceptor && error?.host == "real.test")
            #expect(error?.interceptors == ["HTTPDNSStubs"] && error?.requestMayHaveBeenSent == false)
            for url in ["http://127.0.0.1:\(server.port)/", "http://localhost:\(server.port)/"] {
                #expect(await clientError { try await client.get(url) }?.code == .unmatchedRequest)
            }
            #expect(server.connections.isEmpty && client.connectionPools.isEmpty)
            #expect(stubs.requests.map(\.outcome) == [.failed, .failed, .failed])
            // The server is there, and the client would have found it.
            stubs.isEnabled = false
            #expect(try await client.text("http://real.test/") == "real")
            #expect(server.connections.count == 1)
        }
    }

    @Test("The error names method and URL, and for the closest stubs what does not match")
    func closest() async throws {
        let stubs = HTTPDNSStubs(allowing: ["*.cdn.test"])
        stubs.on(.get, "https://api.shop.test/v1/items?page=2").respond(.reply())
        stubs.on(.post, path: "/v1/charge", where: .json(["amount": 100])).respond(.reply())
        stubs.on(.delete, "https://other.test/", named: "far").respond(.reply())
        stubs.on(.put, path: "/v2", where: .header(.accept) && .host("x.test"), named: "farthest").respond(.reply())
        try await withStubs(stubs) { client async throws in
            let post = await clientError {
                try await client.post("https://api.shop.test/v1/charge?key=secret", body: .json(["amount": 99]))
            }
            #expect(
                post?.message == """
                    no stub answers POST https://api.shop.test/v1/charge?key=...; \
                    closest: POST /v1/charge where JSON body (not JSON body); \
                    far (not method DELETE, not origin https://other.test, not path "/"); \
                    GET https://api.shop.test/v1/items?page=2 (not method GET, not path "/v1/items", not query "page=2"); \
                    and 1 more; allowed hosts: *.cdn.test
                    """
            )
            #expect(post?.description.contains("add a stub") == true)
            let get = await clientError { try await client.get("https://api.shop.test/v1/items?page=1") }
            #expect(
                get?.message.contains(#"closest: GET https://api.shop.test/v1/items?page=2 (not query "page=2");"#)
                    == true
            )
        }
    }

    @Test("Passing sends the request with its body, and the history says so")
    func pass() async throws {
        let stubs = HTTPDNSStubs(unmatched: .pass)
        stubs.on(.get, "http://real.test/stub").respond(.reply("stub"))
        try await withServer(stubs) { client, server async throws in
            #expect(try await client.text("http://real.test/stub") == "stub")
            #expect(server.connections.isEmpty)
            let chunks = AsyncStream<[UInt8]> { continuation in
                for chunk in ["ab", "cd"] { continuation.yield(Array(chunk.utf8)) }
                continuation.finish()
            }
            let response = try await client.post("http://real.test/", body: .stream(length: 4, chunks))
            #expect(try await response.body.collect(upTo: .kibibytes(1)) == Array("real".utf8))
            let connection = try await server.awaitConnections { $0.first?.text.hasSuffix("abcd") == true }
            #expect(connection.count == 1)
            #expect(stubs.requests.map(\.outcome) == [.answered, .sent])
            try stubs.verify()
        }
    }

    @Test("Warning sends the request, and logs method and URL without secrets")
    func warn() async throws {
        let log = RecordedLog()
        let stubs = HTTPDNSStubs(unmatched: .warn)
        try await withServer(stubs, logger: log.logger(.warning)) { client, _ async throws in
            #expect(try await client.text("http://real.test/a?token=secret") == "real")
        }
        let events = log.events.filter { "\($0.message)" == "no stub answers a request, which is sent" }
        #expect(events.map(\.level) == [.warning])
        #expect(events.first?.metadata?["method"] == "GET")
        #expect(events.first?.metadata?["url"] == "http://real.test/a?token=...")
    }

    @Test("A closure answers, and its error fails the call")
    func custom() async throws {
        struct Refused: Error {}
        let stubs = HTTPDNSStubs(
            unmatched: .custom { request in
                if request.method == .delete { throw Refused() }
                return .reply("\(request.method) \(request.url)", .notFound)
            }
        )
        try await withServer(stubs) { client, server async throws in
            #expect(try await client.text("http://real.test/x") == "GET http://real.test/x")
            let error = await clientError { try await client.delete("http://real.test/x") }
            #expect(error?.code == .interceptorFailed && error?.underlying is Refused)
            #expect(server.connections.isEmpty && stubs.requests.map(\.outcome) == [.custom, .custom])
        }
    }

    @Test("Allowed hosts are reached, other ones are not, and a stub wins over the list")
    func allowed() async throws {
        let stubs = HTTPDNSStubs(allowing: ["REAL.test"])
        stubs.on(.get, "http://real.test/stub").respond(.reply("stub"))
        try await withServer(stubs) { client, server async throws in
            #expect(try await client.text("http://real.test/stub") == "stub")
            #expect(try await client.text("http://real.test/") == "real")
            let error = await clientError { try await client.get("http://other.test/") }
            #expect(error?.message.hasSuffix("allowed hosts: REAL.test") == true)
            #expect(stubs.requests.map(\.outcome) == [.answered, .sent, .failed])
            let connections = try await server.awaitConnections { !$0.isEmpty }
            #expect(connections.count == 1)
        }
    }

    @Test("An answer by the real server does not pass the stubs again")
    func realAnswer() async throws {
        let stubs = HTTPDNSStubs()
        let stub = stubs.on(.host("real.test")).respond(.real)
        try await withServer(stubs) { client, _ async throws in
            #expect(try await client.text("http://real.test/") == "real")
            #expect(stub.uses == 1 && stubs.requests.count == 1)
        }
    }

    @Test("A request that could not be sent fails with stubs too")
    func invalid() async throws {
        let stubs = HTTPDNSStubs()
        stubs.on(.all).respond(.reply())
        try await withStubs(stubs) { client async throws in
            for (url, fields, code) in [
                ("https://one.test/", [.contentLength: "5"], HTTPDNSClientError.Code.invalidRequest),
                ("https://one.test:99999/", [:], .invalidURL), ("ftp://one.test/", [:], .invalidURL),
            ] as [(String, HTTPFields, HTTPDNSClientError.Code)] {
                let error = await clientError { try await client.get(url, headerFields: fields) }
                #expect(error?.code == code, "\(url): \(error as Any)")
            }
            #expect(stubs.requests.isEmpty)
        }
    }

    @Test("A handler of a scheme answers its requests beside stubs")
    func schemes() async throws {
        let stubs = HTTPDNSStubs()
        try await withStubs(stubs) {
            $0.schemeHandlers["app"] = { _ in
                HTTPDNSClient.Response(head: HTTPResponse(status: .ok), body: .bytes(Array("app".utf8)))
            }
        } _: { client async throws in
            #expect(try await client.text("app://settings") == "app")
            client.usesStubs = false
            #expect(try await client.text("app://settings") == "app")
        }
    }
}
