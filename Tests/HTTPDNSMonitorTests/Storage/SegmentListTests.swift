// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import HTTPDNSMonitor

struct SegmentListTests {
    private static func at(bytes: Int64 = .max, records: Int = .max, age: Int64 = .max) -> SegmentList.Limits {
        SegmentList.Limits(bytes: bytes, records: records, age: age)
    }

    /// Limits, with the least that must be kept of 1,000 records of 10 bytes, one each second.
    struct Bound: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var limits: SegmentList.Limits
        var records: ClosedRange<Int>
    }

    private static let samples: [Bound] = [
        Bound(testDescription: "bytes", limits: Self.at(bytes: 1000), records: 80...100),
        Bound(testDescription: "records", limits: Self.at(records: 80), records: 70...80),
        Bound(testDescription: "few records", limits: Self.at(records: 3), records: 3...3),
        Bound(testDescription: "one record", limits: Self.at(records: 1), records: 1...1),
        Bound(testDescription: "age", limits: Self.at(age: 80_000), records: 80...91),
        Bound(testDescription: "none", limits: Self.at(), records: 1000...1000),
    ]

    @Test("No limit is exceeded at any time, and most of it is used", arguments: samples)
    func limits(_ bound: Bound) throws {
        var list = SegmentList(bound.limits, [])
        var files: [UInt64: Int64] = [:]
        for second in 0..<1000 {
            let placed = list.place(10, at: Int64(second) * 1000)
            let placement = try #require(placed)
            for number in placement.removed { #expect(files.removeValue(forKey: number) != nil) }
            #expect(files[placement.segment, default: 0] == placement.offset)
            files[placement.segment, default: 0] += 10
            #expect(list.bytes <= bound.limits.bytes && list.records <= bound.limits.records)
            #expect(files.values.reduce(0, +) == list.bytes && files.count == list.segments.count)
        }
        #expect(bound.records.contains(list.records), "\(list.records)")
    }

    @Test("A record above the limit is refused, and one that was not written is withdrawn")
    func refused() throws {
        var list = SegmentList(Self.at(bytes: 100), [])
        let refused = list.place(101, at: 0)
        #expect(refused == nil && list.segments.isEmpty)
        let placed = list.place(60, at: 0)
        list.withdraw(60, from: try #require(placed))
        #expect(list.bytes == 0 && list.records == 0)
        let next = list.place(10, at: 0)
        #expect(next?.offset == 0)
    }

    @Test("Files that are there are continued in their order, and old ones are removed")
    func continued() {
        let segments = [3, 1, 2].map { number in
            let time = Int64(number) * 1000
            return SegmentList.Segment(number: UInt64(number), bytes: 10, records: 1, firstTime: time, lastTime: time)
        }
        var list = SegmentList(Self.at(age: 10_000), segments)
        let removed = list.removeOld(at: 12_500)
        let next = list.place(10, at: 12_500)
        #expect(removed == [1, 2] && next?.segment == 4)
        var young = SegmentList(Self.at(), segments)
        let continued = young.place(10, at: 3000)
        #expect(continued == SegmentList.Placement(segment: 3, offset: 10, removed: []))
    }
}
