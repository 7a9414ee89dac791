// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS

@testable import HTTPDNSMonitor

extension HTTPDNSTrafficMonitor.Hop {
    /// A hop to `one.test` on a new connection, after an address that failed. Its phases take 10, 1, 2, 3 and 20 ms.
    static func sample(_ change: (inout Self) -> Void = { _ in }) -> Self {
        var hop = Self(
            number: 0,
            offset: .milliseconds(4),
            duration: .milliseconds(40),
            method: "GET",
            url: "https://one.test/a?b=c",
            route: "*.test",
            requestFields: [.accept: "text/plain"],
            isAnsweredInProcess: false,
            isMerged: false,
            status: 200,
            reason: "OK",
            responseFields: [.contentType: "text/plain"],
            version: "HTTP/2",
            tls: Monitor.TLSParameters(version: "TLSv1.3", cipherSuite: "TLS_AES_128_GCM_SHA256"),
            addresses: Monitor.AddressChoice(
                source: "provider",
                provider: "city-dns",
                age: .seconds(12),
                timeLeft: .seconds(41),
                isStale: false,
                candidates: ["203.0.113.6:443", "203.0.113.7:443"],
                attempts: [
                    Monitor.Attempt(
                        endpoint: "203.0.113.6:443",
                        phase: "connect",
                        failure: "Connection refused",
                        elapsed: .milliseconds(1)
                    )
                ],
                endpoint: "203.0.113.7:443"
            ),
            reusedConnection: false,
            isHedged: false,
            phases: Monitor.Phases(
                resolve: .milliseconds(10),
                race: .milliseconds(1),
                connect: .milliseconds(2),
                tls: .milliseconds(3),
                firstByte: .milliseconds(20),
                total: .milliseconds(36)
            ),
            bytes: Monitor.Bytes(requestHead: 100, requestBody: 0, responseHead: 50, responseBody: 5, decodedBody: 5)
        )
        change(&hop)
        return hop
    }
}

extension HTTPDNSTrafficMonitor.Record {
    /// A call of 60 ms that began at 2026-11-24 14:02:11.042 UTC.
    static func sample(
        _ hops: [HTTPDNSTrafficMonitor.Hop] = [.sample()],
        _ change: (inout Self) -> Void = { _ in }
    ) -> Self {
        var record = Self(
            callID: 7,
            startTime: 1_795_528_931_042,
            method: "GET",
            url: hops.first?.url ?? "https://one.test/",
            outcome: "finished",
            status: hops.last?.status,
            duration: .milliseconds(60),
            timeToHead: .milliseconds(44),
            redirects: 0,
            retries: 0,
            bodyBytes: 5,
            isBodyComplete: true,
            hops: hops
        )
        change(&record)
        return record
    }

    /// A call that failed with its only hop.
    static func failed(
        at time: Int64 = 1_795_528_931_042,
        _ url: String = "https://gone.test/",
        message: String = "refused"
    ) -> Self {
        let failure = Monitor.Failure(code: "connect-failed", phase: "connect", message: message)
        let hop = HTTPDNSTrafficMonitor.Hop.sample { hop in
            hop.url = url
            hop.status = nil
            hop.reason = ""
            hop.version = nil
            hop.tls = nil
            hop.failure = failure
            hop.addresses.endpoint = nil
            hop.phases = Monitor.Phases(resolve: .milliseconds(10))
        }
        return .sample([hop]) { record in
            record.startTime = time
            record.outcome = "failed"
            record.failure = failure
            record.bodyBytes = 0
        }
    }
}
