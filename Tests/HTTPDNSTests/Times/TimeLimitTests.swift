// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import ServerRig
import Testing

@testable import HTTPDNS

/// The two limits of a call: until the response head, and for the whole.
// `make test` runs it alone: beside all other suites a call may wait longer for a thread than these limits are.
@Suite(
    "Time limits of calls",
    .enabled("needs its process for itself: HTTPDNS_TEST_ALONE=1") { ServerRig.hasProcessForItself }
)
struct TimeLimitTests {
    private static let head = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhel"

    /// Makes a call with a limit for the whole, and none for the head.
    private func get(_ client: HTTPDNSClient, _ limit: Duration?) async throws -> String {
        let response = try await client.get("http://one.test/") {
            $0.timeouts.total = limit
            $0.timeouts.responseHead = nil
        }
        return String(decoding: try await response.body.collect(upTo: .kibibytes(1)), as: UTF8.self)
    }

    @Test("By default the head has 60 s, and the whole has no limit")
    func defaults() {
        let timeouts = HTTPDNSClient.Timeouts()
        #expect(timeouts.responseHead == .seconds(60) && timeouts.total == nil)
    }

    @Test("The head's limit ends a call without a head, and no body that comes after a head")
    func head() async throws {
        let (rest, late) = (Gate(), Gate())
        let server = try RawServer { number in
            number == 0
                ? [.readHead, .sendText(Self.head), .wait(rest), .sendText("lo you"), .hang]
                : [.readHead, .wait(late), .sendText(Self.head)]
        }
        let client = try await mappedClient(server.port) { $0.timeouts.responseHead = .seconds(2) }
        let body = try await client.get("http://one.test/").body
        let start = ContinuousClock.now
        let error = await clientError { try await client.get("http://one.test/") }
        let elapsed = ContinuousClock.now - start
        #expect(error?.code == .timedOut && error?.phase == .firstByte && error?.isCallDeadline == true)
        #expect(error?.limit == .seconds(2) && error?.message.contains("response head") == true)
        #expect(error?.hint?.contains("timeouts.responseHead") == true)
        #expect(elapsed >= .seconds(2) && elapsed < .seconds(10), "\(elapsed)")
        // By now the first call is older than the limit.
        rest.open()
        #expect(String(decoding: try await body.collect(upTo: .kibibytes(1)), as: UTF8.self) == "hello you")
        late.open()
        try await client.shutdown()
    }

    @Test("A call's total time covers its body, and the limit of the head holds beside it")
    func own() async throws {
        let late = Gate()
        let server = try RawServer { number in
            number == 0
                ? [.readHead, .sendText(Self.head), .hang] : [.readHead, .wait(late), .sendText(Self.head + "lo you")]
        }
        let client = try await mappedClient(server.port) { $0.timeouts.responseHead = .milliseconds(500) }
        let start = ContinuousClock.now
        let error = await clientError { try await get(client, .seconds(2)) }
        let elapsed = ContinuousClock.now - start
        #expect(error?.code == .timedOut && error?.phase == .body && error?.limit == .seconds(2))
        #expect(elapsed >= .seconds(2) && elapsed < .seconds(10), "\(elapsed)")
        let early = await clientError { try await client.get("http://one.test/") { $0.timeouts.total = .seconds(30) } }
        #expect(early?.phase == .firstByte && early?.limit == .milliseconds(500))
        // Each is past the head's limit before there is a head.
        for limit in [Duration?.none, .seconds(30)] {
            let call = Task { try await get(client, limit) }
            try await SystemTimeSource().sleep(until: SystemTimeSource().now() + .milliseconds(800))
            late.open()
            #expect(try await call.value == "hello you")
        }
        try await client.shutdown()
    }

    @Test("The time for the head starts again after the body of a request")
    func upload() async throws {
        let server = try RawServer(
            .readHead,
            .read(6),
            .respond(status: "303 X", fields: "Location: /b\r\n"),
            .readHead,
            .sendText(Self.head + "lo you")
        )
        let client = try await mappedClient(server.port) { $0.timeouts.responseHead = .seconds(2) }
        let (chunks, writer) = AsyncThrowingStream.makeStream(of: [UInt8].self)
        let body = HTTPDNSClient.Request.Body.stream(length: 6, chunks)
        let call = Task {
            try await client.execute(HTTPDNSClient.Request(method: .post, url: "http://one.test/", body: body)).status
        }
        writer.yield(Array("123".utf8))
        // Longer than the head may take.
        try await SystemTimeSource().sleep(until: SystemTimeSource().now() + .milliseconds(2_500))
        writer.yield(Array("456".utf8))
        writer.finish()
        #expect(try await call.value == .ok)
        try await client.shutdown()
    }

    enum Place: CaseIterable, Sendable { case application, network, headers, redirect }

    @Test("The time of a call covers the code of interceptors and hooks", arguments: Place.allCases)
    func codeOfOthers(place: Place) async throws {
        let server = try RawServer(.serve(status: "302 X", fields: "Location: /b\r\n"))
        // Far longer than the ceiling below.
        @Sendable func dawdle() async throws { try await Task.sleep(for: .seconds(60)) }
        let client = try await mappedClient(server.port) { configuration in
            let slow = Around.before { _ in try await dawdle() }
            switch place {
            case .application: configuration.applicationInterceptors = [slow]
            case .network: configuration.networkInterceptors = [slow]
            case .headers:
                configuration.computedHeaders = { _ in
                    try await dawdle()
                    return [:]
                }
            case .redirect:
                configuration.redirectHook = { _ in
                    try await dawdle()
                    return .follow
                }
            }
        }
        let start = ContinuousClock.now
        let error = await clientError { try await client.get("http://one.test/") { $0.timeouts.total = .seconds(3) } }
        let elapsed = ContinuousClock.now - start
        #expect(error?.code == .timedOut && error?.phase == .interceptor && error?.isCallDeadline == true)
        #expect(error?.limit == .seconds(3) && error?.requestMayHaveBeenSent == (place == .redirect))
        #expect(elapsed >= .seconds(3) && elapsed < .seconds(20), "\(elapsed)")
        try await client.shutdown()
    }
}
