// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNSCurl
import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Testing

/// Several endpoints, some of them bad, on real sockets. Nothing here measures a time: who was asked what is the proof.
struct TransportRaceTests {
    private func server(_ address: String, port: UInt16 = 0) throws -> RawServer {
        try RawServer(address: address, port: port, .serve("ok"))
    }

    private func request(
        _ endpoints: [(String, UInt16)],
        method: HTTPRequest.Method = .get,
        body: RequestBodySource = .none,
        order: EndpointOrder = .given,
        _ change: (inout TransferLimits) -> Void = { _ in }
    ) throws -> TransferRequest {
        var request = TransferRequest(
            method: method,
            url: try ParsedURL("http://one.test/"),
            body: body,
            endpoints: try endpoints.map { HTTPDNSEndpoint(address: try #require(HTTPDNSAddress($0.0)), port: $0.1) },
            limits: .patient
        )
        request.order = order
        change(&request.limits)
        return request
    }

    private func transport(delay: Duration = .milliseconds(250)) -> Transport {
        var configuration = TransportConfiguration()
        configuration.attemptDelay = delay
        return Transport(configuration)
    }

    /// The next hundred pay nothing.
    @Test("A POST past a black-holed first endpoint is answered and sent once")
    func blackHole() async throws {
        let hole = try BlackHole()
        let good = try server("127.0.0.2")
        let transport = transport()
        let post = try request(
            [(hole.address, hole.port), (good.address, good.port)],
            method: .post,
            body: .bytes([1])
        )
        let first = try await transport.fetch(post)
        #expect(first.endpoint == post.endpoints[1])
        #expect(first.failedAttempts.isEmpty, "slow is not failed")
        #expect(first.timings.race.map { $0 >= .milliseconds(250) } == true)
        for _ in 0..<100 {
            let response = try await transport.fetch(post)
            #expect(response.endpoint == post.endpoints[1] && response.timings.race == nil && response.reusedConnection)
        }
        #expect(good.count(of: "POST") == 101)
        let record = transport.endpointRecords.first { $0.endpoint == post.endpoints[0] }
        #expect(record?.state == .suspect || record?.state == .cooling)
        withExtendedLifetime(hole) {}
    }

    /// The lookup ends before the delay of the race has passed, or afterwards.
    @Test("An address that is known late is tried beside a black-holed one", arguments: [false, true])
    func knownLate(isOverdue: Bool) async throws {
        let hole = try BlackHole()
        let good = try server("127.0.0.2")
        let transport = transport()
        var post = try request([(hole.address, hole.port)], method: .post, body: .bytes([1])) {
            $0.connect = .seconds(60)
        }
        let late = try request([(good.address, good.port)]).endpoints
        post.lateEndpoints = Task {
            while isOverdue, !transport.endpointRecords.contains(where: { $0.state == .suspect }) {
                try? await Task.sleep(for: .milliseconds(10))
            }
            return late
        }
        let response = try await transport.fetch(post)
        #expect(response.endpoint == late[0] && response.failedAttempts.isEmpty)
        #expect(good.count(of: "POST") == 1)
        withExtendedLifetime(hole) {}
    }

    @Test("A delay without end waits for a failure")
    func endlessDelay() async throws {
        let good = try server("127.0.0.2")
        let transport = transport(delay: .seconds(Int64.max))
        let request = try request([("127.0.0.71", good.port), (good.address, good.port)])
        for _ in 0..<2 { #expect(try await transport.fetch(request).endpoint == request.endpoints[1]) }
    }

    @Test("Endpoints that refuse give way to a good one immediately, and are in the trail")
    func refused() async throws {
        let good = try server("127.0.0.2")
        // Nobody listens at these addresses on a port that is taken elsewhere.
        let endpoints = [("127.0.0.71", good.port), ("127.0.0.72", good.port), (good.address, good.port)]
        let transport = transport(delay: .seconds(60))
        let request = try request(endpoints)
        let response = try await transport.fetch(request)
        #expect(response.endpoint == request.endpoints[2])
        #expect(response.failedAttempts.map(\.endpoint) == Array(request.endpoints[..<2]))
        #expect(response.failedAttempts.allSatisfy { $0.code == .connectFailed && $0.phase == .connect })
        #expect(try await transport.fetch(request).failedAttempts.isEmpty, "they cool down")
        let records = transport.endpointRecords
        #expect(records.map(\.state) == [.healthy, .cooling, .cooling])
        // A slow machine may have tried one again by now.
        #expect(records[0].consecutiveFailures == 0 && records[1...].allSatisfy { $0.consecutiveFailures >= 1 })
        #expect(records[0].connectTime != nil)
    }

    /// All of them cool down at that time.
    @Test("When all endpoints refuse, one failure has them all, and all are tried again")
    func panic() async throws {
        let holder = try server("127.0.0.2")
        let transport = transport()
        let request = try request([("127.0.0.71", holder.port), ("127.0.0.72", holder.port)])
        for _ in 0..<3 {
            let failure = try #require(
                await #expect(throws: TransferFailure.self) { try await transport.fetch(request) }
            )
            #expect(failure.code == .connectFailed && !failure.requestMayHaveBeenSent)
            #expect(failure.attempts.map(\.endpoint) == request.endpoints)
        }
        #expect(holder.connections.isEmpty)
    }

    @Test(
        "A recovered endpoint is found beside requests that do not wait for it",
        arguments: [nil, HTTPDNSTransfer.LocalSource.address(HTTPDNSAddress(v4: 127, 0, 0, 1))]
    )
    func recovery(source: HTTPDNSTransfer.LocalSource?) async throws {
        let good = try server("127.0.0.2")
        let transport = transport(delay: .seconds(60))
        var request = try request([("127.0.0.73", good.port), (good.address, good.port)])
        if let source { request.egressPath = EgressPath(source: source) }
        #expect(try await transport.fetch(request).endpoint == request.endpoints[1])
        let back = try server("127.0.0.73", port: good.port)
        var tries = 0
        while try await transport.fetch(request).endpoint == request.endpoints[1] {
            // A cool-down of a second is over some time.
            try await Task.sleep(for: .milliseconds(20))
            tries += 1
            try #require(tries < 3000)
        }
        // The probe was connected to, and brought nothing.
        try await back.awaitConnections { $0.contains { $0.received.isEmpty && $0.isClosedByClient } }
    }

    @Test("A caller's stream is untouched until a connection stands, and then read once")
    func stream() async throws {
        let hole = try BlackHole()
        let good = try server("127.0.0.2")
        let touched = Gate()
        let body = AsyncThrowingStream<[UInt8], any Error> {
            touched.open()
            return nil
        }
        let silent = try request([(hole.address, hole.port)], method: .post, body: .stream(length: nil, body)) {
            $0.connect = .milliseconds(300)
        }
        let transport = transport()
        await #expect(throws: TransferFailure.self) { try await transport.fetch(silent) }
        #expect(!touched.isOpen)
        let served = try request(
            [(hole.address, hole.port), (good.address, good.port)],
            method: .post,
            body: .stream(length: 3, HandFed.three)
        )
        _ = try await transport.fetch(served)
        // The answer may be here before the server has noted the last of what it was sent.
        try await good.awaitConnections { $0.first?.text.hasSuffix("abc") == true }
        #expect(good.connections.count == 1)
        withExtendedLifetime(hole) {}
    }

    private enum HandFed {
        static var three: AsyncThrowingStream<[UInt8], any Error> {
            AsyncThrowingStream { continuation in
                continuation.yield(Array("abc".utf8))
                continuation.finish()
            }
        }
    }

    @Test("The winner of the last request goes first unless an order is given")
    func lastWinner() async throws {
        let one = try server("127.0.0.2")
        let two = try server("127.0.0.3")
        let transport = transport(delay: .seconds(60))
        let adaptive = EndpointOrder.adaptive(first: nil)
        let (first, second) = ((one.address, one.port), (two.address, two.port))
        #expect(try await transport.fetch(request([second, first], order: adaptive)).endpoint.port == two.port)
        #expect(try await transport.fetch(request([first, second], order: adaptive)).endpoint.port == two.port)
        #expect(try await transport.fetch(request([first, second])).endpoint.port == one.port)
        #expect(one.connections.count == 1 && two.connections.count == 1)
    }

    @Test("At the deadline of the whole, the trail has the progress at each address")
    func deadline() async throws {
        let holes = try (2...3).map { try BlackHole(address: "127.0.0.\($0)") }
        let transport = transport(delay: .milliseconds(50))
        let request = try request(holes.map { ($0.address, $0.port) }) {
            $0.deadline = SystemTimeSource().now() + .seconds(3)
        }
        let failure = try #require(await #expect(throws: TransferFailure.self) { try await transport.fetch(request) })
        #expect(failure.code == .timedOut && failure.phase == .total && !failure.requestMayHaveBeenSent)
        #expect(Set(failure.attempts.map(\.endpoint)) == Set(request.endpoints))
        withExtendedLifetime(holes) {}
    }

    @Test("A connection that never came about is counted only while it is tried")
    func neverConnected() async throws {
        let hole = try BlackHole()
        let transport = transport(delay: .seconds(60))
        let request = try request([(hole.address, hole.port)]) { $0.connect = .milliseconds(20) }
        for _ in 0..<3 {
            let failure = try #require(
                await #expect(throws: TransferFailure.self) { try await transport.fetch(request) }
            )
            #expect(failure.code == .timedOut && failure.phase == .connect)
            #expect(transport.connectionPools.isEmpty)
        }
        await transport.shutdown()
        withExtendedLifetime(hole) {}
    }

    @Test("A canceled race leaves no connection behind")
    func cancellation() async throws {
        let hole = try BlackHole()
        let slow = try server("127.0.0.2")
        let transport = transport(delay: .seconds(60))
        // Longer than this task may wait for its turn on a busy machine.
        let request = try request([(hole.address, hole.port), (slow.address, slow.port)]) { $0.connect = .seconds(60) }
        let task = Task { try await transport.fetch(request) }
        // A hole tells of nobody who knocks; the transport does.
        while transport.connectionPools.isEmpty { await Task.yield() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(slow.connections.isEmpty && transport.connectionPools.isEmpty)
        await transport.shutdown()
        withExtendedLifetime(hole) {}
    }
}
