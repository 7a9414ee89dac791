// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import ServerRig
import Testing

@testable import HTTPDNS

struct RequestPredicateTests {
    private typealias Predicate = HTTPDNSClient.RequestPredicate

    private func stream(_ chunks: [[UInt8]]) -> AsyncStream<[UInt8]> {
        AsyncStream { continuation in
            for chunk in chunks { continuation.yield(chunk) }
            continuation.finish()
        }
    }

    @Test("A stream of which the start was read ends with its iterator")
    func endOfPeekedStream() async throws {
        let hasEnded = Gate()
        func chunks() -> PeekedChunks {
            PeekedChunks(
                AsyncThrowingStream<[UInt8], any Error> { continuation in
                    continuation.onTermination = { _ in hasEnded.open() }
                    for byte in 1...3 { continuation.yield([UInt8(byte)]) }
                }
            )
        }
        var peeked = chunks()
        try await peeked.read(upTo: 2)
        for try await bytes in peeked {
            #expect(bytes == [1, 2])
            break
        }
        await hasEnded.passage()
        #expect(peeked.start == [1, 2] && !peeked.isWhole)
    }

    @Test(
        "A condition compares its part of the request",
        arguments: [
            (.method(.post, .put), true), (.method(.get), false), (.scheme("HTTPS"), true), (.scheme("http"), false),
            (.host("Api.Shop.Test"), true), (.host("*.shop.test"), true), (.host("*.api.shop.test"), false),
            (.host("*.hop.test"), false), (.path("/v1/items/7"), true), (.path("/v1/items/7?q=a"), false),
            (.path(prefix: "/v1/"), true), (.path(suffix: "/7"), true), (.path(glob: "/v?/*/7"), true),
            (.path(glob: "/*/7"), false), (.path(glob: "/**/7"), true), (.query("q"), true), (.query("q", "a b"), true),
            (.query("q", "a"), false), (.query("x"), false), (.header(.accept), true),
            (.header(.accept, "text/html"), true),
            (.header(.accept, contains: "html"), true), (.header(.accept, "html"), false), (.header(.cookie), false),
            (.method(.post) && .host("a.test"), false), (.method(.get) || .path(suffix: "7"), true),
            (!.method(.get), true),
        ] as [(HTTPDNSClient.RequestPredicate, Bool)]
    )
    func parts(predicate: HTTPDNSClient.RequestPredicate, isFulfilled: Bool) async throws {
        var request = HTTPDNSClient.Request(
            method: .post,
            url: "https://api.shop.test:8443/v1/items/7?q=a+b",
            headerFields: [.accept: "text/html"]
        )
        #expect(try await predicate.matches(&request) == isFulfilled, "\(predicate)")
        #expect(try await predicate.matches(&request) == isFulfilled, "a second time: \(predicate)")
        #expect(predicate.headTest(request, ReceivedURL(request.url)) == isFulfilled, "by the head: \(predicate)")
    }

    @Test("A condition on the body decides by the head only where the body does not matter")
    func headAndBody() {
        let request = HTTPDNSClient.Request(url: "https://a.test/")
        let body = Predicate.body([1])
        for (predicate, expected) in [
            (body, nil), (!body, nil), (.method(.post) && body, false), (.method(.get) && body, nil),
            (.method(.get) || body, true), (body || .method(.get), nil), (.custom("closure") { _ in true }, nil),
        ] as [(Predicate, Bool?)] {
            #expect(predicate.headTest(request, ReceivedURL(request.url)) == expected, "\(predicate)")
        }
    }

    @Test("A regular expression matches the whole path, and bad text is refused")
    func regex() async throws {
        var request = HTTPDNSClient.Request(url: "https://a.test/items/42?x=/items/z")
        #expect(try await Predicate.path(regex: "/items/[0-9]+").matches(&request))
        #expect(try await !Predicate.path(regex: "/items/[0-9]").matches(&request))
        #expect(throws: HTTPDNSClientError.self) { try Predicate.path(regex: "(") }
    }

    @Test("JSON is compared as a value, in bytes, a file, and a stream that is sent whole")
    func json() async throws {
        let text = Array(#"{"b":[1,2],"a":9007199254740993}"#.utf8)
        let predicate = Predicate.body(json: #"{ "a": 9007199254740993, "b": [1, 2] }"#)
        let folder = try TemporaryFolder()
        let file = try folder.write(String(decoding: text, as: UTF8.self), to: "body.json")
        let bodies: [HTTPDNSClient.Request.Body] = [
            .bytes(text), .file(file), .stream(stream([Array(text.prefix(3)), Array(text.dropFirst(3))])),
        ]
        for body in bodies {
            var request = HTTPDNSClient.Request(method: .post, url: "https://a.test/", body: body)
            for _ in 0..<3 {
                #expect(try await predicate.matches(&request))
                #expect(try await !Predicate.body(json: #"{"a":9007199254740992,"b":[1,2]}"#).matches(&request))
                #expect(try await !Predicate.body(json: #"{"a":9007199254740993,"b":[2,1]}"#).matches(&request))
            }
            #expect(try await request.body.collect(upTo: .bytes(text.count)) == text)
        }
    }

    @Test("A stream longer than the limit does not match, and arrives whole")
    func longStream() async throws {
        let chunks = (0..<10).map { [UInt8](repeating: $0, count: 10_000) }
        var body = HTTPDNSClient.Request.Body.stream(length: 100_000, stream(chunks))
        #expect(try await body.peek(upTo: .bytes(5)) == [0, 0, 0, 0, 0])
        let rig = try Rig()
        var request = HTTPDNSClient.Request(method: .post, url: "https://one.test/", body: body)
        #expect(try await !Predicate.body { _ in true }.matches(&request))
        #expect(request.body.declaredLength == 100_000 && !request.body.isReplayable)
        _ = try await rig.client.execute(request)
        let sent = try #require(rig.wire.requests.first)
        guard case .stream(100_000, let rest) = sent.body else { throw CancellationError() }
        var bytes: [UInt8] = []
        for try await chunk in rest { bytes += chunk }
        #expect(bytes == chunks.flatMap { $0 })
    }

    @Test("A copy of a stream that was read before fails with a typed error")
    func spentCopy() async throws {
        let original = HTTPDNSClient.Request.Body.stream(stream([[1], [2]]))
        var copy = original
        #expect(try await copy.peek(upTo: .bytes(1)) == [1])
        await #expect(throws: HTTPDNSClientError.self) { try await original.collect(upTo: .bytes(9)) }
        #expect(try await copy.collect(upTo: .bytes(9)) == [1, 2])
        await #expect(throws: HTTPDNSClientError.self) { try await copy.collect(upTo: .bytes(9)) }
    }

    @Test("A form matches in any order, and no value of a header is in a description")
    func form() async throws {
        var request = HTTPDNSClient.Request(method: .post, url: "https://a.test/", body: .form(["a": "1 2", "b": "ü"]))
        #expect(try await Predicate.body(form: ["b": "ü", "a": "1 2"]).matches(&request))
        #expect(try await !Predicate.body(form: ["a": "1 2"]).matches(&request))
        #expect(!Predicate.header(.authorization, "Bearer s3cret").description.contains("s3cret"))
    }
}
