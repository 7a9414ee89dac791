// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPDNSTesting
import ServerRig
import Testing

@testable import HTTPDNS

struct WaitingCallTests {
    /// A wire that lets one request after the other through, as the test says.
    private final class Turnstile: Sendable {
        private let gates = (0..<8).map { _ in Gate() }

        func wire() -> ScriptedWire {
            ScriptedWire { [gates] request, number in
                await gates[number].passage()
                return .ok(from: request)
            }
        }

        func pass(_ number: Int) { gates[number].open() }
    }

    private func rig(_ turnstile: Turnstile, _ configure: (inout HTTPDNSClient.Configuration) -> Void = { _ in }) throws
        -> Rig
    {
        try Rig(wire: turnstile.wire()) { configuration in
            configuration.connections.maximumPerHost = 1
            configuration.timeouts.total = .seconds(100)
            configure(&configuration)
        }
    }

    private func request(
        _ path: String,
        _ priority: HTTPDNSClient.Request.Priority = .normal,
        timeout: Duration? = nil
    )
        -> HTTPDNSClient.Request
    {
        HTTPDNSClient.Request(url: "https://one.test/\(path)") {
            $0.priority = priority
            if let timeout { $0.timeouts.total = timeout }
        }
    }

    private func waiting(_ count: Int, _ rig: Rig) async {
        while rig.client.requestsWaiting != count, !Task.isCancelled { await Task.yield() }
    }

    private func sent(_ count: Int, _ rig: Rig) async {
        while rig.wire.requests.count != count, !Task.isCancelled { await Task.yield() }
    }

    /// The thread of a blocking client whose interceptor blocks it, until the test lets its jobs run.
    private final class BusyExecutor: CallExecutor {
        private let jobs = Lock<[UnownedJob]>([])

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            jobs.withLock { $0.append(job) }
        }

        func sleep(until deadline: MonotonicTime) async throws {}

        func run() {
            let jobs = jobs.withLock { jobs in
                defer { jobs = [] }
                return jobs
            }
            for job in jobs { job.runSynchronously(on: asUnownedTaskExecutor()) }
        }
    }

    @Test("A busy thread of a blocking client delays no deadline of the queue")
    func busyThread() async throws {
        let (clock, member, executor) = (HTTPDNSManualClock(), Admission.Member(), BusyExecutor())
        let limits = AdmissionQueue.Limits(perHost: 1, total: .max, maximumWaiting: .max)
        let admission = Admission(Admission.Limits(queue: limits, wait: nil), clock: clock)
        let origin = HopOrigin(host: .name(try HTTPDNSName("one.test")), port: 443)
        _ = try await admission.enter(for: origin, .normal, headDeadline: nil, deadline: nil, of: member)
        let call = Task {
            try await CallWork.$executor.withValue(executor) {
                let deadline = clock.now() + .seconds(1)
                _ = try await admission.enter(
                    for: origin,
                    .normal,
                    headDeadline: nil,
                    deadline: deadline,
                    of: member
                )
            }
        }
        await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(1))
        let failure = await #expect(throws: AdmissionFailure.self) { try await call.value }
        #expect(failure?.reason == .deadline)
        executor.run()
    }

    /// The permit of a request that has used its connection for a second.
    @Test("The time of a request decides which waiting request would be too late")
    func usualTime() async throws {
        let (clock, member) = (HTTPDNSManualClock(), Admission.Member())
        let limits = AdmissionQueue.Limits(perHost: 1, total: .max, maximumWaiting: .max)
        let admission = Admission(Admission.Limits(queue: limits, wait: nil), clock: clock)
        let origin = HopOrigin(host: .name(try HTTPDNSName("one.test")), port: 443)
        for isHead in [true, false] {
            let order = Journal<Int>()
            var permit: ConnectionPermit?
            let (_, grant) = try await admission.enter(
                for: origin,
                .normal,
                headDeadline: nil,
                deadline: nil,
                of: member
            )
            permit = ConnectionPermit(admission, origin, grant, deadline: nil, outer: nil)
            var calls: [Task<Void, any Error>] = []
            for number in 1...2 {
                let deadline = clock.now() + .seconds(number == 1 ? 3 : 30)
                calls.append(
                    Task {
                        let (_, grant) = try await admission.enter(
                            for: origin,
                            .normal,
                            headDeadline: isHead ? deadline : nil,
                            deadline: isHead ? nil : deadline,
                            of: member
                        )
                        order.write(number)
                        _ = ConnectionPermit(admission, origin, grant, deadline: nil, outer: nil)
                    }
                )
                while admission.waiting < number, !Task.isCancelled { await Task.yield() }
            }
            clock.advance(by: .seconds(2))
            permit?.noteHead(isShared: false)
            permit = nil
            for call in calls { try await call.value }
            #expect(order.all == [2, 1], "\(isHead)")
        }
    }

    @Test("Waiting calls are sent one after the other, the most urgent first")
    func order() async throws {
        let turnstile = Turnstile()
        let rig = try rig(turnstile)
        var calls = [Task { try await rig.client.execute(request("0")) }]
        await sent(1, rig)
        for (number, priority) in [HTTPDNSClient.Request.Priority.low, .normal, .high, .normal].enumerated() {
            calls.append(Task { try await rig.client.execute(request("\(number + 1)", priority)) })
            await waiting(number + 1, rig)
        }
        for number in 0..<5 {
            await sent(number + 1, rig)
            turnstile.pass(number)
        }
        for call in calls { _ = try await call.value }
        #expect(rig.wire.requests.map(\.url.description.last) == ["0", "3", "2", "4", "1"])
        #expect(rig.client.requestsWaiting == 0 && rig.client.pipeline.admissions.queues.first?.connections == 0)
    }

    @Test("A call that has waited goes where its name leads by then")
    func moved() async throws {
        let turnstile = Turnstile()
        let rig = try rig(turnstile)
        let first = Task { try await rig.client.execute(request("0")) }
        await sent(1, rig)
        let second = Task { try await rig.client.execute(request("1")) }
        await waiting(1, rig)
        try rig.client.mappings.apply { $0["one.test"] = .addresses(["203.0.113.99"]) }
        turnstile.pass(0)
        turnstile.pass(1)
        _ = try await first.value
        #expect(try await second.value.exchanges.first?.remote.address.description == "203.0.113.99")
    }

    @Test("A call that waits keeps its deadline, and its error names the queue")
    func deadline() async throws {
        let turnstile = Turnstile()
        let rig = try rig(turnstile)
        let first = Task { try await rig.client.execute(request("0")) }
        await sent(1, rig)
        // On a busy machine a short time may be over before the call waits: then the same with a longer one.
        var (limit, error) = (Duration.zero, HTTPDNSClientError?.none)
        for next in [Duration.milliseconds(50), .seconds(2), .seconds(40)] where error?.phase != .queue {
            limit = next
            error = await clientError { try await rig.client.execute(request("1", timeout: next)) }
        }
        #expect(error?.code == .timedOut && error?.phase == .queue && error?.isCallDeadline == true)
        #expect(error?.limit == limit && error?.requestMayHaveBeenSent == false)
        #expect((error?.elapsed ?? .zero) >= limit && error?.host == "one.test")
        #expect(error?.description.contains("1 for a host") == true, "\(error.debugDescription)")
        turnstile.pass(0)
        _ = try await first.value
        #expect(rig.wire.requests.count == 1)
    }

    @Test("A canceled wait is a wait in the record of the call")
    func canceledWait() async throws {
        let turnstile = Turnstile()
        let rig = try rig(turnstile)
        let waits = Journal<[Duration?]>()
        rig.client.recordCalls { waits.write($0.hops.map(\.queueWait)) }
        let first = Task { try await rig.client.execute(request("0")) }
        await sent(1, rig)
        let second = Task { try await rig.client.execute(request("1")) }
        await waiting(1, rig)
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        let noted = try #require(waits.all.first)
        #expect(waits.all.count == 1 && noted.count == 1 && noted.allSatisfy { ($0 ?? .zero) > .zero }, "\(noted)")
        turnstile.pass(0)
        _ = try await first.value
    }

    @Test("A queue's own time limit ends a wait before the call's deadline")
    func queueWait() async throws {
        let turnstile = Turnstile()
        let rig = try rig(turnstile) { $0.connections.queueWait = .milliseconds(50) }
        let first = Task { try await rig.client.execute(request("0")) }
        await sent(1, rig)
        let error = await clientError { try await rig.client.execute(request("1")) }
        #expect(error?.code == .timedOut && error?.phase == .queue && error?.isCallDeadline == false)
        #expect(error?.limit == .milliseconds(50) && error?.hint?.contains("queueWait") == true)
        turnstile.pass(0)
        _ = try await first.value
    }

    /// A more urgent one displaces another.
    @Test("A call beyond the queue's length fails immediately unless it is more urgent")
    func full() async throws {
        let turnstile = Turnstile()
        let rig = try rig(turnstile) { $0.connections.maximumQueued = 1 }
        let first = Task { try await rig.client.execute(request("0")) }
        await sent(1, rig)
        let low = Task { await clientError { try await rig.client.execute(request("1", .low)) } }
        await waiting(1, rig)
        let refused = await clientError { try await rig.client.execute(request("2", .low)) }
        #expect(refused?.code == .limitReached && refused?.phase == .queue)
        let high = Task { try await rig.client.execute(request("3", .high)) }
        let displaced = await low.value
        #expect(displaced?.code == .limitReached && displaced?.message.contains("more urgent") == true)
        turnstile.pass(0)
        turnstile.pass(1)
        _ = try await (first.value, high.value)
        #expect(rig.wire.requests.map(\.url.description.last) == ["0", "3"])
    }

    @Test("A canceled call leaves the queue, and the next one moves up")
    func canceled() async throws {
        let turnstile = Turnstile()
        let rig = try rig(turnstile)
        let first = Task { try await rig.client.execute(request("0")) }
        await sent(1, rig)
        let second = Task { try await rig.client.execute(request("1")) }
        await waiting(1, rig)
        let third = Task { try await rig.client.execute(request("2")) }
        await waiting(2, rig)
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        #expect(rig.client.requestsWaiting == 1 && rig.client.status().connections.requestsWaiting == 1)
        turnstile.pass(0)
        turnstile.pass(1)
        _ = try await (first.value, third.value)
        #expect(rig.wire.requests.map(\.url.description.last) == ["0", "2"])
    }

    @Test("A request that fails returns its connection permit")
    func failing() async throws {
        let wire = ScriptedWire(.failure(TransferFailure(code: .connectionLost, phase: .firstByte, message: "gone")))
        let rig = try Rig(wire: wire) { $0.connections.maximum = 1 }
        #expect(await clientError { try await rig.client.execute(request("0")) }?.code == .connectionLost)
        _ = try await rig.client.execute(request("1"))
        #expect(rig.client.pipeline.admissions.queues.first?.connections == 0)
    }

    @Test("A shutdown ends waiting calls with an error of its own")
    func shutDown() async throws {
        let turnstile = Turnstile()
        let rig = try rig(turnstile)
        let first = Task { try await rig.client.execute(request("0")) }
        await sent(1, rig)
        let second = Task { await clientError { try await rig.client.execute(request("1")) } }
        await waiting(1, rig)
        try await rig.client.shutdown()
        let error = await second.value
        #expect(error?.code == .shutDown && error?.phase == .queue)
        turnstile.pass(0)
        _ = try await first.value
    }

    @Test("A draining shutdown lets waiting calls have their turn")
    func draining() async throws {
        let turnstile = Turnstile()
        let rig = try rig(turnstile)
        let first = Task { try await rig.client.execute(request("0")) }
        await sent(1, rig)
        let second = Task { try await rig.client.execute(request("1")) }
        await waiting(1, rig)
        async let ended: Void = rig.client.shutdown(drainingFor: .seconds(60))
        turnstile.pass(0)
        turnstile.pass(1)
        _ = try await (first.value, second.value)
        try await ended
        #expect(rig.wire.requests.count == 2)
    }

    @Test(
        "Impossible limits are refused when the client is made",
        arguments: [
            { $0.maximumPerHost = 0 }, { $0.maximum = 0 }, { $0.maximumQueued = -1 }, { $0.queueWait = .zero },
            { $0.maximumStreams = 0 }, { $0.tcpKeepalive.idle = .zero },
            { $0.tcpKeepalive.interval = .seconds(32_768) }, { $0.tcpKeepalive.count = 0 },
            { $0.tcpKeepalive.count = 128 },
        ] as [@Sendable (inout HTTPDNSClient.Configuration.Connections) -> Void]
    )
    func configuration(change: @Sendable (inout HTTPDNSClient.Configuration.Connections) -> Void) async throws {
        var configuration = HTTPDNSClient.Configuration()
        change(&configuration.connections)
        let error = await clientError { [configuration] in try await HTTPDNSClient(configuration: configuration) }
        #expect(error?.code == .configuration)
        // A transport that clients share has such limits as well.
        let transport = HTTPDNSLibcurlTransport(connections: configuration.connections)
        let shared = await clientError { try await HTTPDNSClient(configuration: .init(), on: transport) }
        #expect(shared?.code == .configuration && shared?.message.contains("transport") == true)
        #expect(transport.usage.clients == 0)
    }
}
