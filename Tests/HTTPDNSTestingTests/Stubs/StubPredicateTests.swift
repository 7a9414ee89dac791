// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import Testing

@testable import HTTPDNSTesting

struct StubPredicateTests {
    private typealias Predicate = HTTPDNSClient.RequestPredicate

    /// Whether a stub with a condition answers a request of a client.
    private func answers(_ predicate: HTTPDNSClient.RequestPredicate, _ request: HTTPDNSClient.Request) async throws
        -> Bool
    {
        let stubs = HTTPDNSStubs(unmatched: .custom { _ in .reply("", .notFound) })
        stubs.on(predicate).respond(.reply())
        return try await withStubs(stubs) { client async throws in
            let first = try await client.execute(request).status
            // The condition is evaluated again for each request, and changes nothing.
            #expect(try await client.execute(request).status == first)
            return first == .ok
        }
    }

    @Test("Each method has a condition that no other method fulfills")
    func methods() async throws {
        let methods: [HTTPRequest.Method] = [.get, .head, .post, .put, .patch, .delete]
        for expected in methods {
            let stubs = HTTPDNSStubs(unmatched: .custom { _ in .reply("", .notFound) })
            stubs.on(expected, path: "/a").respond(.reply())
            try await withStubs(stubs) { client async throws in
                for method in methods {
                    let request = HTTPDNSClient.Request(method: method, url: "https://one.test/a")
                    #expect(try await (client.execute(request).status == .ok) == (method == expected))
                }
            }
        }
    }

    @Test(
        "A URL is compared in canonical form, and its query only if the stub has one",
        arguments: [
            ("https://one.test/a", "https://one.test/a", true), ("https://one.test/a", "http://one.test/a", false),
            ("https://one.test/a", "https://two.test/a", false), ("https://one.test/a", "https://one.test/b", false),
            ("https://one.test/a", "https://one.test:8443/a", false),
            ("https://one.test/a", "https://one.test/a/", false),
            ("HTTPS://One.Test.:443/a", "https://one.test/a", true), ("https://one.test", "https://one.test/", true),
            ("https://one.test/a", "https://one.test/a?q=1", true),
            ("https://one.test/a?q=1", "https://one.test/a", false),
            ("https://one.test/a?q=1", "https://one.test/a?q=1", true),
            ("https://one.test/a?q=1", "https://one.test/a?q=2", false),
            ("https://one.test/a?", "https://one.test/a?q=1", false),
            ("https://one.test/a", "https://one.test/a#part", true),
            ("https://bücher.test/", "https://xn--bcher-kva.test/", true),
        ] as [(String, String, Bool)]
    )
    func urls(stub: String, url: String, isMatched: Bool) async throws {
        #expect(try await answers(.url(stub), HTTPDNSClient.Request(url: url)) == isMatched)
    }

    @Test(
        "Scheme, host, path, query and header fields have conditions of their own",
        arguments: [
            (.scheme("https"), true), (.scheme("http"), false), (.host("one.test"), true), (.host("test"), false),
            (.path("/v1/items/7.json"), true), (.path(prefix: "/v1"), true), (.path(suffix: ".json"), true),
            (.path(suffix: ".jso"), false), (.path(glob: "/v1/*/7.json"), true), (.query("a"), true),
            (.query("a", "1"), true), (.query("empty"), true), (.query("empty", ""), true), (.query("b"), false),
            (.header(.accept), true), (.header(.accept, "text/html"), true), (.header(.accept, "text"), false),
            (.header(.cookie), false), (.header(.contentType, "application/json"), true),
        ] as [(HTTPDNSClient.RequestPredicate, Bool)]
    )
    func parts(predicate: HTTPDNSClient.RequestPredicate, isMatched: Bool) async throws {
        let request = HTTPDNSClient.Request(
            method: .post,
            url: "https://one.test/v1/items/7.json?z=2&a=1&empty#.png",
            headerFields: [.accept: "text/html"],
            body: try .json(["n": 1])
        )
        #expect(try await answers(predicate, request) == isMatched, "\(predicate)")
    }

    @Test("A regular expression is for the whole path, with and without regard for case")
    func regex() async throws {
        let request = HTTPDNSClient.Request(url: "https://one.test/v1/Items/42?x=items")
        #expect(try await answers(.path(regex: "/v1/Items/[0-9]+"), request))
        #expect(try await !answers(.path(regex: "/v1/items/[0-9]+"), request))
        #expect(try await answers(.path(regex: "(?i)/v1/items/[0-9]+"), request))
    }

    @Test(
        "Bodies are compared as bytes, as JSON and as forms, in memory and as a stream",
        arguments: [
            (.body(Array("a=1&b=2".utf8)), "a=1&b=2", true), (.body(Array("a=1".utf8)), "a=1&b=2", false),
            (.body(json: #"{"b": [1, 2], "a": null}"#), #"{"a":null,"b":[1,2]}"#, true),
            (.body(json: #"{"b": [2, 1], "a": null}"#), #"{"a":null,"b":[1,2]}"#, false),
            (.json(["amount": 100]), #"{ "amount" : 100 }"#, true), (.json(["amount": 100]), "amount=100", false),
            (.body(form: ["a": "1", "b": "x y"]), "b=x+y&a=1", true), (.body(form: ["a": "1"]), "a=1&a=1", false),
            (.body(form: ["a": "1", "a": "2"]), "a=2&a=1", true), (.body(form: ["a": "1"]), #"{"a":1}"#, false),
        ] as [(HTTPDNSClient.RequestPredicate, String, Bool)]
    )
    func bodies(predicate: HTTPDNSClient.RequestPredicate, text: String, isMatched: Bool) async throws {
        let bytes = Array(text.utf8)
        let memory = HTTPDNSClient.Request(method: .post, url: "https://one.test/", body: .bytes(bytes))
        #expect(try await answers(predicate, memory) == isMatched, "\(predicate)")

        let chunks = AsyncStream<[UInt8]> { continuation in
            for byte in bytes { continuation.yield([byte]) }
            continuation.finish()
        }
        let stubs = HTTPDNSStubs(unmatched: .custom { _ in .reply("", .notFound) })
        // Both read the same body.
        stubs.on(predicate && predicate).respond(.reply())
        stubs.on(.body(Array("other".utf8))).respond(.reply("other"))
        try await withStubs(stubs) { client async throws in
            let response = try await client.post("https://one.test/", body: .stream(chunks))
            #expect(response.status == (isMatched ? .ok : .notFound))
            #expect(stubs.requests.map(\.body) == [bytes])
        }
    }

    @Test("Conditions are combined by and, or and not, also across bodies and heads")
    func combined() async throws {
        let request = HTTPDNSClient.Request(method: .post, url: "https://one.test/a", body: .text("x"))
        let (yes, no) = (Predicate.path("/a") && .body(Array("x".utf8)), Predicate.body(Array("y".utf8)))
        let table: [(Predicate, Bool)] = [
            (yes && yes, true), (yes && no, false), (no && yes, false), (no && no, false), (yes || no, true),
            (no || yes, true), (no || no, false), (!no, true), (!yes, false), (!(yes && no), true),
            (!(yes || no), false),
        ]
        for (predicate, isMatched) in table {
            #expect(try await answers(predicate, request) == isMatched, "\(predicate)")
        }
    }
}
