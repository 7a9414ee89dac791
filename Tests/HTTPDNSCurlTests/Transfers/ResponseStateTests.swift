// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import HTTPTypes
import Testing

@testable import HTTPDNSCurl

struct ResponseStateTests {
    private let head = TransferHead(
        head: ResponseHead(HTTPResponse(status: .accepted)),
        version: .http11,
        endpoint: HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 1), port: 80),
        reusedConnection: false,
        timings: HTTPDNSTransfer.Timings()
    )
    private let summary = TransferSummary(bodyBytes: 3, wireBytes: 3, timings: HTTPDNSTransfer.Timings())
    private let failure = TransferFailure(code: .connectionLost, phase: .body, message: "gone")

    /// Runs `events` with a state in which a caller waits for the head; gives the status of the head that it got.
    private func waitForHead(_ events: (inout ResponseState) -> [ResponseState.Action]) async throws -> Int {
        try await withUnsafeThrowingContinuation { (continuation: ResponseState.HeadContinuation) in
            var state = ResponseState()
            state.awaitHead(continuation).run()
            for action in events(&state) { action.run() }
        }.head.statusCode
    }

    @Test("A whole response in one turn resumes the caller once and keeps its body")
    func wholeAnswer() async throws {
        nonisolated(unsafe) var kept = ResponseState()
        let status = try await waitForHead { state in
            let action = state.receive(head: head, chunks: [[7, 8], [9]], end: .success(summary))
            kept = state
            return [action]
        }
        #expect(status == 202)
        #expect(kept.bufferedBytes == 3)
        #expect(chunk(&kept) == [7, 8])
        #expect(chunk(&kept) == [9])
        #expect(chunk(&kept) == nil)
    }

    @Test("A head that arrives before its caller waits is kept, with its body and its end")
    func earlyHead() async throws {
        for end in [Result<TransferSummary, any Error>.success(summary), .failure(failure)] {
            var state = ResponseState()
            #expect({ if case .none = state.receive(head: head, chunks: [[7]], end: end) { true } else { false } }())
            let received = try await withUnsafeThrowingContinuation { continuation in
                state.awaitHead(continuation).run()
            }
            #expect(received === head)
            #expect(chunk(&state) == [7])
        }
    }

    @Test("A failure before the head reaches a caller that waits later")
    func earlyFailure() async {
        var state = ResponseState()
        #expect({ if case .none = state.receive(head: nil, end: .failure(failure)) { true } else { false } }())
        await #expect(throws: failure) {
            _ = try await withUnsafeThrowingContinuation { (continuation: ResponseState.HeadContinuation) in
                state.awaitHead(continuation).run()
            }
        }
    }

    @Test("A failure before the head reaches the waiting caller, and is final")
    func failureBeforeHead() async {
        await #expect(throws: failure) {
            try await waitForHead { state in
                [
                    state.receive(head: nil, chunks: [], end: .failure(failure)),
                    state.receive(head: head, chunks: [], end: .success(summary)),
                ]
            }
        }
    }

    @Test("Bytes that arrived before a failure are delivered before the failure")
    func failureAfterBytes() async throws {
        nonisolated(unsafe) var kept = ResponseState()
        _ = try await waitForHead { state in
            let action = state.receive(head: head, chunks: [[7]], end: .failure(failure))
            kept = state
            return [action]
        }
        #expect(chunk(&kept) == [7])
        #expect(throws: failure) {
            guard case .now(let result, _) = kept.take(below: 10) else { return }
            _ = try result.get()
        }
    }

    @Test("A waiting reader gets the chunk itself, and only one reader is resumed")
    func waitingReader() async throws {
        nonisolated(unsafe) var state = ResponseState()
        let chunk = try await withUnsafeThrowingContinuation { (continuation: ResponseState.ChunkContinuation) in
            state.awaitChunk(continuation).run()
            state.receive(head: nil, chunks: [[1], [2]], end: nil).run()
        }
        #expect(chunk == [1])
        #expect(state.bufferedBytes == 1)
    }

    @Test("Reading pauses at the window and goes on once half of it is taken")
    func backPressure() {
        var state = ResponseState()
        for _ in 0..<4 { _ = state.receive(head: nil, chunks: [Array(repeating: 0, count: 25)], end: nil) }
        #expect(!{ state.pauseReading(ifOver: 101, pending: 0) }())
        #expect({ state.pauseReading(ifOver: 100, pending: 0) }())
        var resumes: [Bool] = []
        for _ in 0..<4 {
            if case .now(_, let resumesReading) = state.take(below: 100) { resumes.append(resumesReading) }
        }
        #expect(resumes == [false, true, false, false])
    }

    @Test("The body can be claimed once")
    func singlePass() {
        var state = ResponseState()
        #expect({ state.claimIterator() }())
        #expect(!{ state.claimIterator() }())
    }

    @Test(
        "A complete body is taken whole by its first reader, up to the limit",
        arguments: [(3, [7, 8, 9] as [UInt8]?), (2, nil)]
    )
    func whole(limit: Int, expected: [UInt8]?) {
        var state = ResponseState()
        _ = state.receive(head: nil, chunks: [[7, 8, 9]], end: .success(summary))
        #expect({ state.takeWhole(upTo: limit)?.bytes }() == expected)
        #expect({ state.claimIterator() }() == (expected == nil))
        #expect({ state.takeWhole(upTo: limit)?.bytes }() == nil)
    }

    @Test("A body in several chunks, unfinished or failed, is read chunk by chunk")
    func notWhole() {
        var (several, running, failed) = (ResponseState(), ResponseState(), ResponseState())
        _ = several.receive(head: nil, chunks: [[1], [2]], end: .success(summary))
        _ = running.receive(head: nil, chunks: [[1]], end: nil)
        _ = failed.receive(head: nil, chunks: [[1]], end: .failure(failure))
        for state in [several, running, failed] {
            var state = state
            #expect({ state.takeWhole(upTo: 10)?.bytes }() == nil)
            #expect({ state.claimIterator() }())
        }
    }

    @Test("A caller is resumed where it waits")
    func place() async throws {
        for place in [ResumptionTarget.anyThread, .ofItsOwn] {
            var places: [ResumptionTarget] = []
            _ = try await withUnsafeThrowingContinuation { (continuation: ResponseState.HeadContinuation) in
                var state = ResponseState()
                state.awaitHead(continuation, at: place).run()
                let action = state.receive(head: head, end: nil)
                places.append(action.place)
                action.run()
            }
            #expect(places == [place])
        }
        #expect(ResumptionTarget.current(nil) == .anyThread)
        #expect(await onMainActor() == .ofItsOwn)
    }

    @MainActor
    private func onMainActor() -> ResumptionTarget { ResumptionTarget.current(#isolation) }

    @Test("Abandoning asks for cancellation only while something is in flight")
    func abandon() {
        var state = ResponseState()
        #expect({ state.abandon() }())
        _ = state.receive(head: nil, chunks: [], end: .success(summary))
        #expect(!{ state.abandon() }())
    }

    private func chunk(_ state: inout ResponseState) -> [UInt8]? {
        guard case .now(.success(let chunk), _) = state.take(below: 10) else { return nil }
        return chunk
    }
}
