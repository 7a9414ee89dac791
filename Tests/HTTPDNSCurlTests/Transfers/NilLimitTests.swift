// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNSCurl
import HTTPDNSPrimitives
import ServerRig
import Testing

/// Limits that are nil, with libcurl's own of 300 s in real time: 5 minutes, with `HTTPDNS_TEST_LONG=1` (`make endurance`).
@Suite(
    "Limits that are nil",
    .enabled(if: ProcessInfo.processInfo.environment["HTTPDNS_TEST_LONG"] == "1")
)
struct NilLimitTests {
    @Test(
        "A TLS handshake without a limit outlives libcurl's own limit of 300 s",
        arguments: [nil, Duration.seconds(400)]
    )
    func handshake(limit: Duration?) async throws {
        // The beginning of a TLS record, at which libcurl looks at its limits.
        let server = try RawServer(.pause(.seconds(304)), .send([0x16, 0x03]), .hang)
        let fixture = TransportFixture()
        let request = try TransportFixture.request("https://one.test:\(server.port)/", at: "127.0.0.1") {
            ($0.connect, $0.tls) = (limit, limit)
            $0.deadline = SystemTimeSource().now() + .seconds(310)
        }
        let failure = try #require(await fixture.failure(of: request))
        #expect(failure.code == .timedOut && failure.phase == .total && failure.reached == .tls, "\(failure)")
        #expect(failure.elapsed >= .seconds(310))
        await fixture.transport.shutdown()
    }
}
