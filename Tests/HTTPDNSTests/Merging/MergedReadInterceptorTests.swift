// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import ServerRig
import Testing

@testable import HTTPDNS

/// Identical reads and interceptors: those of each call, those of the shared request, and observers.
struct MergedReadInterceptorTests {
    private static let url = "https://one.test/a?b=1"

    @Test("Application interceptors run for each call, network ones for each request")
    func interceptors() async throws {
        let gate = Gate()
        let (application, network) = (Occupancy(), Occupancy())
        let rig = try Rig(wire: .held(gate)) { configuration in
            configuration.mergesIdenticalReads = true
            configuration.applicationInterceptors = [Around.before { _ in application.enter() }]
            configuration.networkInterceptors = [Around.before { _ in network.enter() }]
        }
        let tasks = try await rig.calls(3, to: Self.url)
        gate.open()
        for task in tasks { #expect(try await task.value.exchanges.count == 1) }
        #expect(application.all == 3 && network.all == 1)
    }

    @Test("A network interceptor that repeats its call gets an error, and does not wait")
    func nested() async throws {
        let holder = Lock<HTTPDNSClient?>(nil)
        let rig = try Rig(wire: ScriptedWire { request, _ in .sized(request) }) { configuration in
            configuration.mergesIdenticalReads = true
            configuration.networkInterceptors = [
                Around { request, _, _ in
                    guard let client = holder.withLock({ $0 }) else { throw CancellationError() }
                    return try await client.execute(request)
                }
            ]
        }
        holder.withLock { $0 = rig.client }
        let error = await clientError { try await rig.client.get(Self.url) { $0.timeouts.total = .seconds(60) } }
        holder.withLock { $0 = nil }
        #expect(error?.code == .loop)
        #expect(rig.client.sharedReads == 0)
    }

    @Test(
        "A call that code inside a shared request makes of its URL does not wait for it",
        arguments: ["interceptor", "headers", "hook"]
    )
    func inside(code: String) async throws {
        let holder = Lock<HTTPDNSClient?>(nil)
        let callOnce: @Sendable () async throws -> Void = {
            let client = holder.withLock { client in
                defer { client = nil }
                return client
            }
            _ = try await client?.get(Self.url) { $0.timeouts.total = .seconds(60) }
        }
        let wire = ScriptedWire { request, number in
            guard code == "hook", number == 0 else { return .sized(request) }
            return .sized(request, status: .found, fields: [.location: "/next"])
        }
        let rig = try Rig(wire: wire) { configuration in
            configuration.mergesIdenticalReads = true
            switch code {
            case "interceptor":
                configuration.networkInterceptors = [Around.before { _ in try await callOnce() }]
            case "headers":
                configuration.computedHeaders = { _ in
                    try await callOnce()
                    return [:]
                }
            default:
                configuration.redirectHook = { _ in
                    try await callOnce()
                    return .follow
                }
            }
        }
        holder.withLock { $0 = rig.client }
        #expect(try await rig.client.get(Self.url).text() == "hello")
        #expect(rig.wire.requests.count == (code == "hook" ? 3 : 2))
        #expect(rig.client.mergedReads == 0 && rig.client.sharedReads == 0)
    }

    /// Makes two calls that an application interceptor turns into equal requests.
    /// - Returns: The number of requests that they need.
    private func requests(
        _ calls: [HTTPDNSClient.Request],
        changedBy change: @escaping @Sendable (inout HTTPDNSClient.Request) -> Void
    ) async throws -> Int {
        let gate = Gate()
        let rig = try Rig(wire: .held(gate)) { configuration in
            configuration.mergesIdenticalReads = true
            configuration.applicationInterceptors = [Around.before { change(&$0) }]
        }
        let tasks = calls.map { call in Task { try await rig.client.execute(call).text() } }
        // Each call waits for a request, or has sent its own past the step.
        while max(rig.wire.requests.count, rig.client.pipeline.reads.waiting) < calls.count { await Task.yield() }
        gate.open()
        for task in tasks { #expect(try await task.value == "hello") }
        return rig.wire.requests.count
    }

    @Test("A request with a credential of another origin is not shared")
    func movedCredential() async throws {
        var request = HTTPDNSClient.Request(url: "https://two.test/a?b=1")
        let toOne: @Sendable (inout HTTPDNSClient.Request) -> Void = { $0.url = Self.url }
        #expect(try await requests([request, request], changedBy: toOne) == 1)
        request.changeOptions { $0.credential = .basic(user: "a", password: HTTPDNSSecret { "b" }) }
        #expect(try await requests([request, request], changedBy: toOne) == 2)
    }

    @Test("Calls that may reach different networks do not share a request")
    func networks() async throws {
        let limited = HTTPDNSClient.Request(url: Self.url) { $0.reachableNetworks = .publicInternet }
        let widen: @Sendable (inout HTTPDNSClient.Request) -> Void = {
            $0.changeOptions { $0.reachableNetworks = .any }
        }
        #expect(try await requests([limited, limited], changedBy: widen) == 1)
        #expect(try await requests([limited, HTTPDNSClient.Request(url: Self.url)], changedBy: widen) == 2)
    }

    @Test("An interceptor that fails after a shared response reports that it was sent")
    func failsAfterResponse() async throws {
        struct Refused: Error {}
        let gate = Gate()
        let rig = try Rig(wire: .held(gate)) { configuration in
            configuration.mergesIdenticalReads = true
            configuration.applicationInterceptors = [
                Around { request, context, next in
                    _ = try await next(request, context)
                    throw Refused()
                }
            ]
        }
        let tasks = try await rig.calls(2, to: Self.url)
        gate.open()
        for task in tasks {
            let error = await clientError { try await task.value }
            #expect(error?.code == .interceptorFailed && error?.requestMayHaveBeenSent == true)
        }
    }

    @Test("An endless interceptor ends with the sender's time, and others send again")
    func endlessInterceptor() async throws {
        // On a busy machine a short time may be over before the interceptor begins: then the same with a longer one.
        for seconds in [2, 10, 50] where try await isBegun(within: .seconds(seconds)) { return }
        Issue.record("no interceptor began within the time of its call")
    }

    private func isBegun(within limit: Duration) async throws -> Bool {
        let (begun, ended, isOver) = (Gate(), Gate(), Gate())
        let rig = try Rig(wire: ScriptedWire { request, _ in .sized(request) }) { configuration in
            configuration.mergesIdenticalReads = true
            configuration.networkInterceptors = [
                Around { request, context, next in
                    // Only the first call has a limit for its whole time.
                    guard context.deadline != nil else { return try await next(request, context) }
                    begun.open()
                    defer { ended.open() }
                    try await SystemTimeSource().sleep(until: SystemTimeSource().now() + .seconds(3600))
                    throw CancellationError()
                }
            ]
        }
        let first = Task {
            defer { isOver.open() }
            return try await rig.client.get(Self.url) { $0.timeouts.total = limit }
        }
        while !begun.isOpen, !isOver.isOpen { await Task.yield() }
        let other = Task { try await rig.client.get(Self.url) }
        while rig.client.pipeline.reads.waiting < 2, !isOver.isOpen { await Task.yield() }
        #expect(await clientError { try await first.value }?.code == .timedOut)
        if begun.isOpen { await ended.passage() }
        #expect(try await other.value.text() == "hello")
        #expect(rig.wire.requests.count == 1 && rig.client.sharedReads == 0)
        return begun.isOpen
    }

    @Test("A call with another call's response has one merged hop without bytes")
    func record() async throws {
        let gate = Gate()
        let records = Journal<HTTPDNSClient.CallRecord>()
        let rig = try Rig(wire: .held(gate)) { $0.mergesIdenticalReads = true }
        rig.client.recordCalls { records.write($0) }
        let tasks = try await rig.calls(1, to: Self.url)
        let observed = ObservedEvents()
        var request = HTTPDNSClient.Request(url: Self.url)
        request.observer = observed.note
        let merged = Task { [request] in await rig.client.outcome(of: request) }
        while rig.client.pipeline.reads.waiting < 2 { await Task.yield() }
        gate.open()
        #expect(try await tasks[0].value.text() == "hello")
        #expect(await merged.value == nil)

        let events = await observed.all()
        #expect(events.text == "started response-head body-progress finished")
        let head = events.first { $0.kind == .responseHead }
        #expect(head?.isMerged == true && head?.isAnsweredInProcess == false)
        #expect(head?.endpoint?.address.description == "203.0.113.1" && head?.status == .ok)
        let all = records.all.sorted { $0.callID < $1.callID }
        try #require(all.map(\.hops.count) == [1, 1])
        let (own, other) = (all[0].hops[0], all[1].hops[0])
        #expect(!own.isMerged && !own.isAnsweredInProcess && other.isMerged && !other.isAnsweredInProcess)
        #expect(other.exchange?.endpoint == own.exchange?.endpoint && other.exchange?.endpoint != nil)
        #expect(other.status == .ok && other.exchange?.version == .http11 && other.url == "https://one.test/a")
        #expect(other.requestHeadBytes == nil && other.responseBodyBytes == nil && other.attempts.isEmpty)
        #expect(other.duration.map { $0 >= .zero } == true && all[1].bodyBytes == 5 && all[1].isBodyComplete)
    }

    @Test("A shared response that was made in process is merged and answered in process")
    func recordInProcess() async throws {
        let gate = Gate()
        let records = Journal<HTTPDNSClient.CallRecord>()
        let rig = try Rig { configuration in
            configuration.mergesIdenticalReads = true
            configuration.innermost = Around { _, _, _ in
                await gate.passage()
                return HTTPDNSClient.Response(head: HTTPResponse(status: .ok), body: .bytes(Array("hello".utf8)))
            }
        }
        rig.client.recordCalls { records.write($0) }
        let tasks = (0..<2).map { _ in Task { try await rig.client.get(Self.url).text() } }
        while rig.client.pipeline.reads.waiting < 2 { await Task.yield() }
        gate.open()
        for task in tasks { #expect(try await task.value == "hello") }
        let hops = records.all.flatMap(\.hops)
        #expect(hops.count == 2 && hops.count { $0.isMerged } == 1 && hops.allSatisfy(\.isAnsweredInProcess))
        #expect(hops.allSatisfy { $0.exchange == nil && $0.status == .ok })
    }
}
