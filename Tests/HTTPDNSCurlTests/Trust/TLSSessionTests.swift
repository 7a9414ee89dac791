// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Testing

@testable import HTTPDNSCurl

/// Which TLS sessions are resumed, as the server's log tells.
@Suite("TLS sessions", .enabled(if: ServerRig.isAvailable([.nginx])))
struct TLSSessionTests {
    /// A request whose connection the server ends with the answer.
    private func once(
        _ rig: ServerRig,
        _ mark: String,
        at address: String = "127.0.0.2",
        body: RequestBodySource = .none
    ) throws -> TransferRequest {
        var request = try TransportFixture.request(
            "https://one.test:\(rig.tlsPort)/once?\(mark)",
            at: address,
            body: body,
            versions: .http1Only
        )
        if request.hasBody { request.method = .post }
        return request
    }

    /// What the log has of the requests with this mark, `.` for a whole handshake and `r` for a resumed session.
    private func handshakes(_ rig: ServerRig, _ count: Int, _ mark: String) async throws -> String {
        try await rig.awaitAccessLog(count: count) { $0.target == "/once?\(mark)" }.map(\.sessionReused).joined()
    }

    @Test("A new connection resumes the last session, whichever handle made it")
    func resumed() async throws {
        let rig = try await ServerRig.shared()
        let fixture = TransportFixture(trust: .file(rig.certificateAuthorityFile))
        let mark = "resumed"
        try await fixture.fetch(once(rig, mark))
        // The handle of that request is taken by one that waits for its answer, so that the next needs another.
        let gate = Gate()
        let server = try RawServer(.readHead, .wait(gate), .respond())
        let held = try TransportFixture.request("http://held.test:\(server.port)/", at: "127.0.0.1")
        async let waiting = fixture.fetch(held)
        try await server.awaitConnections { $0.count == 1 }
        try await fixture.fetch(once(rig, mark))
        gate.open()
        #expect(try await waiting.response.head.status == .ok)
        #expect(try await handshakes(rig, 2, mark) == ".r")
        await fixture.transport.shutdown()
    }

    @Test(
        "Concurrent connections resume a session each",
        arguments: [false, true]
    )
    func together(hasBody: Bool) async throws {
        let rig = try await ServerRig.shared()
        let fixture = TransportFixture(trust: .file(rig.certificateAuthorityFile))
        let mark = "together-\(hasBody)"
        let request = try once(rig, mark, body: hasBody ? .bytes([1]) : .none)
        for _ in 0..<20 {
            try await concurrently(8) { _ in try await fixture.fetch(request) }
        }
        // Each of the eight handles has to make one session.
        #expect(try await handshakes(rig, 160, mark).count { $0 == "." } <= 8)
        await fixture.transport.shutdown()
    }

    /// The name that libcurl knew the first address by may lead to the other one by then.
    @Test("A session is never offered at another address")
    func otherAddress() async throws {
        let rig = try await ServerRig.shared()
        let fixture = TransportFixture(trust: .file(rig.certificateAuthorityFile))
        let mark = "other-address"
        try await fixture.fetch(once(rig, mark))
        // Its pin is dropped, and its name is free, for its connection is closed.
        fixture.transport.retireConnections()
        // It is the same server, which would resume it.
        for _ in 0..<2 { try await fixture.fetch(once(rig, mark, at: "127.0.0.3")) }
        #expect(try await handshakes(rig, 3, mark) == "..r")
        await fixture.transport.shutdown()
    }

    /// It comes with the first response.
    @Test("A session from a connection made ahead is resumed by another handle, too")
    func ahead() async throws {
        let rig = try await ServerRig.shared()
        let fixture = TransportFixture(trust: .file(rig.certificateAuthorityFile))
        let mark = "ahead"
        let gate = Gate()
        let server = try RawServer(.readHead, .wait(gate), .respond())
        func hold(_ host: String) throws -> TransferRequest {
            try TransportFixture.request("http://\(host):\(server.port)/", at: "127.0.0.1")
        }
        var ahead = try once(rig, mark)
        ahead.stopsBeforeSending = true
        ahead.keepsConnection = true
        #expect(await fixture.failure(of: ahead)?.code == .connectOnly)
        // The handle that connected is taken, then the one that was answered.
        async let first = fixture.fetch(hold("first.test"))
        try await server.awaitConnections { $0.count == 1 }
        try await fixture.fetch(once(rig, mark))
        async let second = fixture.fetch(hold("second.test"))
        try await server.awaitConnections { $0.count == 2 }
        try await fixture.fetch(once(rig, mark))
        gate.open()
        _ = try await (first, second)
        #expect(try await handshakes(rig, 2, mark) == ".r")
        await fixture.transport.shutdown()
    }

    @Test("A proof of identity is a whole handshake", .enabled(if: ServerRig.isAvailable([.openssl])))
    func proof() async throws {
        let server = try await TLSServer(options: ["-state"])
        let fixture = try await TransportFixture.trustingRig()
        let request = try TransportFixture.request("https://one.test:\(server.port)/", at: "127.0.0.1")
        try await fixture.fetch(request)
        var proof = request
        proof.stopsBeforeSending = true
        let failure = try #require(await fixture.failure(of: proof))
        #expect(failure.code == .connectOnly)
        try await fixture.fetch(request)
        // The first and the proof; the last one resumed a session.
        #expect(
            server.report.split(separator: "\n").count { $0.contains("TLS write certificate") } == 2,
            "\(server.report)"
        )
        await fixture.transport.shutdown()
    }
}

struct TLSSessionPoolTests {
    private func used(_ sessions: TLSSessions) -> TLSSessions {
        sessions.noteUse()
        return sessions
    }

    @Test("A session serves one transfer at a time, and waits for the next")
    func exclusive() {
        var pool = TLSSessionPool()
        let first = used(pool.take(nil))
        let second = pool.take(nil)
        #expect(first !== second)
        pool.giveBack(first)
        #expect(pool.take(nil) === first)
        #expect(pool.take(first) !== first)
    }

    @Test("A handle continues with its own session, and no other handle gets it meanwhile")
    func own() {
        var pool = TLSSessionPool()
        let first = used(pool.take(nil))
        let second = used(pool.take(nil))
        pool.giveBack(first)
        pool.giveBack(second)
        #expect(pool.take(first) === first)
        #expect(pool.take(nil) === second)
        #expect(pool.take(nil) !== first)
    }

    @Test("At most four sessions wait, each once")
    func bounded() {
        var pool = TLSSessionPool()
        let taken = (0..<6).map { _ in used(pool.take(nil)) }
        for _ in 0..<2 {
            for sessions in taken { pool.giveBack(sessions) }
        }
        let again = (0..<6).map { _ in pool.take(nil) }
        #expect(again.count { sessions in taken.contains { $0 === sessions } } == 4)
        #expect(again.indices.allSatisfy { index in !again[..<index].contains { $0 === again[index] } })
    }

    @Test("A pool entry without a session gives way to those that have one")
    func empty() {
        var pool = TLSSessionPool()
        let full = used(pool.take(nil))
        let empty = pool.take(nil)
        pool.giveBack(empty)
        #expect(pool.take(nil) !== empty)
        pool.giveBack(full)
        #expect(pool.take(empty) === full)
        #expect(pool.take(empty) === empty)
    }
}
