// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSTesting
import Testing

@testable import HTTPDNSCore

struct LatencyTrackTests {
    private let start = HTTPDNSManualClock().now()

    @Test(
        "The 95th percentile is at most a quarter too high, and never too low",
        arguments: [1, 2, 3, 7, 19, 52, 180, 900, 4000]
    )
    func percentile(_ milliseconds: Int) throws {
        var histogram = LatencyHistogram(at: start)
        for _ in 0..<95 { histogram.add(.milliseconds(milliseconds), at: start) }
        for _ in 0..<5 { histogram.add(.seconds(10), at: start) }
        let found = try #require(histogram.percentile95)
        #expect(found > .milliseconds(milliseconds))
        #expect(found <= Duration.milliseconds(milliseconds) * 5 / 4 + Duration.microseconds(100))
        for _ in 0..<5 { histogram.add(.seconds(10), at: start) }
        #expect(try #require(histogram.percentile95) > .seconds(10))
    }

    /// Extreme latencies stay within the buckets.
    @Test("Fewer than five answers have no 95th percentile")
    func few() throws {
        var histogram = LatencyHistogram(at: start)
        for _ in 0..<4 { histogram.add(.milliseconds(10), at: start) }
        #expect(histogram.percentile95 == nil)
        histogram.add(.seconds(1_000_000), at: start)
        #expect(try #require(histogram.percentile95) > .seconds(50))
        var negative = LatencyHistogram(at: start)
        for _ in 0..<5 { negative.add(.milliseconds(-5), at: start) }
        #expect(negative.percentile95 == .microseconds(100))
    }

    @Test("Old latencies are forgotten after more answers, and after time")
    func forgets() throws {
        var busy = LatencyHistogram(at: start)
        for _ in 0..<500 { busy.add(.seconds(1), at: start) }
        for _ in 0..<5000 { busy.add(.milliseconds(10), at: start) }
        #expect(try #require(busy.percentile95) < .milliseconds(13))

        var quiet = LatencyHistogram(at: start)
        for _ in 0..<20 { quiet.add(.seconds(1), at: start) }
        for _ in 0..<20 { quiet.add(.milliseconds(10), at: start + .seconds(86_400)) }
        #expect(try #require(quiet.percentile95) < .milliseconds(13))
    }

    @Test("The mean moves by an eighth for each answer, and by more after a silence")
    func mean() {
        var track = LatencyTrack(at: start)
        #expect(track.mean == nil)
        track.learn(.milliseconds(80), at: start)
        #expect(track.mean == .milliseconds(80))
        track.learn(.milliseconds(160), at: start)
        #expect(track.mean == .milliseconds(90))
        track.learn(.milliseconds(10), at: start + .seconds(30))
        #expect(track.mean == .milliseconds(50))
        #expect(track.knownMean(at: start + .seconds(89)) == .milliseconds(50))
        #expect(track.knownMean(at: start + .seconds(90)) == nil)
    }

    /// It takes back the queries that were not sent.
    @Test("A budget allows a burst of one second, then its rate")
    func budget() {
        var budget = QueryBudget(queriesPerSecond: 4, at: start)
        /// How many can be taken, one after the other.
        func taken(at time: MonotonicTime) -> Int {
            var count = 0
            while budget.take(at: time) { count += 1 }
            return count
        }
        #expect(taken(at: start) == 4)
        #expect(taken(at: start + .milliseconds(249)) == 0)
        #expect(taken(at: start + .milliseconds(250)) == 1)
        budget.giveBack()
        #expect(taken(at: start + .milliseconds(250)) == 1)
        #expect(taken(at: start + .seconds(3600)) == 4)
        for _ in 0..<9 { budget.giveBack() }
        #expect(taken(at: start + .seconds(3600)) == 4)

        budget = QueryBudget(queriesPerSecond: 0.1, at: start)
        #expect(taken(at: start) == 1)
        #expect(taken(at: start + .seconds(9)) == 0)
        #expect(taken(at: start + .seconds(10)) == 1)
    }

    @Test("A queue keeps the order of arrival through any removals")
    func queue() {
        var random = SplitMix(seed: 7)
        var queue = ArrivalQueue<Int>()
        var model: [Int] = []
        for number in 0..<5000 {
            switch Int.random(in: 0..<4, using: &random) {
            case 0, 1:
                queue.append(number)
                model.append(number)
            case 2:
                let (first, expected) = (queue.popFirst(), model.isEmpty ? nil : model.removeFirst())
                #expect(first == expected)
            default:
                let victim = model.randomElement(using: &random) ?? number
                let wasThere = queue.remove(victim)
                #expect(wasThere == model.contains(victim))
                model.removeAll { $0 == victim }
            }
            #expect(queue.count == model.count && queue.isEmpty == model.isEmpty)
        }
        var rest: [Int] = []
        while let next = queue.popFirst() { rest.append(next) }
        #expect(rest == model)
    }
}
