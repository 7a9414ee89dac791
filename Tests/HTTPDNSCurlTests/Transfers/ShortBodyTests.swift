// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Glibc
import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Synchronization
import Testing

@testable import HTTPDNSCurl

/// Bodies in memory that libcurl sends together with the head of their request.
struct ShortBodyTests {
    /// Each call of `send` makes one, since TCP_NODELAY is set and loopback has packets of 64 KiB.
    private func packetsSent(on descriptor: Int32) -> UInt32 {
        var info = [UInt32](repeating: 0, count: 64)
        var length = socklen_t(info.count * MemoryLayout<UInt32>.size)
        let result = getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &info, &length)
        // `tcpi_data_segs_out` of linux/tcp.h, which is not in glibc's `tcp_info`.
        #expect(result == 0 && length >= 160)
        return info[39]
    }

    @Test("A short body is in one packet with its head", arguments: [1, 1_024, MethodOptions.maximumWithHead])
    func packets(length: Int) async throws {
        let opened = OpenedDescriptor()
        var configuration = TransportConfiguration()
        configuration.system.localPort = {
            opened.number.store($0, ordering: .relaxed)
            return localPort(of: $0)
        }
        let server = try RawServer(.readHead, .respond("one"), .readHead, .read(length), .respond("two"), .hang)
        let fixture = TransportFixture(Transport(configuration))
        try await fixture.fetch(TransportFixture.request(to: server))
        let descriptor = opened.number.load(ordering: .relaxed)
        let before = packetsSent(on: descriptor)
        let body = RequestBodySource.bytes([UInt8](repeating: UInt8(ascii: "b"), count: length))
        let request = try TransportFixture.request(to: server, method: .post, body: body)
        let (response, text) = try await fixture.fetch(request)
        #expect(response.reusedConnection && text == Array("two".utf8))
        #expect(packetsSent(on: descriptor) - before == 1)
        await fixture.transport.shutdown()
    }

    /// The descriptor of the connection that a request has reached.
    private final class OpenedDescriptor: Sendable {
        let number = Atomic<Int32>(-1)
    }

    @Test(
        "A short body adds no field, and changes no method",
        arguments: [HTTPRequest.Method.post, .put, .patch, .delete],
        [nil, "text/plain"]
    )
    func fields(method: HTTPRequest.Method, type: String?) async throws {
        let server = try RawServer(.readHead, .read(5), .respond("ok"), .hang)
        let fixture = TransportFixture()
        var request = try TransportFixture.request(to: server, method: method, body: .bytes(Array("hello".utf8)))
        request.decodes = false
        request.headerFields[.contentType] = type
        try await fixture.fetch(request)
        let fields = type.map { "Content-Type: \($0)\r\n" } ?? ""
        let expected = [
            "\(method.rawValue) / HTTP/1.1\r\nHost: one.test:\(server.port)\r\nAccept: */*\r\n",
            "Content-Length: 5\r\n\r\nhello",
        ]
        let received = try #require(server.connections.first).text
        #expect(received.lowercased() == (expected[0] + fields + expected[1]).lowercased())
        #expect(received.hasPrefix(method.rawValue))
        await fixture.transport.shutdown()
    }
}
