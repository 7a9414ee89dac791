// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

@testable import HTTPDNSTesting

struct CancellationTests {
    private let notices = Journal<Int>()

    private func watched(_ answer: HTTPDNSStubs.Answer) -> HTTPDNSStubs.Answer {
        answer.onCancel { [notices] in notices.write(1) }
    }

    @Test("A caller that is canceled while it waits is reported once")
    func waiting() async throws {
        let clock = HTTPDNSManualClock()
        try await withAnswer(watched(.text("x").delayed(by: .seconds(60)).timed(by: clock))) { client in
            let call = Task { try await client.get("https://shop.test/") }
            await clock.sleepers(atLeast: 1)
            #expect(notices.all.isEmpty)
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
            #expect(notices.all.count == 1)
        }
        #expect(notices.all.count == 1)
    }

    /// The closure does not react to the cancellation, and answers after it.
    @Test("An answer after the cancellation is dropped, and the notice came before it")
    func late() async throws {
        let (hasBegun, isReported, mayAnswer) = (Gate(), Gate(), Gate())
        let answer = HTTPDNSStubs.Answer.custom { _ in
            hasBegun.open()
            await mayAnswer.passage()
            return HTTPDNSClient.Response(head: HTTPResponse(status: .ok), body: .bytes([1]))
        }
        .onCancel { [notices] in
            notices.write(1)
            isReported.open()
        }
        try await withAnswer(answer) { client in
            let call = Task { try await client.get("https://shop.test/") }
            await hasBegun.passage()
            call.cancel()
            await isReported.passage()
            mayAnswer.open()
            await #expect(throws: CancellationError.self) { try await call.value }
            #expect(notices.all.count == 1)
        }
    }

    @Test("A caller that is canceled within the body is reported once")
    func inBody() async throws {
        let clock = HTTPDNSManualClock()
        try await withAnswer(watched(.text("hello").bandwidth(.init(bytesPerSecond: 1)).timed(by: clock))) { client in
            let call = Task { try await client.get("https://shop.test/").wholeText() }
            for _ in 1...2 {
                await clock.sleepers(atLeast: 1)
                clock.advance(by: .seconds(1))
            }
            await clock.sleepers(atLeast: 1)
            #expect(notices.all.isEmpty)
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
            #expect(notices.all.count == 1)
        }
    }

    @Test("A body that is dropped before its end is reported once, unread or half read", arguments: [0, 1])
    func dropped(chunks: Int) async throws {
        try await withAnswer(watched(.stream { Chunks([[1], [2]]) })) { client in
            do {
                let response = try await client.get("https://shop.test/")
                if chunks > 0 {
                    var iterator = response.body.makeAsyncIterator()
                    #expect(try await iterator.next() == [1] && notices.all.isEmpty)
                }
                #expect(response.status == .ok)
            }
            #expect(notices.all.count == 1)
        }
    }

    @Test("A body that is read after its response was released is not reported")
    func readLater() async throws {
        try await withAnswer(watched(.stream { Chunks([[1], [2]]) })) { client in
            var chunks = try await client.get("https://shop.test/").body.makeAsyncIterator()
            #expect(try await chunks.next() == [1] && notices.all.isEmpty)
            #expect(try await chunks.next() == [2])
            #expect(try await chunks.next() == nil)
        }
        #expect(notices.all.isEmpty)
    }

    @Test("The time limit of a call is reported once")
    func limit() async throws {
        try await withAnswer(watched(.text("x").delayed(by: .seconds(3600)))) { client in
            // On a busy machine a short time may be over before the answer begins: then the same with a longer one.
            for limit in [Duration.milliseconds(100), .seconds(2), .seconds(40)] where notices.all.isEmpty {
                let error = try await #require(throws: HTTPDNSClientError.self) {
                    try await client.get("https://shop.test/") { $0.timeouts.total = limit }
                }
                #expect(error.code == .timedOut)
            }
            #expect(notices.all.count == 1)
        }
    }

    static let complete: [HTTPDNSStubs.Answer] = [
        .text("x"), .text(""), .status(.noContent), .stream { Chunks([[1], [2]]) },
        .error(HTTPDNSClientError(code: .connectFailed, phase: .connect, message: "planned")),
        .stream { Chunks([[1]], endingWith: Planned()) },
    ]

    @Test("An answer that is complete or fails is not reported", arguments: complete.indices)
    func notReported(index: Int) async throws {
        try await withAnswer(watched(Self.complete[index])) { client in
            let call = Task {
                do {
                    try await client.get("https://shop.test/").wholeText()
                } catch is HTTPDNSClientError {}
            }
            try await call.value
            call.cancel()
        }
        #expect(notices.all.isEmpty)
    }
}
