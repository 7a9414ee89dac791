// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Testing

@testable import HTTPDNS

struct OpenHopTests {
    private final class Body: AsyncSequence, AsyncIteratorProtocol, Sendable {
        func next() async throws -> [UInt8]? { nil }
        func makeAsyncIterator() -> Body { self }
    }

    /// An interceptor may return its own response while a hop that it began goes on. The log lives as long as the response.
    @Test("An open hop keeps its request no longer than its call")
    func request() {
        weak var kept: Body?
        let start = MonotonicTime(nanoseconds: 0)
        func log() -> (CallLog, wasKept: Bool) {
            let body = Body()
            kept = body
            let request = HTTPDNSClient.Request(method: .post, url: "https://one.test/", body: .stream(body))
            var log = CallLog(1, request, at: start, making: [], bodyLimit: 0)
            _ = log.note(.hopBegan(0, request), at: start)
            _ = log.note(.ended(.whole(decoded: nil)), at: start)
            return (log, kept != nil)
        }
        let (log, wasKept) = log()
        withExtendedLifetime(log) { #expect(wasKept && kept == nil) }
    }
}
