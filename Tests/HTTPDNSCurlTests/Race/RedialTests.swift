// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Glibc
import HTTPDNSCurl
import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Testing

/// Kept connections that end under a request while an attempt at another endpoint is still under way.
struct RedialTests {
    @Test("A failed redial does not begin an endpoint again whose attempt still runs")
    func attemptBesideRedial() async throws {
        // Its connections neither stand nor fail until packets are let through.
        let slow = try RawServer(
            address: "127.0.0.2",
            .readHead,
            .sendText("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\naaaaa"),
            .pause(.seconds(1)),
            .sendText("bbbbb"),
            .hang
        )
        let old = try RawServer(address: "127.0.0.3", .readHead, .respond("ok"), .hangWithoutReading)
        var configuration = TransportConfiguration()
        configuration.attemptDelay = .milliseconds(250)
        let fixture = TransportFixture(Transport(configuration))
        let second = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 3), port: old.port)
        var request = try TransportFixture.request(to: slow) { $0.connect = .seconds(120) }
        let first = request.endpoints[0]
        request.endpoints = [second]
        try await fixture.fetch(request)
        // The next send on the kept connection fails, libcurl dials again, and is refused.
        let descriptors = SocketCount.descriptors(connectedTo: old.port, at: "127.0.0.3")
        #expect(descriptors.count == 1)
        for descriptor in descriptors { shutdown(descriptor, Int32(SHUT_WR)) }
        try await old.refuse()
        try await slow.swallow(.ofNewConnections)
        request.endpoints = [first, second]
        async let answer = fixture.fetch(request)
        // The kernel repeats the first packet of a connection after a second.
        while fixture.transport.endpointRecords.first(where: { $0.endpoint == second })?.state != .cooling {
            try await Task.sleep(for: .milliseconds(10))
        }
        try await slow.restore()
        let (response, body) = try await answer
        #expect(response.endpoint == first)
        #expect(String(decoding: body, as: UTF8.self) == "aaaaabbbbb")
        #expect(slow.connections.count == 1)
        #expect(slow.count(of: "GET / ") == 1)
        await fixture.transport.shutdown()
    }
}
