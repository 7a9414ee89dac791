// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSTesting
import ServerRig
import Testing

@testable import HTTPDNSMonitor

struct RecordRingTests {
    /// Limits, and the records that are left of 200 with 10 bytes and one second between them.
    struct Bound: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var records = Int.max
        var bytes = Int.max
        var age = Duration.seconds(100_000)
        var left: ClosedRange<UInt64>
    }

    private static let bounds = [
        Bound(testDescription: "number", records: 3, left: 197...199),
        Bound(testDescription: "bytes", bytes: 75, left: 193...199),
        Bound(testDescription: "age", age: .seconds(5), left: 194...199),
        Bound(testDescription: "none", left: 0...199),
    ]

    @Test("The oldest records are removed above each limit", arguments: bounds)
    func limits(_ bound: Bound) {
        var ring = RecordRing(RecordRing.Limits(records: bound.records, bytes: bound.bytes, age: bound.age))
        for number in 0..<200 {
            let time = MonotonicTime(nanoseconds: Int64(number) * 1_000_000_000)
            _ = ring.append(RecordRing.Entry(.record(.call(UInt64(number))), bytes: 10, time: time))
        }
        #expect(ring.contents.map(\.callID) == Array(bound.left))
        #expect(ring.count == bound.left.count && ring.bytes == bound.left.count * 10)
        _ = ring.removeAll()
        #expect(ring.contents.isEmpty && ring.bytes == 0)
    }

    @Test("A record above the limit of bytes is not stored, and removes nothing")
    func tooLong() {
        var ring = RecordRing(RecordRing.Limits(records: 10, bytes: 50, age: .seconds(10)))
        let now = MonotonicTime(nanoseconds: 0)
        _ = ring.append(RecordRing.Entry(.record(.call(1)), bytes: 40, time: now))
        _ = ring.append(RecordRing.Entry(.record(.call(2)), bytes: 51, time: now))
        #expect(ring.contents.map(\.callID) == [1])
    }

    @Test("Old records are gone when records are read, and bytes stay below the limit")
    func monitorLimits() async throws {
        let clock = HTTPDNSManualClock()
        let settings = Monitor.Settings.with {
            $0.maximumAge = .seconds(60)
            $0.maximumBytes = .kibibytes(64)
            $0.responseBodyLimit = .kibibytes(64)
        }
        let monitor = try Monitor(settings, time: clock, clock: .system)
        let stubs = HTTPDNSStubs()
        stubs.on(.get, path: "/a").respond(.text(String(repeating: "a", count: 10_000)))
        let client = try await HTTPDNSClient(configuration: .stubbed(stubs))
        monitor.start(on: client)
        for _ in 0..<50 { _ = try await client.get("http://one.test/a").body.collect(upTo: .mebibytes(1)) }
        #expect((2...6).contains(monitor.records.count))
        #expect(monitor.storedBytes <= .kibibytes(64) && monitor.storedBytes > .kibibytes(20))
        clock.advance(by: .seconds(61))
        #expect(monitor.records.isEmpty && monitor.storedBytes == .bytes(0))
        #expect(monitor.counters.calls.calls == 50)
        try await client.shutdown()
    }
}

extension RecordRing.Content {
    fileprivate var callID: UInt64? {
        if case .record(let record) = self { record.callID } else { nil }
    }
}
