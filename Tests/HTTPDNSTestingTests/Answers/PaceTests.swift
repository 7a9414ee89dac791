// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

@testable import HTTPDNSTesting

struct PaceTests {
    /// An answer of some bytes, and the exact times at which its head and its end arrive.
    struct Case: Sendable, CustomTestStringConvertible {
        var bytes: Int
        var head = Duration.zero
        var end: Duration
        /// The number of parts of the body.
        var parts: ClosedRange<Int>
        var pace: @Sendable (HTTPDNSStubs.Answer) -> HTTPDNSStubs.Answer
        var testDescription: String { "\(bytes) bytes, head after \(head), end after \(end)" }
    }

    static let cases = [
        Case(bytes: 100, end: .zero, parts: 1...1) { $0.delayed(by: .zero).lasting(.zero) },
        Case(bytes: 100, head: .seconds(1), end: .seconds(1), parts: 1...1) { $0.delayed(by: .seconds(1)) },
        Case(bytes: 100, head: .seconds(3), end: .seconds(3), parts: 1...1) {
            $0.delayed(by: .seconds(1)).delayed(by: .seconds(2)).delayed(by: .seconds(-5))
        },
        // Less than a byte for each part of 250 ms.
        Case(bytes: 15, end: .milliseconds(5750), parts: 15...15) { $0.lasting(.milliseconds(5750)) },
        Case(bytes: 1024, head: .seconds(1), end: .seconds(6), parts: 20...20) {
            $0.delayed(by: .seconds(1)).lasting(.seconds(5))
        },
        Case(bytes: 600_000, end: .zero, parts: 1...1) { $0.lasting(.zero) },
        Case(bytes: 10, end: .milliseconds(100), parts: 1...1) { $0.lasting(.milliseconds(100)) },
        Case(bytes: 0, end: .seconds(2), parts: 0...0) { $0.lasting(.seconds(2)) },
        Case(bytes: 70_000, end: .seconds(10), parts: 40...40) { $0.bandwidth(.gprs) },
        Case(bytes: 16_000, end: .seconds(1), parts: 4...4) { $0.bandwidth(.edge) },
        Case(bytes: 200_000, end: .milliseconds(500), parts: 2...2) { $0.bandwidth(.umts) },
        Case(bytes: 900_000, end: .seconds(1), parts: 4...4) { $0.bandwidth(.hspa) },
        Case(bytes: 3_000_000, head: .seconds(2), end: .seconds(4), parts: 8...8) {
            $0.bandwidth(.wifi).delayed(by: .seconds(2))
        },
        Case(bytes: 3, end: .seconds(3), parts: 3...3) { $0.bandwidth(.init(bytesPerSecond: 0)) },
    ]

    @Test("Head and body arrive at exact times, and no byte is lost", arguments: cases)
    func times(_ example: Case) async throws {
        let clock = JumpingClock()
        let bytes = (0..<example.bytes).map { UInt8(truncatingIfNeeded: $0) }
        try await withAnswer(example.pace(.bytes(bytes)).timed(on: clock)) { client in
            let response = try await client.get("https://shop.test/")
            #expect(clock.elapsed == example.head)
            #expect(response.headerFields[.contentLength] == "\(example.bytes)")
            #expect(response.body.declaredLength == Int64(example.bytes))
            var (received, parts) = ([UInt8](), 0)
            for try await part in response.body {
                received += part
                parts += 1
                // At any time the body has arrived as far as the time has passed, but for one part.
                let share = (clock.elapsed - example.head) / (example.end - example.head)
                if example.end > example.head {
                    #expect(abs(share - Double(received.count) / Double(example.bytes)) < 0.1)
                }
            }
            #expect(received == bytes && example.parts.contains(parts), "\(parts) parts")
            let deviation = abs((clock.elapsed - example.end) / .milliseconds(1))
            #expect(deviation < 0.001)
        }
    }

    @Test("A rate holds for a body of unknown length, whatever its chunks are")
    func unknownLength() async throws {
        let clock = JumpingClock()
        let chunks = [[UInt8](repeating: 1, count: 7001), [], [2], [UInt8](repeating: 3, count: 6998)]
        let answer = HTTPDNSStubs.Answer.stream { Chunks(chunks) }.bandwidth(.gprs).timed(on: clock)
        try await withAnswer(answer) { client in
            let body = try await client.get("https://shop.test/").body
            #expect(body.declaredLength == nil)
            #expect(try await body.collect(upTo: .mebibytes(1)) == chunks.flatMap(\.self))
            #expect(clock.elapsed == .seconds(2))
        }
    }

    @Test("The end of a body of unknown length waits for its duration")
    func unknownDuration() async throws {
        let clock = JumpingClock()
        let answer = HTTPDNSStubs.Answer.stream { Chunks([[1], [2]]) }.lasting(.seconds(5)).timed(on: clock)
        try await withAnswer(answer) { client in
            var chunks = try await client.get("https://shop.test/").body.makeAsyncIterator()
            #expect(try await [chunks.next(), chunks.next()] == [[1], [2]] && clock.elapsed == .zero)
            #expect(try await chunks.next() == nil && clock.elapsed == .seconds(5))
        }
    }

    /// The schedule of very long and very short durations must not overflow, nor take long to compute.
    @Test("A schedule ends exactly, for all lengths and durations")
    func schedules() {
        for length in [1, 2, 3, 999, 1_000_000_007, Int64.max / 2] {
            for duration in [Duration.nanoseconds(1), .milliseconds(249), .seconds(86_400), .seconds(Int64.max / 4)] {
                var schedule = PaceSchedule(lasting: duration, length: length)
                var (arrived, last) = (Int64(0), Duration.zero)
                for _ in 0..<1000 where arrived < length {
                    let part = schedule.next(available: length > 1 << 40 ? Int.max : 1 << 20)
                    #expect(part.count >= 1 && part.time >= last && part.time <= duration)
                    (arrived, last) = (arrived + Int64(part.count), part.time)
                }
                #expect(arrived <= length && schedule.end == duration)
            }
        }
    }

    @Test("A canceled call ends its wait immediately, before and within the body", arguments: [true, false])
    func canceled(isInBody: Bool) async throws {
        let clock = HTTPDNSManualClock()
        let answer = HTTPDNSStubs.Answer.text("hello").lasting(isInBody ? .seconds(3600) : .zero)
            .delayed(by: isInBody ? .zero : .seconds(3600)).timed(by: clock)
        try await withAnswer(answer) { client in
            let call = Task {
                let response = try await client.get("https://shop.test/")
                return try await response.wholeText()
            }
            await clock.sleepers(atLeast: 1)
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
            #expect(clock.sleeperCount == 0)
        }
    }

    /// Real time: the ceiling is far above the limit, and the answer would take an hour.
    @Test("The time limit of a call ends a slow head and a slow body", arguments: [true, false])
    func limited(isInBody: Bool) async throws {
        let slow = HTTPDNSStubs.Answer.text("hello")
        try await withAnswer(isInBody ? slow.lasting(.seconds(3600)) : slow.delayed(by: .seconds(3600))) { client in
            let start = ContinuousClock.now
            let error = try await #require(throws: HTTPDNSClientError.self) {
                try await client.get("https://shop.test/") { $0.timeouts.total = .milliseconds(300) }.wholeText()
            }
            #expect(error.code == .timedOut && error.isCallDeadline)
            let elapsed = ContinuousClock.now - start
            #expect(elapsed >= .milliseconds(290) && elapsed < .seconds(600))
        }
    }

    @Test("The presets have their rates in bytes per second")
    func presets() {
        let rates: [HTTPDNSStubs.Bandwidth] = [.gprs, .edge, .umts, .hspa, .wifi]
        #expect(rates.map(\.bytesPerSecond) == [7000, 16_000, 400_000, 900_000, 1_500_000])
        #expect(HTTPDNSStubs.Bandwidth.kilobitsPerSecond(8).bytesPerSecond == 1000)
        #expect(HTTPDNSStubs.Bandwidth.kilobitsPerSecond(.max).bytesPerSecond == .max)
    }
}
