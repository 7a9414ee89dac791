// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Testing

@testable import HTTPDNSCurl

struct AnnouncedKeepAliveTests {
    private static let second: Int64 = 1_000_000_000

    private func limits(_ value: String) -> AnnouncedKeepAlive {
        var limits = AnnouncedKeepAlive()
        var line = "Keep-Alive: \(value)\r\n"
        line.withUTF8 { limits.read(UnsafeRawBufferPointer($0)) }
        return limits
    }

    @Test(
        "A connection is left a round trip and a margin before its announced end",
        arguments: [
            ("timeout=5", 0, 4_750), ("timeout=5, max=100", 50, 4_700), ("TIMEOUT = \"5\" ,x=1", 50, 4_700),
            ("timeout=1", 60, 690), ("timeout=1", 900, 500), ("timeout=0", 0, 0), ("timeout=60", 40_000, 30_000),
            ("max=1", 0, nil), ("", 0, nil), ("5", 0, nil), ("timeout", 0, nil), ("timeout=", 0, nil),
            ("timeout=-1", 0, nil),
            ("timeout=x", 0, nil), ("timeout=99999999999999999999", 0, nil), ("timeout=99999999999", 0, nil),
        ] as [(String, Int64, Int64?)]
    )
    func timeout(value: String, roundTrip: Int64, end: Int64?) {
        var connection = AnnouncedKeepAlive()
        connection.note(limits(value), roundTrip: roundTrip * 1_000_000)
        #expect(connection.end(idleSince: 7) == end.map { $0 * 1_000_000 + 7 } ?? .max)
    }

    @Test("The shortest round trip counts, and limits that are not repeated still apply")
    func later() {
        var connection = AnnouncedKeepAlive()
        connection.note(limits("timeout=5, max=2"), roundTrip: Self.second)
        #expect(connection.end(idleSince: 0) == 3_750_000_000)
        connection.note(limits(""), roundTrip: Self.second / 2)
        #expect(connection.end(idleSince: 0) == 4_250_000_000)
        connection.note(limits(""), roundTrip: Self.second)
        #expect(connection.end(idleSince: 0) == .min, "two further requests were announced")
        connection.note(limits("timeout=10, max=1"), roundTrip: Self.second)
        #expect(connection.end(idleSince: 0) == 9_250_000_000)
    }

    /// The announced times have passed when the response ends, so that the test does not wait.
    @Test(
        "A connection takes as many requests as its server announced",
        arguments: [("max=2", 3), ("timeout=0", 1), ("max=0", 1), ("timeout=600", 4), ("x", 4)]
    )
    func requests(value: String, count: Int) async throws {
        let first = "HTTP/1.1 200 OK\r\nKeep-Alive: \(value)\r\nContent-Length: 2\r\n\r\nok"
        let server = try RawServer { number in
            number == 0 ? [.readHead, .sendText(first), .serve("ok")] : [.serve("ok")]
        }
        let fixture = TransportFixture()
        let request = try TransportFixture.request(to: server, method: .post)
        for number in 0..<5 {
            let response = try await fixture.fetch(request).response
            #expect(response.reusedConnection == (number > 0 && (number != count || count == 4)), "request \(number)")
        }
        let connections = try await server.awaitConnections { $0.count == 1 || $0[0].isClosedByClient }
        #expect(connections.count == (count == 4 ? 1 : 2))
        await fixture.transport.shutdown()
    }

    /// Its idle time may have begun before the reader took the last bytes.
    @Test("A connection whose body was read slowly is not used at its announced end")
    func slowReader() async throws {
        let size = 8 * Transfer.window
        let head = "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1\r\nContent-Length: \(size)\r\n\r\n"
        let sent = Gate()
        let server = try RawServer { number in
            number == 0
                ? [.readHead, .sendText(head), .send(Array(repeating: 1, count: size)), .open(sent), .serve("ok")]
                : [.serve("ok")]
        }
        let fixture = TransportFixture()
        let response = try await fixture.send(TransportFixture.request(to: server))
        // The reader begins once the announced time has passed, however slow the machine is.
        try await SystemTimeSource().sleep(until: SystemTimeSource().now() + .milliseconds(1_100))
        for try await _ in response.body {}
        #expect(try await fixture.fetch(TransportFixture.request(to: server)).response.reusedConnection == false)
        await fixture.transport.shutdown()
    }
}
