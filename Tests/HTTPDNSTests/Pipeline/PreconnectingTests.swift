// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSCurl
import HTTPDNSTesting
import Logging
import ServerRig
import Testing

struct PreconnectingTests {
    @Test("Connections made ahead obey the limits of requests")
    func limits() async throws {
        let gate = Gate()
        let busy = Occupancy()
        let wire = ScriptedWire { request, _ in
            busy.enter()
            await gate.passage()
            busy.leave()
            var held = TransferFailure(code: .connectOnly, phase: .connect, message: "held back")
            held.endpoint = request.endpoints[0]
            throw held
        }
        let rig = try Rig(wire: wire) { $0.connections.maximumPerHost = 8 }
        async let endpoints = rig.client.preconnect(to: "https://one.test/", connections: 64)
        while rig.client.requestsWaiting != 56, rig.wire.requests.count <= 8, !Task.isCancelled { await Task.yield() }
        #expect(rig.wire.requests.count == 8)
        gate.open()
        #expect(try await endpoints.count == 64)
        #expect(busy.most == 8)
        #expect(rig.client.requestsWaiting == 0)
    }

    @Test("A failed preconnect has the elapsed time and a log line, as a call has")
    func errors() async throws {
        let log = RecordedLog()
        let wire = ScriptedWire { _, _ in
            throw TransferFailure(code: .connectFailed, phase: .connect, message: "refused")
        }
        let rig = try Rig(wire: wire) { $0.logger = log.logger(.debug) }
        let refused = await clientError { try await rig.client.preconnect(to: "https://one.test/") }
        #expect(refused?.code == .connectFailed && (refused?.elapsed ?? .zero) > .zero)
        try await rig.client.shutdown()
        let late = await clientError { try await rig.client.preconnect(to: "https://one.test/") }
        #expect(late?.code == .shutDown && (late?.elapsed ?? .zero) > .zero)
        #expect(log.messages.count { $0 == "request failed" } == 2, "\(log.messages)")
    }
}
