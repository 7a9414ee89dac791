import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Testing

@testable import CurlTransport

/// Which TLS sessions are resumed, as the server's log tells.
@Suite("TLS sessions", .enabled(if: ServerRig.isAvailable([.nginx])), .timeLimit(.minutes(2)))
struct TLSSessionTests {
    typealias Driver = TransportConfiguration.Driver

    /// A request whose connection the server ends with the answer.
    private func once(_ rig: ServerRig, _ host: String, _ mark: String) throws -> TransferRequest {
        try TransportFixture.request(
            "https://\(host):\(rig.tlsPort)/once?\(mark)",
            at: "127.0.0.2",
            versions: .http1Only
        )
    }

    /// What the log has of the requests with this mark, `.` for a whole handshake and `r` for a resumed session.
    private func handshakes(_ rig: ServerRig, _ count: Int, _ mark: String) async throws -> String {
        try await rig.awaitAccessLog(count: count) { $0.target == "/once?\(mark)" }.map(\.sessionReused).joined()
    }

    @Test(
        "a new connection resumes the session of the one before, whichever handle made that",
        arguments: Driver.allCases
    )
    func resumed(driver: Driver) async throws {
        let rig = try await ServerRig.shared()
        let fixture = TransportFixture(driver, trust: .file(rig.certificateAuthorityFile))
        let mark = "resumed-\(driver)"
        try await fixture.fetch(once(rig, "one.test", mark))
        // The handle of that request is taken by one that waits for its answer, so that the next needs another.
        let gate = Gate()
        let server = try RawServer(
            .readHead,
            .wait(gate),
            .sendText("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        )
        let held = try TransportFixture.request("http://held.test:\(server.port)/", at: "127.0.0.1")
        async let waiting = fixture.fetch(held)
        try await server.awaitConnections { $0.count == 1 }
        try await fixture.fetch(once(rig, "one.test", mark))
        gate.open()
        #expect(try await waiting.response.head.status == .ok)
        #expect(try await handshakes(rig, 2, mark) == ".r")
        await fixture.transport.shutdown()
    }

    @Test("connections that are made at the same time resume a session each", arguments: Driver.allCases)
    func together(driver: Driver) async throws {
        let rig = try await ServerRig.shared()
        let fixture = TransportFixture(driver, trust: .file(rig.certificateAuthorityFile))
        let mark = "together-\(driver)"
        let request = try once(rig, "one.test", mark)
        for _ in 0..<20 {
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for _ in 0..<8 { tasks.addTask { try await fixture.fetch(request) } }
                try await tasks.waitForAll()
            }
        }
        // Each of the eight handles has to make one session.
        #expect(try await handshakes(rig, 160, mark).count { $0 == "." } <= 8)
        await fixture.transport.shutdown()
    }

    @Test("a session is never offered for another host, also when that has the name that libcurl knew the first one by")
    func otherHost() async throws {
        let rig = try await ServerRig.shared()
        let fixture = TransportFixture(.platformDefault, trust: .file(rig.certificateAuthorityFile))
        let mark = "other-host"
        try await fixture.fetch(once(rig, "one.test", mark))
        // Its pin is dropped, and its name is free, for its connection is closed.
        fixture.transport.retireConnections()
        // Both have the same server, which would resume it.
        try await fixture.fetch(once(rig, "two.test", mark))
        try await fixture.fetch(once(rig, "two.test", mark))
        #expect(try await handshakes(rig, 3, mark) == "..r")
        await fixture.transport.shutdown()
    }

    @Test("a proof of identity is a whole handshake")
    func proof() async throws {
        let rig = try await ServerRig.shared()
        let fixture = TransportFixture(.platformDefault, trust: .file(rig.certificateAuthorityFile))
        let request = try once(rig, "one.test", "proof")
        try await fixture.fetch(request)
        let before = rig.accessLogMark()
        var proof = request
        proof.stopsBeforeSending = true
        let failure = try #require(await fixture.failure(of: proof))
        #expect(failure.code == .heldBack)
        // The connection of the proof wrote no line; the one after it resumes what the first one left.
        try await fixture.fetch(request)
        let lines = try await rig.awaitAccessLog(since: before, count: 1) { $0.target == "/once?proof" }
        #expect(lines.map(\.sessionReused) == ["r"])
        await fixture.transport.shutdown()
    }
}

@Suite("TLS session pool")
struct TLSSessionPoolTests {
    @Test("sessions are one transfer's at a time, and wait for the next")
    func exclusive() {
        var pool = TLSSessionPool()
        let first = pool.take(nil)
        let second = pool.take(nil)
        #expect(first !== second)
        pool.giveBack(first)
        #expect(pool.take(nil) === first)
        #expect(pool.take(first) !== first)
    }

    @Test("a handle goes on with its own, and nobody else gets them meanwhile")
    func own() {
        var pool = TLSSessionPool()
        let first = pool.take(nil)
        let second = pool.take(nil)
        pool.giveBack(first)
        pool.giveBack(second)
        #expect(pool.take(first) === first)
        #expect(pool.take(nil) === second)
        #expect(pool.take(nil) !== first)
    }

    @Test("four wait at most, each once")
    func bounded() {
        var pool = TLSSessionPool()
        let taken = (0..<6).map { _ in pool.take(nil) }
        for _ in 0..<2 {
            for sessions in taken { pool.giveBack(sessions) }
        }
        let again = (0..<6).map { _ in pool.take(nil) }
        #expect(again.count { sessions in taken.contains { $0 === sessions } } == 4)
        #expect(again.indices.allSatisfy { index in !again[..<index].contains { $0 === again[index] } })
    }
}
