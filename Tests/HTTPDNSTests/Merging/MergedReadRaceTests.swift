// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import ServerRig
import Testing

@testable import HTTPDNS

/// Calls that share a request and leave, end late, or do not read, on a scripted wire.
struct MergedReadRaceTests {
    private static let url = "https://one.test/"
    private static let megabyte = 1 << 20

    private func rig(_ wire: ScriptedWire) throws -> Rig { try Rig(wire: wire) { $0.mergesIdenticalReads = true } }

    /// Waits until no request is shared any more.
    private func awaitEnd(_ rig: Rig) async {
        while rig.client.sharedReads != 0 || rig.client.pipeline.reads.waiting != 0 { await Task.yield() }
    }

    /// Its transfer is in the records of its call alone.
    @Test("A canceled call ends immediately, and another one sends for the rest")
    func canceled() async throws {
        let (gate, second) = (Gate(), Gate())
        let wire = ScriptedWire { request, number in
            if number == 0 { try await SystemTimeSource().sleep(until: SystemTimeSource().now() + .seconds(3600)) }
            second.open()
            await gate.passage()
            return .sized(request)
        }
        let rig = try rig(wire)
        let tasks = try await rig.calls(4, to: Self.url)
        tasks[0].cancel()
        await #expect(throws: CancellationError.self) { try await tasks[0].value }
        await second.passage()
        let waiting = rig.client.pipeline.reads.waiterCount
        #expect(waiting == 2 && rig.client.sharedReads == 1)
        // The last one has the most time left, and sends. One that waits leaves without an effect on the others.
        tasks[1].cancel()
        await #expect(throws: CancellationError.self) { try await tasks[1].value }
        gate.open()
        var merged: [Bool] = []
        for task in tasks[2...3] {
            let response = try await task.value
            #expect(try await response.text() == "hello")
            merged.append(response.exchanges[0].isMerged)
        }
        #expect(merged == [true, false] && wire.requests.count == 2 && rig.client.sharedReads == 0)
    }

    /// Each impatient call alone would end before the response.
    @Test("A patient call sends when the time of an impatient leader has passed")
    func patient() async throws {
        // On a busy machine a short time may be over before the others wait: then the same with a longer one.
        for seconds in [5, 20, 80] where try await isTakenOver(after: .seconds(seconds)) { return }
        Issue.record("the first call was over before the others waited")
    }

    private func isTakenOver(after limit: Duration) async throws -> Bool {
        let (isSent, isOver, gate) = (Gate(), Gate(), Gate())
        let wire = ScriptedWire { request, number in
            guard let deadline = request.limits.deadline else {
                await gate.passage()
                return .sized(request)
            }
            if number == 0 { isSent.open() }
            throw await Overdue(deadline: deadline, phase: .firstByte).failure()
        }
        let rig = try Rig(wire: wire) { configuration in
            configuration.mergesIdenticalReads = true
            // More time than the others have.
            configuration.timeouts.responseHead = .seconds(600)
        }
        let first = Task {
            defer {
                isSent.open()
                isOver.open()
            }
            return try await rig.client.get(Self.url) { $0.timeouts.total = limit }
        }
        await isSent.passage()
        // They come before the patient one.
        let impatient = (0..<3).map { _ in
            Task { try await rig.client.get(Self.url) { $0.timeouts.total = .seconds(200) } }
        }
        while rig.client.pipeline.reads.waiting < 4, !isOver.isOpen { await Task.yield() }
        let patient = Task { try await rig.client.get(Self.url) }
        while rig.client.pipeline.reads.waiting < 5, !isOver.isOpen { await Task.yield() }
        if isOver.isOpen {
            gate.open()
            for call in impatient { call.cancel() }
            for call in impatient { _ = await call.result }
            _ = await patient.result
            return false
        }
        #expect(await clientError { try await first.value }?.code == .timedOut)
        while wire.requests.count < 2 { await Task.yield() }
        #expect(wire.requests[1].limits.deadline == nil)
        gate.open()
        #expect(try await patient.value.exchanges[0].isMerged == false)
        for call in impatient { #expect(try await call.value.exchanges[0].isMerged) }
        #expect(wire.requests.count == 2)
        return true
    }

    @Test("The request is canceled with its last call, and a later call starts again")
    func lastLeaves() async throws {
        let wire = ScriptedWire { request, number in
            // It ends with the cancellation of its task alone.
            if number == 0 { try await SystemTimeSource().sleep(until: SystemTimeSource().now() + .seconds(3600)) }
            return .sized(request)
        }
        let rig = try rig(wire)
        let tasks = try await rig.calls(2, to: Self.url)
        // The first one sends. Were it canceled first, the other one could send in its place before it is canceled too.
        for task in tasks.reversed() {
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        await awaitEnd(rig)
        #expect(try await rig.client.get(Self.url).text() == "hello")
        #expect(wire.requests.count == 2)
    }

    @Test("Each call ends at its own time limit, while the request goes on for the others")
    func ownLimits() async throws {
        let gate = Gate()
        let rig = try rig(.held(gate))
        let first = try await rig.calls(1, to: Self.url)
        // On a busy machine a short time may be over before the call is shared: then the same with a longer one.
        var (limit, error, time) = (Duration.zero, HTTPDNSClientError?.none, Duration.zero)
        for next in [Duration.milliseconds(50), .seconds(2), .seconds(40)]
        where error?.message.contains("identical request") != true {
            limit = next
            let start = ContinuousClock.now
            error = await clientError { try await rig.client.get(Self.url) { $0.timeouts.total = next } }
            time = ContinuousClock.now - start
        }
        // The request itself does not end.
        #expect(error?.code == .timedOut && error?.limit == limit && error?.isCallDeadline == true)
        #expect(time >= limit)
        #expect(error?.message.contains("identical request") == true && error?.host == "one.test")
        gate.open()
        #expect(try await first[0].value.text() == "hello")
        #expect(rig.wire.requests.count == 1)
    }

    /// Its time would not suffice for a request of its own. On a busy machine it may be over before, which is no failure.
    @Test("A call too late to take the sender's place fails at its limit, and not before")
    func tooLate() async throws {
        let wire = ScriptedWire { request, _ in
            // It ends with the cancellation of its task, or at the limit of a call that comes too late to wait.
            guard let deadline = request.limits.deadline else {
                try await SystemTimeSource().sleep(until: SystemTimeSource().now() + .seconds(3600))
                return .sized(request)
            }
            throw await Overdue(deadline: deadline, phase: .firstByte).failure()
        }
        let rig = try rig(wire)
        let first = try await rig.calls(1, to: Self.url)
        let (start, limit) = (ContinuousClock.now, Duration.milliseconds(200))
        async let error = clientError { try await rig.client.get(Self.url) { $0.timeouts.total = limit } }
        try await Task.sleep(until: start + limit - .milliseconds(10))
        first[0].cancel()
        #expect(await error?.code == .timedOut)
        #expect(ContinuousClock.now - start >= limit)
        _ = await first[0].result
    }

    @Test("Calls with time left start again when the sender's time has passed", arguments: [false, true])
    func startedAgain(isInBody: Bool) async throws {
        let (gate, isSent) = (Gate(), Gate())
        let wire = ScriptedWire { request, number in
            guard number == 0, let deadline = request.limits.deadline else { return .sized(request) }
            isSent.open()
            gate.open()
            let end = Overdue(deadline: deadline, phase: isInBody ? .body : .firstByte)
            guard isInBody else { throw await end.failure() }
            return .ok(from: request, fields: [.contentLength: "5"], chunks: end)
        }
        let rig = try rig(wire)
        // Beside all suites the call may take seconds until it is sent. One that is not sent must not stop the test either.
        let first = Task {
            defer { gate.open() }
            return try await rig.client.get(Self.url) { $0.timeouts.total = .seconds(5) }
        }
        await gate.passage()
        let others = (0..<3).map { _ in Task { try await rig.client.get(Self.url) } }
        await #expect(throws: HTTPDNSClientError.self) { try await first.value }
        for other in others { #expect(try await other.value.text() == "hello") }
        // The others share the second request, as far as they had joined the first one.
        #expect((isSent.isOpen ? 2...4 : 1...3).contains(wire.requests.count))
        await awaitEnd(rig)
    }

    @Test("Calls start again when the request is canceled from inside")
    func canceledInside() async throws {
        let gate = Gate()
        let wire = ScriptedWire { request, number in
            guard number == 0 else { return .sized(request) }
            await gate.passage()
            throw CancellationError()
        }
        let rig = try rig(wire)
        let tasks = try await rig.calls(3, to: Self.url)
        gate.open()
        await #expect(throws: CancellationError.self) { try await tasks[0].value }
        for task in tasks[1...] { #expect(try await task.value.text() == "hello") }
        #expect((2...3).contains(wire.requests.count))
        await awaitEnd(rig)
    }

    /// The wait until the limit has passed is the rule.
    @Test("The time for the response head does not limit the body of a shared request", arguments: [false, true])
    func slowBody(isStalled: Bool) async throws {
        // On a busy machine a short limit may be over before the head comes: then the same with a longer one.
        for seconds in [3, 12, 60] where try await isShared(isStalled, limit: .seconds(seconds)) { return }
        Issue.record("no head came within its limit")
    }

    private func isShared(_ isStalled: Bool, limit: Duration) async throws -> Bool {
        let (head, end) = (Gate(), Gate())
        let wire = ScriptedWire { request, _ in
            let stalled = TransferFailure(code: .timedOut, phase: .body, message: "no byte")
            let halves = Halves(head: head, end: end, failure: isStalled ? stalled : nil)
            return .ok(from: request, fields: [.contentLength: "2"], chunks: halves)
        }
        let rig = try Rig(wire: wire) { configuration in
            configuration.mergesIdenticalReads = true
            configuration.timeouts.responseHead = limit
        }
        // The limit of the other call has not passed when the failure arrives.
        let limits = [limit, isStalled ? .seconds(600) : limit]
        var tasks: [Task<String, any Error>] = []
        for own in limits {
            let isOver = Gate()
            tasks.append(
                Task {
                    defer { isOver.open() }
                    return try await rig.client.get(Self.url) { $0.timeouts.responseHead = own }.text()
                }
            )
            while rig.client.pipeline.reads.waiting < tasks.count, !isOver.isOpen { await Task.yield() }
            if isOver.isOpen { head.open() }
        }
        await head.passage()
        // The limit of the sender began before this moment.
        try await SystemTimeSource().sleep(until: SystemTimeSource().now() + limit + .seconds(1))
        end.open()
        for task in tasks {
            do {
                #expect(try await task.value == "ab" && !isStalled)
            } catch let error as HTTPDNSClientError {
                if error.code == .timedOut, error.phase != .body { return false }
                #expect(isStalled && error.phase == .body, "\(error)")
            }
        }
        // A limit of the body is no limit of the call that sends: the failure is that of all calls.
        #expect(wire.requests.count == 1)
        return true
    }

    @Test("Another failure of the request goes to all calls, with one request")
    func failure() async throws {
        let gate = Gate()
        let rig = try rig(
            ScriptedWire { _, _ in
                await gate.passage()
                throw TransferFailure(code: .connectionLost, phase: .firstByte, message: "reset")
            }
        )
        let tasks = try await rig.calls(4, to: Self.url)
        gate.open()
        for task in tasks {
            let error = await clientError { try await task.value }
            #expect(error?.code == .connectionLost && error?.elapsed != .zero)
        }
        #expect(rig.wire.requests.count == 1 && rig.client.sharedReads == 0)
    }

    @Test("A failure in the middle of the body goes to all calls")
    func failureOfBody() async throws {
        let gate = Gate()
        let rig = try rig(
            ScriptedWire { request, _ in
                await gate.passage()
                let lost = TransferFailure(code: .connectionLost, phase: .body, message: "reset")
                return .ok(from: request, fields: [.contentLength: "9"], endingWith: lost)
            }
        )
        let tasks = try await rig.calls(3, to: Self.url)
        gate.open()
        for task in tasks { #expect(await clientError { try await task.value }?.code == .connectionLost) }
        #expect(rig.wire.requests.count == 1 && rig.client.sharedReads == 0)
    }

    @Test(
        "A body that is long or has no length is for one call, and the others send",
        arguments: [String(1 << 20 + 1), nil]
    )
    func streams(length: String?) async throws {
        let gate = Gate()
        let chunk = [UInt8](repeating: 7, count: Self.megabyte / 2)
        let wire = ScriptedWire { request, _ in
            await gate.passage()
            return .ok(
                from: request,
                fields: length.map { [.contentLength: $0] } ?? [:],
                chunks: [chunk, chunk, [8]]
            )
        }
        let rig = try rig(wire)
        let tasks = try await rig.calls(3, to: Self.url)
        gate.open()
        for task in tasks {
            let response = try await task.value
            #expect(response.exchanges.allSatisfy { !$0.isMerged })
            #expect(try await response.body.collect(upTo: .mebibytes(2)) == chunk + chunk + [8])
        }
        #expect(wire.requests.count == 3 && rig.client.sharedReads == 0 && rig.client.mergedReads == 0)
    }

    @Test("A body that becomes longer than the limit continues as a stream")
    func longerThanDeclared() async throws {
        let gate = Gate()
        let chunk = [UInt8](repeating: 7, count: Self.megabyte)
        // A content coding would make the body longer than its declared length; here the wire does.
        let wire = ScriptedWire { request, number in
            await gate.passage()
            return .ok(from: request, fields: [.contentLength: "3"], chunks: [chunk, [UInt8(number)], [9]])
        }
        let rig = try rig(wire)
        let tasks = try await rig.calls(2, to: Self.url)
        gate.open()
        var bodies: Set<[UInt8]> = []
        for task in tasks {
            let response = try await task.value
            #expect(response.body.declaredLength == 3)
            bodies.insert(try await response.body.collect(upTo: .mebibytes(2)))
        }
        #expect(bodies == [chunk + [0, 9], chunk + [1, 9]])
    }

    @Test("A body that never ends, or is long, is returned at its head", arguments: [nil, "1048577"])
    func endless(length: String?) async throws {
        let wire = ScriptedWire { request, _ in
            .ok(from: request, fields: length.map { [.contentLength: $0] } ?? [:], chunks: Endless())
        }
        let rig = try rig(wire)
        let response = try await rig.client.get(Self.url) { $0.timeouts.total = .seconds(60) }
        var iterator = response.body.makeAsyncIterator()
        #expect(try await iterator.next() == Array("data: 1\n\n".utf8))
        #expect(rig.client.sharedReads == 0)
    }

    @Test("A call that does not read its body does not delay the others")
    func unread() async throws {
        let gate = Gate()
        let rig = try rig(.held(gate))
        let tasks = try await rig.calls(3, to: Self.url)
        gate.open()
        let kept = try await tasks[0].value
        for task in tasks[1...] { #expect(try await task.value.text() == "hello") }
        #expect(try await kept.text() == "hello")
    }

    @Test("A call may join while the body is collected, and not after that")
    func lateJoin() async throws {
        let (head, end) = (Gate(), Gate())
        let wire = ScriptedWire { request, _ in
            .ok(from: request, fields: [.contentLength: "2"], chunks: Halves(head: head, end: end))
        }
        let rig = try rig(wire)
        let first = Task { try await rig.client.get(Self.url) }
        await head.passage()
        let second = Task { try await rig.client.get(Self.url) }
        while rig.client.pipeline.reads.waiting < 2 { await Task.yield() }
        end.open()
        #expect(try await first.value.text() == "ab")
        let merged = try await second.value
        #expect(try await merged.text() == "ab" && merged.exchanges[0].isMerged)
        #expect(try await rig.client.get(Self.url).exchanges[0].isMerged == false)
        #expect(wire.requests.count == 2)
    }

    @Test("Calls that come, leave and fail at random leave nothing behind")
    func storm() async throws {
        let wire = ScriptedWire { request, number in
            for _ in 0..<(number % 7) { await Task.yield() }
            try Task.checkCancellation()
            if number % 11 == 3 { throw TransferFailure(code: .connectionLost, phase: .firstByte, message: "reset") }
            return number % 5 == 0 ? .ok(from: request) : .sized(request)
        }
        let rig = try rig(wire)
        try await concurrently(600) { number in
            let call = Task {
                try await rig.client.get("https://one.test/\(number % 4)").body.collect(upTo: .bytes(9))
            }
            if number % 3 == 0 {
                for _ in 0..<(number % 13) { await Task.yield() }
                call.cancel()
            }
            let body = try? await call.value
            #expect(body == nil || body == Array("hello".utf8))
        }
        await awaitEnd(rig)
        #expect(rig.client.sharedReads == 0)
        try await rig.client.shutdown()
    }
}

/// A stream that gives one event and then waits without end.
private struct Endless: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error

    struct AsyncIterator: AsyncIteratorProtocol {
        var isFirst = true

        mutating func next() async throws -> [UInt8]? {
            defer { isFirst = false }
            if isFirst { return Array("data: 1\n\n".utf8) }
            try await SystemTimeSource().sleep(until: SystemTimeSource().now() + .seconds(3600))
            return nil
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator() }
}

/// A body without a byte, which fails when the time of its call has passed.
private struct Overdue: AsyncSequence, AsyncIteratorProtocol, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error

    let deadline: MonotonicTime
    let phase: TransferFailure.Phase

    /// Returns the failure, after the deadline.
    func failure() async -> any Error {
        do {
            try await SystemTimeSource().sleep(until: deadline)
            return TransferFailure(code: .timedOut, phase: phase, message: "no response")
        } catch {
            return error
        }
    }

    mutating func next() async throws -> [UInt8]? { throw await failure() }

    func makeAsyncIterator() -> Overdue { self }
}

/// A body of two chunks, the second of which waits for a gate.
private struct Halves: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error

    let head: Gate
    let end: Gate
    var failure: TransferFailure?

    struct AsyncIterator: AsyncIteratorProtocol {
        let halves: Halves
        var number = 0

        mutating func next() async throws -> [UInt8]? {
            number += 1
            switch number {
            case 1: return Array("a".utf8)
            case 2:
                halves.head.open()
                await halves.end.passage()
                if let failure = halves.failure { throw failure }
                return Array("b".utf8)
            default: return nil
            }
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(halves: self) }
}
