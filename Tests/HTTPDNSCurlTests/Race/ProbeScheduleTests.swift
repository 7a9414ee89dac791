// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Testing

@testable import HTTPDNSCurl

struct ProbeScheduleTests {
    private static let second: Int64 = 1_000_000_000

    private func schedule(_ interval: Duration, atOnce: Int) -> ProbeSchedule {
        var settings = HTTPDNSTransfer.ActiveProbing()
        settings.interval = interval
        settings.maximumConcurrent = atOnce
        return ProbeSchedule(settings)
    }

    private func request(_ count: Int, host: String = "one.test") throws -> TransferRequest {
        TransferRequest(
            url: try ParsedURL("https://\(host)/"),
            endpoints: (1...count).map { HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 192, 0, 2, UInt8($0)), port: 443) }
        )
    }

    /// There is nothing to do without a request.
    @Test("Endpoints of requests are due for a probe after each interval")
    func interval() throws {
        var schedule = schedule(.seconds(10), atOnce: 4)
        #expect(schedule.nextAt == .max)
        let request = try request(2)
        schedule.used(request.endpoints, by: request, at: 0) { 0 }
        schedule.used(request.endpoints, by: request, at: 5 * Self.second) { 0 }
        #expect(schedule.nextAt == 10 * Self.second)
        #expect(schedule.due(at: 9 * Self.second) { 0 }.isEmpty)
        let due = schedule.due(at: 10 * Self.second) { 0 }
        #expect(Set(due.map(\.endpoint)) == Set(request.endpoints))
        for target in due { schedule.ended(target) }
        #expect(schedule.nextAt == 20 * Self.second)
    }

    @Test(
        "An interval without end is no overflow",
        arguments: [Duration.seconds(Int64.max), .nanoseconds(Int64.max - 1)]
    )
    func endlessInterval(interval: Duration) throws {
        var schedule = schedule(interval, atOnce: 4)
        let request = try request(1)
        for random in [0.0, 1] {
            schedule.used(request.endpoints, by: request, at: 100 * Self.second) { random }
            #expect(schedule.nextAt > .max / 2)
        }
    }

    /// An endpoint of requests of both kinds is probed both ways.
    @Test("Endpoints are probed with and without the client certificate, like requests")
    func certificates() throws {
        var schedule = schedule(.seconds(10), atOnce: 4)
        var request = try request(1)
        schedule.used(request.endpoints, by: request, at: 0) { 0 }
        request.withholdsCertificate = true
        schedule.used(request.endpoints, by: request, at: 0) { 0 }
        #expect(Set(schedule.due(at: 10 * Self.second) { 0 }.map(\.withholdsCertificate)) == [false, true])
    }

    @Test("Probes run up to a limit, and the end of one begins the next")
    func concurrency() throws {
        var schedule = schedule(.seconds(1), atOnce: 3)
        let request = try request(8)
        schedule.used(request.endpoints, by: request, at: 0) { 0 }
        var running = schedule.due(at: Self.second) { 0 }
        var probed = Set(running.map(\.endpoint))
        #expect(running.count == 3 && schedule.nextAt == .max)
        #expect(schedule.due(at: Self.second) { 0 }.isEmpty)
        while probed.count < 8 {
            schedule.ended(running.removeFirst())
            let next = schedule.due(at: Self.second) { 0 }
            try #require(next.count == 1)
            running += next
            probed.insert(next[0].endpoint)
        }
        #expect(running.count == 3)
    }

    @Test("An endpoint that no request names for ten minutes is forgotten")
    func forgetting() throws {
        var schedule = schedule(.seconds(10), atOnce: 9)
        let (one, two) = (try request(2), try request(1, host: "two.test"))
        schedule.used(one.endpoints, by: one, at: 0) { 0 }
        schedule.used(two.endpoints, by: two, at: 300 * Self.second) { 0 }
        let due = schedule.due(at: 700 * Self.second) { 0 }
        #expect(due.map { $0.url.hostText } == ["two.test"] && schedule.count == 1)
        schedule.ended(due[0])
        #expect(schedule.due(at: 2000 * Self.second) { 0 }.isEmpty && schedule.nextAt == .max)
    }
}
