// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import CHTTPDNSCurl
import Glibc
import HTTPDNSPrimitives
import ServerRig
import Synchronization
import Testing

@testable import HTTPDNSCurl

/// The work of a request, a failure or a turn, counted beside many requests in flight.
struct RequestCostTests {
    private let key = PinKey(
        host: .name("one.test"),
        port: 443,
        endpoint: HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 10, 0, 0, 1), port: 443),
        versions: .automatic
    )

    /// Requests through an HTTPS proxy look for the connections of other pins, too.
    @Test("The kernel is asked once for the local port of each connection", arguments: [100, 2_000])
    func localPorts(count: Int) {
        var table = PinTable(maximumPins: 256)
        let pin = table.acquire(key)
        let connections = (0..<count).map { table.opened(Int32($0), for: pin, inode: UInt64($0)) }
        var calls = 0
        func localPort(_ descriptor: Int32) -> Int32 {
            calls += 1
            return 10_000 + descriptor
        }
        for _ in 0..<count { #expect(pin.connections.unreached(at: 9, localPort) == nil) }
        for (number, connection) in connections.enumerated() {
            let port = Int32(10_000 + number)
            #expect(pin.connections.unreached(at: port, localPort) === connection)
            pin.connections.identified(connection, at: port)
            #expect(pin.connections.unreached(at: port, localPort) == nil)
            #expect(pin.connections.connection(at: port) === connection)
        }
        #expect(calls == count)
    }

    @Test("A closed connection is not found by the port that the kernel reported")
    func closedPort() {
        var table = PinTable(maximumPins: 256)
        let pin = table.acquire(key)
        let one = table.opened(10, for: pin, inode: 1)
        table.opened(11, for: pin, inode: 2)
        #expect(pin.connections.unreached(at: 40_010) { 40_000 + $0 } === one)
        table.closed(10)
        #expect(pin.connections.unreached(at: 40_010) { 40_000 + $0 } == nil)
        let two = pin.connections.unreached(at: 40_011) { 40_000 + $0 }
        #expect(two?.descriptor == 11)
        table.closed(11)
        #expect(pin.connections.isEmpty)
    }

    // MARK: attempts

    private final class Attempt: RacingAttempt {
        var hasOpenedConnection = false
        var listing = AttemptListing()
    }

    @Test("Failures at one endpoint visit each waiting attempt once", arguments: [100, 2_000])
    func failures(count: Int) {
        var attempts = PinAttempts<Attempt>()
        let all = (0..<count).map { _ in Attempt() }
        for attempt in all { attempts.insert(attempt) }
        for attempt in all.prefix(count / 2) {
            attempt.hasOpenedConnection = true
            attempts.connects(attempt)
        }
        var visits = 0
        for attempt in all.prefix(count / 2) {
            attempts.remove(attempt)
            visits += attempts.takeWaiting().count
        }
        #expect(visits == count - count / 2)
        #expect(all.allSatisfy { !$0.listing.isListed })
    }

    @Test("Passed delays at one endpoint visit each attempt once", arguments: [100, 2_000])
    func delays(count: Int) {
        var attempts = PinAttempts<Attempt>()
        let all = (0..<count).map { _ in Attempt() }
        for (number, attempt) in all.enumerated() {
            attempt.hasOpenedConnection = number.isMultiple(of: 2)
            attempts.insert(attempt)
        }
        var visits = 0
        for attempt in all {
            attempts.remove(attempt)
            visits += attempts.takeAll().count
        }
        #expect(visits == count - 1)
    }

    // MARK: streams

    @Test("The room of HTTP/2 connections is that of a walk over them")
    func room() {
        for _ in 0..<20 {
            var table = PinTable(maximumPins: 256)
            let pin = table.acquire(key)
            var next: Int32 = 0
            for _ in 0..<500 {
                let connection = pin.connections.all.randomElement()
                switch Int.random(in: 0..<8) {
                case 0:
                    pin.connections.negotiated(.http2, on: table.opened(next, for: pin, inode: UInt64(next)))
                    next += 1
                case 1: connection.map { _ = table.closed($0.descriptor) }
                case 2: connection?.streams.hasSettings = true
                case 3 where Int.random(in: 0..<10) == 0: connection.map { _ = table.shut($0) }
                case 4 where Int.random(in: 0..<10) == 0: connection?.streams.last = 7
                case 5 where connection?.transfers != 0: connection?.transfers -= 1
                default: connection?.transfers += 1
                }
                let counted = pin.connections.all.filter { $0.takesRequests && $0.streams.hasSettings }
                #expect(pin.connections.counts.fullest == counted.map(\.transfers).max() ?? 0)
                let limit = Int.random(in: 1...12)
                let room = counted.reduce(0) { $0 + max(0, limit - $1.transfers) }
                #expect(pin.connections.counts.room(below: limit) == room)
                let unsettled = pin.connections.all.filter { $0.takesRequests && !$0.streams.hasSettings }
                #expect(unsettled.count <= 1 && pin.connections.unsettled === unsettled.first)
                #expect(pin.connections.multiplexedSince == (pin.connections.isEmpty ? .max : 0))
            }
        }
    }
}

/// Counted system calls of a loop.
final class SystemCalls: Sendable {
    let localPorts = Atomic<Int>(0)
    let receivedBytes = Atomic<Int>(0)
    let looks = Atomic<Int>(0)
    /// The turns of the loop.
    let waits = Atomic<Int>(0)
    /// The times that it slept and nothing happened.
    let vainSleeps = Atomic<Int>(0)

    /// A configuration whose system calls are counted.
    func configuration() -> TransportConfiguration {
        var configuration = TransportConfiguration()
        configuration.maximumIdleConnections = 4_096
        configuration.system.localPort = { [self] in
            localPorts.wrappingAdd(1, ordering: .relaxed)
            return localPort(of: $0)
        }
        configuration.system.receivedBytes = { [self] in
            receivedBytes.wrappingAdd(1, ordering: .relaxed)
            return HTTPDNSCurl.receivedBytes(of: $0)
        }
        configuration.system.sendingState = { [self] in
            looks.wrappingAdd(1, ordering: .relaxed)
            return HTTPDNSCurl.sendingState(of: $0)
        }
        configuration.system.epollWait = { [self] in
            let count = epoll_wait($0, $1, $2, $3)
            waits.wrappingAdd(1, ordering: .relaxed)
            // libcurl's own timers are shorter.
            if count == 0, $3 >= 20 { vainSleeps.wrappingAdd(1, ordering: .relaxed) }
            return count
        }
        return configuration
    }
}

struct SystemCallTests {
    /// Sends many requests, each of which is answered when all are in flight.
    private func send(
        _ request: TransferRequest,
        _ count: Int,
        _ fixture: TransportFixture,
        to server: RawServer
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<count {
                // A listening socket has a short queue: a Unix socket refuses what does not fit into it.
                if number % 50 == 49 { try await server.awaitConnections { $0.count >= number } }
                group.addTask { try await fixture.fetch(request) }
            }
            try await group.waitForAll()
        }
    }

    @Test("Slow requests on kept connections ask for no local port", arguments: [100, 2_000])
    func slowRequests(count: Int) async throws {
        let calls = SystemCalls()
        let fixture = TransportFixture(Transport(calls.configuration()))
        let (first, second) = (Gate(), Gate())
        let server = try RawServer(
            .readHead,
            .wait(first),
            .respond("one"),
            .readHead,
            .wait(second),
            .pause(.milliseconds(400)),
            .respond("two"),
            .hang
        )
        let request = try TransportFixture.request(to: server) { $0.connect = .seconds(120) }
        let began = ContinuousClock.now
        var hasSlow = began
        for gate in [first, second] {
            hasSlow = .now
            async let sent: Void = send(request, count, fixture, to: server)
            let bytes = gate === first ? 1 : 2 * (server.connections.first?.received.count ?? 0)
            try await server.awaitConnections { connections in
                connections.count == count && connections.allSatisfy { $0.received.count >= bytes }
            }
            gate.open()
            try await sent
            #expect(calls.localPorts.load(ordering: .relaxed) == count)
        }
        #expect(server.connections.count == count)
        // Each head that is about to be sent on a kept connection takes one look at its bytes at most.
        #expect(calls.receivedBytes.load(ordering: .relaxed) <= count)
        // One look at each request that is silent for an interval; a busy machine makes some silent for several.
        let intervals = Int(hasSlow.duration(to: .now) / .milliseconds(250))
        #expect((count...count * max(1, intervals)).contains(calls.looks.load(ordering: .relaxed)))
        // One wake-up serves the requests of a quarter of the interval.
        let sleeps = Int(began.duration(to: .now) / .milliseconds(62)) + 4
        #expect(calls.vainSleeps.load(ordering: .relaxed) <= sleeps)
        await fixture.transport.shutdown()
    }

    @Test("Answered requests leave no wake-up, and take a few turns each", arguments: [100, 2_000])
    func fastRequests(count: Int) async throws {
        let calls = SystemCalls()
        let fixture = TransportFixture(Transport(calls.configuration()))
        let server = try RawServer(.serve("ok"))
        let request = try TransportFixture.request(to: server)
        // One that a busy machine keeps for longer than a quarter of the interval of the look may be looked at.
        var looks = 0
        for _ in 0..<count {
            let began = ContinuousClock.now
            try await fixture.fetch(request)
            looks += Int(began.duration(to: .now) / .milliseconds(62))
        }
        let turns = calls.waits.load(ordering: .relaxed)
        #expect(turns <= 6 * count + looks)
        // Nothing is to happen in this time: four intervals of the look at silent requests.
        try await Task.sleep(for: .seconds(1))
        #expect(calls.waits.load(ordering: .relaxed) <= turns + 2)
        #expect(calls.vainSleeps.load(ordering: .relaxed) <= looks && calls.looks.load(ordering: .relaxed) <= looks)
        await fixture.transport.shutdown()
    }

    /// Mostly not at all; a slow loop asks again at each wait, until one has reported all sockets.
    @Test("Requests on many Unix sockets do not each look at all sockets", arguments: [100, 500])
    func unixSockets(count: Int) async throws {
        let calls = SystemCalls()
        let fixture = TransportFixture(Transport(calls.configuration()))
        let (first, second) = (Gate(), Gate())
        let folder = try TemporaryFolder()
        let path = folder.path("s")
        let server = try RawServer(unixSocket: path) { _ in
            [.readHead, .wait(first), .respond("one"), .readHead, .wait(second), .respond("two"), .hang]
        }
        var request = TransferRequest(
            url: try ParsedURL("http://one.test/"),
            endpoints: [HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 1), port: 80)]
        )
        request.egressPath = EgressPath(unixSocket: path)
        let prepared = request
        for gate in [first, second] {
            async let sent: Void = send(prepared, count, fixture, to: server)
            let bytes = gate === first ? 1 : 2 * (server.connections.first?.received.count ?? 0)
            try await server.awaitConnections { connections in
                connections.count == count && connections.allSatisfy { $0.received.count >= bytes }
            }
            gate.open()
            try await sent
        }
        #expect(calls.receivedBytes.load(ordering: .relaxed) <= 20 * count)
        #expect(server.connections.count == count)
        await fixture.transport.shutdown()
    }
}
