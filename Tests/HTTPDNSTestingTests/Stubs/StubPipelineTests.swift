// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

@testable import HTTPDNSTesting

/// Each rule about redirects and cookies holds in a thousand runs.
struct StubPipelineTests {
    private static let runs = 1000
    private let first = "https://one.test/a"
    private let second = "https://one.test/b"

    @Test(
        "Redirects between stubs keep or change method and body as from servers",
        arguments: [
            (301, .post, .get), (302, .post, .get), (302, .put, .put), (303, .put, .get), (307, .post, .post),
            (308, .patch, .patch), (300, .post, nil),
        ] as [(Int, HTTPRequest.Method, HTTPRequest.Method?)]
    )
    func redirects(code: Int, method: HTTPRequest.Method, next: HTTPRequest.Method?) async throws {
        let stubs = HTTPDNSStubs()
        stubs.on(method, first).respond(.reply("moved", HTTPResponse.Status(code: code), [.location: "/b"]))
        if let next { stubs.on(next, second).respond(.reply("arrived")) }
        try await withStubs(stubs) { client async throws in
            for _ in 0..<Self.runs {
                let request = HTTPDNSClient.Request(method: method, url: first, body: .text("body"))
                let response = try await client.execute(request)
                let text = String(decoding: try await response.body.collect(upTo: .kibibytes(1)), as: UTF8.self)
                let bodies = stubs.requests.map { String(decoding: $0.body, as: UTF8.self) }
                guard let next else {
                    try #require(response.status.code == code && text == "moved" && bodies == ["body"])
                    stubs.forgetRequestsOfTest()
                    continue
                }
                try #require(response.status == .ok && text == "arrived")
                try #require(bodies == ["body", next == method ? "body" : ""])
                try #require(stubs.requests.map(\.hop) == [0, 1])
                stubs.forgetRequestsOfTest()
            }
        }
    }

    @Test("A redirect to another origin drops secrets, and keeps other header fields")
    func droppedFields() async throws {
        let stubs = HTTPDNSStubs()
        stubs.on(.get, first).respond(.reply("", .found, [.location: "https://two.test/b"]))
        stubs.on(.get, "https://two.test/b").respond(.reply())
        let key = try #require(HTTPField.Name("X-Api-Key"))
        let fields: HTTPFields = [
            .authorization: "Basic x", .cookie: "a=1", .referer: "x", key: "k", .accept: "text/html",
        ]
        try await withStubs(stubs) { client async throws in
            for _ in 0..<Self.runs {
                _ = try await client.get(first, headerFields: fields)
                let names = stubs.requests.map { Set($0.headerFields.map(\.name)) }
                try #require(names == [Set(fields.map(\.name)), [.accept]])
                stubs.forgetRequestsOfTest()
            }
        }
    }

    @Test("A refused redirect delivers the redirecting response itself", arguments: [true, false])
    func refusal(byHook: Bool) async throws {
        let stubs = HTTPDNSStubs()
        stubs.on(.get, first).respond(.reply("moved", .found, [.location: second]))
        let target = stubs.on(.get, second).respond(.reply())
        try await withStubs(stubs) {
            if byHook { $0.redirectHook = { $0.number == 1 ? .refuse : .follow } } else { $0.redirects = .off }
        } _: { client async throws in
            for _ in 0..<Self.runs {
                let response = try await client.get(first)
                try #require(response.status == .found && response.headerFields[.location] == second)
                try #require(try await response.body.collect(upTo: .kibibytes(1)) == Array("moved".utf8))
            }
            #expect(target.uses == 0)
        }
    }

    @Test("The delays of a redirect and of the final answer add up")
    func delays() async throws {
        let clock = HTTPDNSManualClock()
        let stubs = HTTPDNSStubs()
        func delayed(_ status: HTTPResponse.Status, _ fields: HTTPFields) -> HTTPDNSStubs.Answer {
            .computed { _ in
                try await clock.sleep(until: clock.now() + .seconds(1))
                return HTTPDNSClient.Response(
                    head: HTTPResponse(status: status, headerFields: fields),
                    body: .bytes([])
                )
            }
        }
        stubs.on(.get, first).respond(delayed(.found, [.location: second]))
        stubs.on(.get, second).respond(delayed(.ok, [:]))
        try await withStubs(stubs) { client async throws in
            for _ in 0..<Self.runs {
                let start = clock.now()
                async let response = client.get(first)
                for _ in 0..<2 {
                    // The call has not ended: it waits on the clock.
                    await clock.sleepers(atLeast: 1)
                    clock.advance(by: .seconds(1))
                }
                try #require(try await response.status == .ok)
                try #require(clock.now() - start == .seconds(2))
            }
        }
    }

    @Test("Cookies of a redirect and of the final answer are stored, and sent")
    func cookies() async throws {
        let stubs = HTTPDNSStubs()
        stubs.on(.get, first).respond(.reply("", .found, [.location: second, .setCookie: "a=1"]))
        stubs.on(.get, second).respond(.reply("", .ok, [.setCookie: "b=2"]))
        try await withStubs(stubs) {
            $0.cookies = .memory()
        } _: { client async throws in
            let jar = try #require(client.cookieJar)
            for _ in 0..<Self.runs {
                jar.removeAll()
                _ = try await client.get(first)
                try #require(stubs.requests.map { $0.headerFields[.cookie] } == [nil, "a=1"])
                try #require(try jar.cookies(for: second).map(\.name).sorted() == ["a", "b"])
                stubs.forgetRequestsOfTest()
            }
        }
    }

    @Test("Interceptors and credentials are in force, and stubs answer each hop inside them")
    func interceptors() async throws {
        let journal = Journal<String>()
        func noting(_ name: String) -> Around {
            Around { request, context, next in
                var request = request
                if name == "network" { request.headerFields[.userAgent] = "hop \(context.hop)" }
                let response = try await next(request, context)
                journal.write("\(name) \(response.status.code)")
                return response
            }
        }
        let stubs = HTTPDNSStubs()
        stubs.on(.get, first).respond(.reply("", .unauthorized, [.wwwAuthenticate: #"Basic realm="x""#]), times: 1)
            .then(.reply("", .found, [.location: second]))
        stubs.on(.get, second).respond(.reply("", .ok))
        let origin = try #require(HTTPDNSClient.Origin(first))
        try await withStubs(stubs) {
            $0.applicationInterceptors = [noting("application")]
            $0.networkInterceptors = [noting("network")]
            $0.credentials = [origin: .basic(user: "user", password: HTTPDNSSecret { "word" })]
        } _: { client async throws in
            #expect(try await client.get(first).status == .ok)
            #expect(journal.all == ["network 401", "network 302", "network 200", "application 200"])
            #expect(stubs.requests.map { $0.headerFields[.userAgent] } == ["hop 0", "hop 1", "hop 2"])
            #expect(stubs.requests.map { $0.headerFields[.authorization] != nil } == [false, true, true])
        }
    }

    @Test("User information over http is refused with stubs as without")
    func cleartextCredentials() async throws {
        let stubs = HTTPDNSStubs()
        stubs.on(.all).respond(.status(.ok))
        let url = "http://me:word@one.test/"
        try await withStubs(stubs) { client async throws in
            let error = await #expect(throws: HTTPDNSClientError.self) { try await client.get(url) }
            #expect(error?.code == .authenticationFailed && stubs.requests.isEmpty)
            let response = try await client.get(url) { $0.allowsCleartextCredentials = true }
            #expect(response.status == .ok && stubs.requests.count == 1)
            let local = try await client.get(url) { $0.unixSocket = "/run/one.sock" }
            #expect(local.status == .ok && stubs.requests.count == 2)
            let proxy = try HTTPDNSClient.Proxy("http://proxy.test:3128")
            #expect(try await client.get("http://me:word@localhost/").status == .ok)
            await #expect(throws: HTTPDNSClientError.self) {
                try await client.get("http://me:word@localhost/") { $0.proxy = .through(proxy) }
            }
        }
    }

    @Test("Redirects and cookies belong to the URL that a network interceptor passed on")
    func rewrittenURL() async throws {
        let stubs = HTTPDNSStubs()
        let fields: HTTPFields = [.location: "/b", .setCookie: "a=1"]
        stubs.on(.get, "https://moved.test/a").respond(.reply("", .found, fields))
        stubs.on(.get, "https://moved.test/b").respond(.reply())
        try await withStubs(stubs) {
            $0.networkInterceptors = [
                try HTTPDNSClient.URLRewriting(["one.test": "moved.test"])
            ]
            $0.cookies = .memory()
        } _: { client async throws in
            #expect(try await client.get(first).status == .ok)
            #expect(stubs.requests.map(\.url) == ["https://moved.test/a", "https://moved.test/b"])
            #expect(stubs.requests.map { $0.headerFields[.cookie] } == [nil, "a=1"])
        }
    }

    @Test("The content coding of an answer is decoded when the request asks for it")
    func decoding() async throws {
        let text = Array("hello hello hello".utf8)
        let coded = try ContentEncoder.encoded(text, "gzip")
        let stubs = HTTPDNSStubs()
        stubs.on(.get, first).respond(.reply(bytes: coded, .ok, [.contentEncoding: "gzip"]))
        stubs.on(.get, second).respond(.reply(bytes: Array(coded.dropLast(4)), .ok, [.contentEncoding: "gzip"]))
        try await withStubs(stubs) { client async throws in
            let response = try await client.get(first)
            #expect(response.body.declaredLength == nil)
            #expect(try await response.body.collect(upTo: .kibibytes(1)) == text)

            let raw = try await client.get(first) { $0.decodesBody = false }
            #expect(try await raw.body.collect(upTo: .kibibytes(1)) == coded)

            let error = await clientError { try await client.text(second) }
            #expect(error?.code == .decodingFailed && error?.phase == .body, "\(error as Any)")
        }
    }

    @Test(
        "A response that has no content has no body, whatever the answer holds",
        arguments: [(.head, 200), (.get, 204), (.get, 304)] as [(HTTPRequest.Method, Int)]
    )
    func noContent(method: HTTPRequest.Method, code: Int) async throws {
        let stubs = HTTPDNSStubs()
        stubs.on(.all).respond(.reply("text", HTTPResponse.Status(code: code), [.contentLength: "4"]))
        try await withStubs(stubs) { client async throws in
            let response = try await client.execute(HTTPDNSClient.Request(method: method, url: first))
            #expect(response.status.code == code && response.headerFields[.contentLength] == "4")
            #expect(try await response.body.collect(upTo: .kibibytes(1)) == [])
        }
    }

    @Test("A redirect hook and an interceptor are called without a client")
    func hooksAlone() async throws {
        let sameHost = Around { request, context, next in
            var request = request
            if !context.isCrossOrigin { request.headerFields[.authorization] = "Bearer x" }
            return try await next(request, context)
        }
        for (url, isSent) in [(second, true), ("https://two.test/", false)] {
            let context = HTTPDNSClient.InterceptionContext(requestURL: url, initialURL: first, hop: 1)
            let request = HTTPDNSClient.Request(url: url)
            let response = try await sameHost.intercept(request, context: context) { request, context in
                let status: HTTPResponse.Status = request.headerFields.contains(.authorization) ? .ok : .unauthorized
                #expect(context.hop == 1)
                return HTTPDNSClient.Response(head: HTTPResponse(status: status), body: .bytes([]))
            }
            #expect((response.status == .ok) == isSent)
        }
        let redirect = HTTPDNSClient.RedirectPolicy.Redirect(
            request: HTTPDNSClient.Request(url: first),
            response: HTTPResponse(status: .found),
            next: HTTPDNSClient.Request(url: second)
        )
        #expect(redirect.number == 1 && redirect.next.url == second && !redirect.changesOrigin)
    }
}

extension HTTPDNSStubs {
    /// Forgets the history between two runs.
    fileprivate func forgetRequestsOfTest() { layer.forgetRequests() }
}
