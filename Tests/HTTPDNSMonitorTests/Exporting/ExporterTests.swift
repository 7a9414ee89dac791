// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import HTTPDNSTesting
import Logging
import ServerRig
import Testing

@testable import HTTPDNSMonitor

struct ExporterTests {
    private typealias Exporter = HTTPDNSTrafficMonitor.Exporter

    private struct Down: Error {}

    /// The batches in what clients sent to a collector.
    private func batches(_ collector: RawServer) throws -> [(id: String, calls: [UInt64])] {
        try collector.text.split(separator: "POST ").map { request in
            let parts = request.components(separatedBy: "\r\n\r\n")
            let line = try #require(
                parts[0].split(separator: "\r\n").first { $0.lowercased().hasPrefix("idempotency-key:") }
            )
            let records = try parts[1].split(separator: "\n").map { try RecordJSON.record(Array($0.utf8)) }
            return (String(line.dropFirst(16).drop { $0 == " " }), records.map(\.callID))
        }
    }

    @Test("After 30 s without a collector records arrive once, and no export is recorded")
    func outage() async throws {
        let server = try RawServer(.serve("hello"))
        let gone = try RawServer(.hang)
        try await gone.refuse()
        let clock = HTTPDNSManualClock()
        var limits = Exporter.Limits()
        (limits.batchRecords, limits.interval) = (10, .seconds(2))
        let log = RecordedLog()
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.mappings = [
            try HTTPDNSMapping.Key("one.test"): .addresses(["127.0.0.1:\(server.port)"]),
            try HTTPDNSMapping.Key("collector.test"): .addresses(["127.0.0.1:\(gone.port)"]),
        ]
        let client = try await HTTPDNSClient(configuration: configuration)
        let collector = try Exporter.Collector("http://collector.test/traffic", client, [.authorization: "Bearer x"])
        let exporter = Exporter(limits: limits, logger: log.logger(.warning), time: clock, random: { 1 }) {
            try await collector.take($0)
        }
        let monitor = try Monitor(.with { $0.exporter = exporter })
        monitor.start(on: client)
        for number in 0..<30 {
            for call in 0..<2 {
                let response = try await client.get("http://one.test/\(number)/\(call)")
                _ = try await response.body.collect(upTo: .kibibytes(1))
            }
            await clock.sleepers(atLeast: 1)
            clock.advance(by: .seconds(1))
        }
        await clock.sleepers(atLeast: 1)
        #expect((4...6).contains(exporter.counters.failures), "1 + 2 + 4 + 8 + 16 s: \(exporter.counters)")
        #expect(exporter.counters.exported == 0 && exporter.waitingCount == 60)
        let up = try RawServer(port: gone.port, .serve("", status: "204 No Content"))
        clock.advance(by: .seconds(60))
        // What is left waits for its interval.
        await exporter.flush()
        let found = try batches(up)
        #expect(found.flatMap(\.calls) == monitor.records.map(\.callID) && found.flatMap(\.calls).count == 60)
        // The first batch was not full when its time came, and stays as it is.
        #expect(Set(found.map(\.id)).count == found.count && found.count == 7, "\(found)")
        #expect(up.count(of: "Bearer x") == found.count)
        #expect(exporter.counters.exported == 60 && exporter.counters.dropped == 0 && exporter.waitingCount == 0)
        #expect(
            monitor.counters.calls.calls == 60 && monitor.records.allSatisfy { $0.url.hasPrefix("http://one.test/") }
        )
        #expect(log.messages == ["traffic records cannot be exported"])
        try await client.shutdown()
    }

    @Test("A receiver that blocks or throws costs one warning, and no call waits for it", arguments: [true, false])
    func broken(isBlocked: Bool) async throws {
        let server = try RawServer(.serve("hello"))
        let (log, gate) = (RecordedLog(), DispatchSemaphore(value: 0))
        var limits = Exporter.Limits()
        (limits.batchRecords, limits.maximumWaiting) = (1, 50)
        (limits.firstBackoff, limits.longestBackoff) = (.milliseconds(1), .milliseconds(1))
        let exporter = Exporter(limits: limits, logger: log.logger(.warning)) { _ in
            if isBlocked { gate.wait() }
            throw Down()
        }
        let monitored = try await MonitoredClient(["one.test": server.port], .with { $0.exporter = exporter })
        for _ in 0..<200 { #expect(await monitored.get("http://one.test/") == Array("hello".utf8)) }
        #expect(monitored.monitor.counters.records == 200 && exporter.waitingCount == 50)
        #expect(exporter.counters.dropped == 150 && exporter.counters.exported == 0)
        for _ in 0..<300 { gate.signal() }
        await exporter.flush()
        #expect(log.messages == ["traffic records cannot be exported"])
        await exporter.close(within: .milliseconds(200))
        #expect(exporter.waitingCount == 0 && exporter.counters.dropped == 200)
        try await monitored.client.shutdown()
    }

    @Test(
        "The status of a collector decides whether a batch is sent again",
        arguments: [
            ("200 OK", 1, 0, 0), ("204 No Content", 1, 0, 0), ("429 Too Many Requests", 0, 0, 1),
            ("503 Service Unavailable", 0, 0, 1), ("400 Bad Request", 0, 1, 0), ("301 Moved Permanently", 0, 1, 0),
            ("413 Content Too Large", 0, 1, 0),
        ]
    )
    func status(_ status: String, exported: Int, dropped: Int, failures: Int) async throws {
        let collector = try RawServer(.serve("", status: status, fields: "Retry-After: 7\r\nLocation: /b\r\n"))
        let clock = HTTPDNSManualClock()
        let client = try await MonitoredClient(["collector.test": collector.port]).client
        let receiver = try Exporter.Collector("http://collector.test/a", client, [:])
        let exporter = Exporter(time: clock, random: { 1 }) { try await receiver.take($0) }
        exporter.append(.call(1), bytes: 10)
        await exporter.flush()
        let counters = exporter.counters
        #expect((counters.exported, counters.dropped, counters.failures) == (exported, dropped, failures))
        #expect(collector.count(of: "POST /a") == 1)
        if failures > 0 {
            await clock.sleepers(atLeast: 1)
            clock.advance(by: .seconds(6.9))
            // The wait has not ended: a sending after it would have ended its sleep.
            #expect(clock.sleeperCount == 1 && collector.count(of: "POST /a") == 1, "Retry-After is 7 s")
            clock.advance(by: .seconds(0.1))
            try await collector.awaitConnections { $0.reduce(0) { $0 + $1.text.ranges(of: "POST /a").count } == 2 }
        }
        try await client.shutdown()
    }

    @Test("Closing sends what waits, and drops what has not arrived in time")
    func close() async throws {
        let arrived = Journal<UInt64>()
        let exporter = Exporter { batch in for record in batch.records { arrived.write(record.callID) } }
        for id in 1...250 { exporter.append(.call(UInt64(id)), bytes: 10) }
        await exporter.close(within: .seconds(60))
        #expect(arrived.all == Array(1...250))
        exporter.append(.call(251), bytes: 10)
        #expect(exporter.waitingCount == 0 && exporter.counters.exported == 250 && exporter.counters.dropped == 1)

        let gate = Gate()
        let hanging = Exporter { _ in await gate.passage() }
        hanging.append(.call(1), bytes: 10)
        let duration = await ContinuousClock().measure { await hanging.close(within: .milliseconds(200)) }
        #expect(duration > .milliseconds(200) && duration < .seconds(600))
        #expect(hanging.counters.dropped == 1 && hanging.waitingCount == 0)
        gate.open()
    }

    @Test("Closing sends a batch again while there is time")
    func closeAfterFailure() async throws {
        let collector = try RawServer(
            .readHead,
            .respond("", status: "503 Service Unavailable"),
            .serve("", status: "204 No Content")
        )
        let client = try await MonitoredClient(["collector.test": collector.port]).client
        var limits = Exporter.Limits()
        limits.firstBackoff = .milliseconds(1)
        let exporter = try Exporter(to: "http://collector.test/a", through: client, limits: limits)
        for id in 1...3 { exporter.append(.call(UInt64(id)), bytes: 10) }
        await exporter.close(within: .seconds(60))
        let counters = exporter.counters
        #expect((counters.exported, counters.dropped, counters.failures) == (3, 0, 1))
        #expect(collector.count(of: "POST /a") == 2)
        try await client.shutdown()
    }

    @Test(
        "A delay that a receiver throws sets the time of the next attempt",
        arguments: [7, nil]
    )
    func delay(seconds: Int64?) async throws {
        let (clock, attempts, second) = (HTTPDNSManualClock(), Journal<Int>(), Gate())
        let exporter = Exporter(time: clock, random: { 1 }) { batch in
            attempts.write(batch.attempt)
            guard batch.attempt > 1 else { throw Exporter.Delay("busy", retryAfter: seconds.map { .seconds($0) }) }
            second.open()
        }
        exporter.append(.call(1), bytes: 10)
        await exporter.flush()
        await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(Double(seconds ?? 1) - 0.1))
        #expect(clock.sleeperCount == 1 && attempts.all == [1])
        clock.advance(by: .seconds(0.1))
        await second.passage()
        await exporter.close(within: .seconds(60))
        #expect(attempts.all == [1, 2] && exporter.counters.exported == 1)
    }

    @Test("A collector without a valid URL, or with user information in it, is refused")
    func url() async throws {
        let client = try await HTTPDNSClient()
        let secret = #expect(throws: HTTPDNSClientError.self) {
            try Exporter(to: "https://user:canary@collector.test/a", through: client)
        }
        #expect(secret?.code == .configuration && secret.map { "\($0)".contains("canary") } == false)
        let error = #expect(throws: HTTPDNSClientError.self) { try Exporter(to: "collector.test", through: client) }
        #expect(error?.code == .configuration && error?.hint?.contains("https://") == true)
        try await client.shutdown()
    }
}
