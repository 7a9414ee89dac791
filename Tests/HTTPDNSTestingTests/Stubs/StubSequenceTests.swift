// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

@testable import HTTPDNSTesting

struct StubSequenceTests {
    private let url = "https://api.shop.test/v1/items"

    private func statuses(_ client: HTTPDNSClient, _ count: Int) async throws -> [Int] {
        var codes: [Int] = []
        for _ in 0..<count { codes.append(try await client.get(url).status.code) }
        return codes
    }

    @Test("Answers are used in their order, and the last one without a number persists")
    func order() async throws {
        let stubs = HTTPDNSStubs()
        stubs.on(.get, url).respond(.status(.serviceUnavailable), times: 2).then(.status(.accepted)).then(.status(.ok))
        try await withStubs(stubs) { client async throws in
            #expect(try await statuses(client, 6) == [503, 503, 202, 200, 200, 200])
        }
    }

    @Test("A stub whose answers are used up leaves requests to older stubs")
    func ends() async throws {
        let stubs = HTTPDNSStubs()
        stubs.on(.get, url, named: "old").respond(.status(.notFound), times: 1)
        stubs.on(.get, url, named: "new").respond(.status(.ok), times: 2)
        try await withStubs(stubs) { client async throws in
            #expect(try await statuses(client, 3) == [200, 200, 404])
            let error = await clientError { try await client.get(url) }
            #expect(error?.message.contains("new (its answers were used up by 2 requests)") == true, "\(error as Any)")
            #expect(error?.message.contains("old (its answers were used up by 1 requests)") == true)
        }
    }

    @Test("Skipped requests go to older stubs, at the start and between two answers")
    func skip() async throws {
        let stubs = HTTPDNSStubs()
        stubs.on(.get, url).respond(.status(.notFound))
        let stub = stubs.on(.get, url).skip(2).respond(.status(.ok), times: 1).skip(1).then(.status(.accepted))
        try await withStubs(stubs) { client async throws in
            #expect(try await statuses(client, 6) == [404, 404, 200, 404, 202, 202])
            #expect(stub.uses == 3)
        }
    }

    @Test("The client's retries pass a sequence of 503, 503 and 200")
    func retries() async throws {
        let stubs = HTTPDNSStubs()
        stubs.on(.get, url).respond(.status(.serviceUnavailable), times: 2).then(.status(.ok), times: 1)
        try await withStubs(stubs) {
            $0.retries = .standard
            $0.retries.delay = .zero
        } _: { client async throws in
            #expect(try await client.get(url).status == .ok)
            #expect(stubs.requests.count == 3 && stubs.requests.map(\.hop) == [0, 1, 2])
            try stubs.verify()
        }
    }

    @Test("A request that no stub answers is not retried")
    func unmatchedIsFinal() async throws {
        let stubs = HTTPDNSStubs()
        try await withStubs(stubs) {
            $0.retries = .standard
            $0.retries.delay = .zero
        } _: { client async throws in
            let error = await clientError { try await client.get(url) }
            #expect(error?.code == .unmatchedRequest && error?.retries == 0 && error?.requestMayHaveBeenSent == false)
            #expect(stubs.requests.count == 1)
        }
    }

    @Test("Concurrent requests use each answer as often as it says")
    func concurrent() async throws {
        let stubs = HTTPDNSStubs()
        stubs.on(.get, url).respond(.status(.ok), times: 150).then(.status(.accepted), times: 50)
        try await withStubs(stubs) { client async throws in
            let counts = try await withThrowingTaskGroup(of: Int.self) { [url] tasks in
                for _ in 0..<200 { tasks.addTask { try await client.get(url).status.code } }
                return try await tasks.reduce(into: [:]) { $0[$1, default: 0] += 1 }
            }
            #expect(counts == [200: 150, 202: 50])
            try stubs.verify()
            #expect(await clientError { try await client.get(url) }?.code == .unmatchedRequest)
        }
    }

    @Test("Verification names unused stubs, unused later answers, and missing uses")
    func verification() async throws {
        let stubs = HTTPDNSStubs()
        stubs.on(.get, url).respond(.status(.ok))
        stubs.on(.post, path: "/v1/charge").respond(.status(.serviceUnavailable)).then(.status(.created))
        stubs.on(.put, path: "/v1/cart", named: "cart").respond(.status(.ok), times: 3)
        try await withStubs(stubs) { client async throws in
            _ = try await client.post("https://api.shop.test/v1/charge", body: .none)
            _ = try await client.put("https://api.shop.test/v1/cart", body: .none)
            let expected = [
                "GET \(url) (answer 1, 200, used 0 of 1 times)", "POST /v1/charge (answer 2, 201, used 0 of 1 times)",
                "cart (answer 1, 200, used 1 of 3 times)",
            ]
            #expect(stubs.pending.map(\.description) == expected)
            let error = #expect(throws: HTTPDNSStubs.VerificationError.self) { try stubs.verify() }
            #expect(
                error?.description == "stubs were not used as expected: " + expected.joined(separator: ", ")
            )
            _ = try await client.get(url)
            _ = try await client.post("https://api.shop.test/v1/charge", body: .none)
            for _ in 0..<2 { _ = try await client.put("https://api.shop.test/v1/cart", body: .none) }
            try stubs.verify()
            #expect(stubs.pending.isEmpty)
        }
    }

    @Test("Verification names requests whose errors the tested code has caught")
    func caughtError() async throws {
        let stubs = HTTPDNSStubs()
        try await withStubs(stubs) { client async throws in
            _ = try? await client.get("https://api.shop.test/lost?token=secret")
            let error = #expect(throws: HTTPDNSStubs.VerificationError.self) { try stubs.verify() }
            #expect(error?.description == "no stub answered: GET https://api.shop.test/lost?token=...")
        }
    }

    @Test("The history keeps at most 64 MiB of bodies, those of the last requests")
    func historyBytes() {
        let layer = StubLayer()
        let body = [UInt8](repeating: 1, count: 4 << 20)
        for number in 0..<40 {
            layer.note(
                HTTPDNSStubs.ReceivedRequest(
                    method: .post,
                    url: "https://shop.test/\(number)",
                    headerFields: [:],
                    body: body,
                    isBodyTruncated: false,
                    hop: 0,
                    stub: nil,
                    outcome: .failed,
                    urlForErrors: ""
                )
            )
            let kept = layer.requests
            #expect(kept.count * body.count <= StubLayer.bodyLimit && kept.last?.url.hasSuffix("/\(number)") == true)
        }
        #expect(layer.requests.count >= 14)
    }

    @Test("The history has method, URL, fields, body, hop and stub of each request")
    func history() async throws {
        let stubs = HTTPDNSStubs(bodyLimit: .bytes(4))
        let stub = stubs.on(.post, path: "/v1/charge", named: "charge").respond(.status(.created))
        try await withStubs(stubs) {
            $0.headers.fields[.userAgent] = "shop/1"
        } _: { client async throws in
            _ = try await client.post("https://user:word@api.shop.test/v1/charge?a=1", body: .json([12]))
            _ = try await client.post("https://api.shop.test/v1/charge", body: .text("12345"))
            let requests = stubs.requests
            #expect(requests.map(\.method) == [.post, .post])
            #expect(requests[0].url == "https://user:word@api.shop.test/v1/charge?a=1")
            #expect(requests[0].headerFields[.contentType] == "application/json")
            #expect(requests[0].headerFields[.userAgent] == "shop/1")
            #expect(requests[0].headerFields[.authorization] == "Basic dXNlcjp3b3Jk")
            #expect(requests.map { String(decoding: $0.body, as: UTF8.self) } == ["[12]", "1234"])
            #expect(requests.map(\.isBodyTruncated) == [false, true])
            #expect(requests.map(\.stub?.description) == ["charge", "charge"] && stub.uses == 2)
            #expect(requests.allSatisfy { $0.outcome == .answered && $0.hop == 0 })
            // No text has a secret.
            #expect("\(requests[0])" == "POST https://...@api.shop.test/v1/charge?a=...: answered by charge")
            #expect(String(reflecting: requests[0]) == "\(requests[0])")
        }
    }

    @Test("A retry cannot send a stream again after a stub has answered")
    func streams() async throws {
        // Nothing but the answer reads the body.
        let stubs = HTTPDNSStubs(bodyLimit: .bytes(0))
        stubs.on(.put, url).respond(.status(.serviceUnavailable), times: 1).then(.status(.ok))
        try await withStubs(stubs) {
            $0.retries = .standard
            $0.retries.delay = .zero
        } _: { client async throws in
            let stream = AsyncStream<[UInt8]> { continuation in
                continuation.yield([1])
                continuation.finish()
            }
            #expect(try await client.put(url, body: .stream(stream)).status == .serviceUnavailable)
            #expect(try await client.put(url, body: .bytes([1])).status == .ok)
        }
    }
}

struct AnswerSequenceTests {
    private func codes(_ sequence: inout AnswerSequence, _ count: Int) -> [String] {
        (0..<count).map { _ in
            switch sequence.next() {
            case .answer(let answer): answer.description
            case .skipped: "skipped"
            case .ended: "ended"
            }
        }
    }

    @Test("An answer without a number is used once when another follows")
    func numbers() {
        var sequence = AnswerSequence()
        #expect(codes(&sequence, 1) == ["ended"])
        sequence.append(.status(.ok), times: nil)
        #expect(codes(&sequence, 3) == ["200", "200", "200"] && sequence.pending.isEmpty)
        sequence.append(.status(.accepted), times: 1)
        #expect(sequence.pending.map(\.position) == [2])
        #expect(codes(&sequence, 3) == ["202", "ended", "ended"])
        #expect(sequence.uses == 4 && sequence.pending.isEmpty)
    }

    @Test("An answer for no request is passed over, and never pending")
    func none() {
        var sequence = AnswerSequence()
        sequence.append(.status(.ok), times: 0)
        sequence.append(nil, times: 1)
        sequence.append(.status(.accepted), times: nil)
        #expect(sequence.pending.map(\.answer) == ["202"])
        #expect(codes(&sequence, 2) == ["skipped", "202"] && sequence.uses == 1)
    }
}
