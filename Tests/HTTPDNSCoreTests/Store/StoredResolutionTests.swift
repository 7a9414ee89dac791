// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import HTTPDNSCore

struct StoredResolutionTests {
    private static let day: Int64 = 86_400_000

    /// What the clocks say, and how the answer lives: seconds since it was sent for, seconds left.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// Milliseconds that passed since the answer was received, according to the calendar time.
        var passed: Int64
        var timeToLive: Duration = .seconds(60)
        var staleLimit: Duration = .seconds(3600)
        var maximum: Duration = .seconds(3600)
        /// Nil: it is dropped.
        var age: Duration?
        var left: Duration?

        init(
            _ description: String,
            passed: Int64,
            timeToLive: Duration = .seconds(60),
            staleLimit: Duration = .seconds(3600),
            maximum: Duration = .seconds(3600),
            age: Duration?,
            left: Duration?
        ) {
            testDescription = description
            (self.passed, self.timeToLive, self.staleLimit) = (passed, timeToLive, staleLimit)
            (self.maximum, self.age, self.left) = (maximum, age, left)
        }
    }

    @Test(
        "A restored answer has the time left that the calendar time can vouch for",
        arguments: [
            Case("just received", passed: 0, age: .zero, left: .seconds(60)),
            Case("a millisecond ago", passed: 1, age: .milliseconds(1), left: .milliseconds(59_999)),
            Case("half of its life ago", passed: 30_000, age: .seconds(30), left: .seconds(30)),
            Case("one millisecond left", passed: 59_999, age: .milliseconds(59_999), left: .milliseconds(1)),
            Case("its life ends now", passed: 60_000, age: .seconds(60), left: .zero),
            Case("stale for a minute", passed: 120_000, age: .seconds(120), left: .seconds(-60)),
            Case(
                "stale to the last moment",
                passed: 3_659_999,
                age: .milliseconds(3_659_999),
                left: .milliseconds(-3_599_999)
            ),
            Case("as old as stale answers get", passed: 3_660_000, age: nil, left: nil),
            Case("no stale answers wanted", passed: 60_000, staleLimit: .zero, age: nil, left: nil),
            Case(
                "fresh, no stale answers wanted",
                passed: 59_999,
                staleLimit: .zero,
                age: .milliseconds(59_999),
                left: .milliseconds(1)
            ),
            Case("clock a day ahead now", passed: day, age: nil, left: nil),
            Case("clock set back a little", passed: -20_000, age: .seconds(20), left: .seconds(40)),
            Case("clock set back by more than its life", passed: -90_000, age: .seconds(90), left: .seconds(-30)),
            Case(
                "clock set back by all that is tolerated",
                passed: -300_000,
                timeToLive: .seconds(600),
                age: .seconds(300),
                left: .seconds(300)
            ),
            Case(
                "clock set back by more",
                passed: -300_001,
                timeToLive: .seconds(600),
                age: .seconds(600),
                left: .zero
            ),
            Case("clock a day behind now", passed: -day, age: .seconds(60), left: .zero),
            Case("clock a day behind, no stale answers wanted", passed: -day, staleLimit: .zero, age: nil, left: nil),
            Case(
                "its life is cut to the limit",
                passed: 10_000,
                timeToLive: .seconds(86_400),
                age: .seconds(10),
                left: .seconds(3590)
            ),
            Case(
                "its life is cut, and is over by that",
                passed: 4_000_000,
                timeToLive: .seconds(86_400),
                age: .seconds(4000),
                left: .seconds(-400)
            ),
            Case(
                "endless life",
                passed: 10_000,
                timeToLive: .seconds(Int64.max),
                maximum: .seconds(100),
                age: .seconds(10),
                left: .seconds(90)
            ),
            Case("negative life", passed: 5000, timeToLive: .seconds(-10), age: .seconds(5), left: .seconds(-5)),
            Case("least life", passed: 5000, timeToLive: .nanoseconds(Int64.min), age: .seconds(5), left: .seconds(-5)),
            Case("limit of life below zero", passed: 5000, maximum: .seconds(-1), age: .seconds(5), left: .seconds(-5)),
            Case("stale limit below zero", passed: 60_000, staleLimit: .seconds(-5), age: nil, left: nil),
        ]
    )
    func restored(_ example: Case) throws {
        let wallNow: Int64 = 1_800_000_000_000
        let now = MonotonicTime(nanoseconds: 5_000_000_000)
        let resolution = try HTTPDNSStoredResolution.sample(
            receivedAt: wallNow - example.passed,
            timeToLive: example.timeToLive
        )
        let life = resolution.restored(
            wallNow: wallNow,
            monotonicNow: now,
            staleLimit: example.staleLimit,
            maximumTimeToLive: example.maximum
        )
        #expect(life.map { now - $0.sentAt } == example.age)
        #expect(life.map { $0.expiresAt - now } == example.left)
    }

    /// None of them traps.
    @Test("No clock and no stored figure gives an answer more life than the limits")
    func extremes() throws {
        let moments: [Int64] = [.min, .min + 1, -1, 0, 1, 1_800_000_000_000, .max - 1, .max]
        let durations: [Duration] = [
            .seconds(Int64.min), .nanoseconds(Int64.min), .seconds(-1), .zero, .nanoseconds(1), .seconds(60),
            .nanoseconds(Int64.max), .seconds(Int64.max),
        ]
        for wallNow in moments {
            for receivedAt in moments {
                for monotonic in moments.map(MonotonicTime.init(nanoseconds:)) {
                    for timeToLive in durations {
                        for staleLimit in durations {
                            let life = try HTTPDNSStoredResolution.sample(
                                receivedAt: receivedAt,
                                timeToLive: timeToLive
                            )
                            .restored(
                                wallNow: wallNow,
                                monotonicNow: monotonic,
                                staleLimit: staleLimit,
                                maximumTimeToLive: .seconds(3600)
                            )
                            guard let life else { continue }
                            guard life.sentAt <= monotonic, life.expiresAt <= monotonic + .seconds(3600) else {
                                Issue.record(
                                    "\(wallNow) \(receivedAt) \(monotonic) \(timeToLive) \(staleLimit): \(life)"
                                )
                                continue
                            }
                        }
                    }
                }
            }
        }
        let far = try HTTPDNSStoredResolution.sample(receivedAt: .max)
        let now = MonotonicTime(nanoseconds: 0)
        let life = far.restored(
            wallNow: .min,
            monotonicNow: now,
            staleLimit: .seconds(1),
            maximumTimeToLive: .seconds(9)
        )
        #expect(life?.sentAt == now + .seconds(-9) && life?.expiresAt == now)
    }

    /// Answers that differ in any part of the key stay apart.
    @Test("Of several answers with one key the newest counts")
    func freshest() throws {
        var answers = try [5, 9, 7].map { try HTTPDNSStoredResolution.sample(receivedAt: $0) }
        answers[0].addresses = [HTTPDNSAddress(v4: 192, 0, 2, 1)]
        var subnet = try HTTPDNSStoredResolution.sample(receivedAt: 3)
        subnet.clientSubnet = HTTPDNSAddressBlock("192.0.2.0/24")
        var route = try HTTPDNSStoredResolution.sample(receivedAt: 2)
        route.route = "other"
        let v6 = try HTTPDNSStoredResolution.sample(families: .both, receivedAt: 1)
        let expected = [answers[1], subnet, route, v6]
        #expect(HTTPDNSStoredResolution.freshest(of: [v6, route] + answers + [subnet], limit: 10) == expected)
        #expect(
            HTTPDNSStoredResolution.freshest(of: [v6, route] + answers + [subnet], limit: 2)
                == Array(expected.prefix(2))
        )
    }
}
