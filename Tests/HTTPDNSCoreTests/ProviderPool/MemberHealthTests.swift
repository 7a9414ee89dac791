// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSTesting
import Testing

@testable import HTTPDNSCore

struct MemberHealthTests {
    /// A provider's health with a clock and numbers for queries.
    private struct Subject {
        var health: MemberHealth
        var now: MonotonicTime
        private var lastQuery: UInt64 = 0

        init() {
            now = HTTPDNSManualClock().now()
            health = MemberHealth(hedgeAfter: .milliseconds(50), attemptLimit: .seconds(1), at: now)
        }

        var standing: MemberHealth.Standing { health.standing(at: now) }
        var restLeft: Duration? { health.rest.map { $0.until - now } }

        mutating func pass(_ duration: Duration) { now = now + duration }

        mutating func send() -> (id: UInt64, at: MonotonicTime) {
            lastQuery += 1
            health.sent(lastQuery, isProbe: standing == .probeDue, at: now)
            return (lastQuery, now)
        }

        mutating func succeed(_ query: (id: UInt64, at: MonotonicTime)) {
            health.succeeded(query.id, latency: now - query.at, at: now)
        }

        mutating func fail(
            _ query: (id: UInt64, at: MonotonicTime),
            _ code: HTTPDNSProviderError.Code = .httpStatus,
            about host: String = "img.test",
            retryAfter: Duration? = nil,
            limit: Duration = .seconds(1),
            jitter: UInt64 = 1000
        ) throws {
            health.failed(
                query.id,
                HTTPDNSProviderError(code: code, message: "why", retryAfter: retryAfter),
                about: try HTTPDNSName(host),
                sentAt: query.at,
                limit: limit,
                jitter: jitter,
                at: now
            )
        }
    }

    /// Any answer ends that.
    @Test("A provider is suspect while a query is unanswered beyond the hedge delay")
    func suspects() {
        var subject = Subject()
        let first = subject.send()
        subject.pass(.milliseconds(50))
        #expect(subject.standing == .healthy)
        subject.pass(.milliseconds(1))
        #expect(subject.standing == .suspect)
        let second = subject.send()
        subject.succeed(second)
        #expect(subject.standing == .healthy)
        // The first is still owed, but the provider spoke since.
        subject.pass(.seconds(1))
        #expect(subject.standing == .healthy)
        subject.succeed(first)
        #expect(subject.standing == .healthy)
    }

    @Test("A query is overdue after eight usual latencies if other queries are answered")
    func overdue() throws {
        var subject = Subject()
        func isOverdue(_ query: (id: UInt64, at: MonotonicTime), after time: Duration) -> Bool {
            subject.health.isOverdue(sentAt: query.at, at: query.at + time)
        }
        let first = subject.send()
        #expect(!isOverdue(first, after: .milliseconds(999)) && isOverdue(first, after: .seconds(1)))
        for _ in 0..<5 { subject.succeed(subject.send()) }
        #expect(!isOverdue(first, after: .milliseconds(999)), "the process may have been stopped since")
        subject.pass(.milliseconds(125))
        subject.succeed(subject.send())
        #expect(!isOverdue(first, after: .milliseconds(249)) && isOverdue(first, after: .milliseconds(250)))

        // Where answers take 900 ms, two seconds are nothing special.
        for _ in 0..<200 {
            let query = subject.send()
            subject.pass(.milliseconds(900))
            subject.succeed(query)
        }
        let usual = try #require(subject.health.latency.percentile95) * 8
        #expect(usual >= .milliseconds(7200) && usual <= .seconds(9), "\(usual)")
        let last = subject.send()
        // Nobody was answered since.
        #expect(!isOverdue(last, after: usual - .milliseconds(1)) && isOverdue(last, after: usual))
        subject.pass(.seconds(5))
        subject.succeed(subject.send())
        #expect(!isOverdue(last, after: usual - .milliseconds(1)) && isOverdue(last, after: usual))
    }

    @Test("A canceled query is no silence")
    func drops() {
        var subject = Subject()
        let first = subject.send()
        subject.pass(.milliseconds(40))
        _ = subject.send()
        subject.health.dropped(first.id)
        subject.pass(.milliseconds(40))
        #expect(subject.standing == .healthy)
        subject.pass(.milliseconds(11))
        #expect(subject.standing == .suspect)
    }

    /// One success ends it.
    @Test("Quarantine is 1 s after the first failure and doubles to 30 s")
    func quarantines() throws {
        var subject = Subject()
        for seconds in [1, 2, 4, 8, 16, 30, 30] {
            try subject.fail(subject.send())
            #expect(subject.restLeft == .seconds(seconds))
            #expect(subject.standing == .quarantined)
            #expect(subject.health.isResting(at: subject.now))
            subject.pass(.seconds(seconds) - .nanoseconds(1))
            #expect(subject.standing == .quarantined)
            subject.pass(.nanoseconds(1))
            #expect(subject.standing == .probeDue)
            #expect(!subject.health.isResting(at: subject.now))
        }
        let probe = subject.send()
        #expect(subject.standing == .quarantined)
        #expect(subject.health.probe == probe.id)
        subject.succeed(probe)
        #expect(subject.standing == .healthy)
        try subject.fail(subject.send())
        #expect(subject.restLeft == .seconds(1))
    }

    @Test("A probe that is given up may be repeated immediately")
    func probeDropped() throws {
        var subject = Subject()
        try subject.fail(subject.send())
        subject.pass(.seconds(1))
        let probe = subject.send()
        subject.health.dropped(probe.id)
        #expect(subject.standing == .probeDue)
    }

    /// The second is the minimum of RFC 9520.
    @Test(
        "Chance moves a quarantine by a tenth either way, never below one second",
        arguments: [(0, 1, 1000), (2000, 1, 1100), (0, 2, 1800), (2000, 2, 2200), (0, 6, 27000), (2000, 6, 33000)]
    )
    func jitter(_ jitter: UInt64, _ failures: Int, _ milliseconds: Int) throws {
        var subject = Subject()
        for _ in 0..<failures {
            subject.pass(.seconds(60))
            try subject.fail(subject.send(), jitter: jitter)
        }
        #expect(subject.restLeft == .milliseconds(milliseconds))
    }

    @Test("Queries that fail together count as one failure")
    func failsTogether() throws {
        var subject = Subject()
        let queries = (0..<100).map { _ in subject.send() }
        subject.pass(.seconds(1))
        for query in queries { try subject.fail(query, .timedOut) }
        #expect(subject.health.consecutiveFailures == 1)
        #expect(subject.restLeft == .seconds(1))
    }

    @Test("A time-out concerns the name if the provider answered meanwhile")
    func slowName() throws {
        var subject = Subject()
        let slow = subject.send()
        subject.pass(.milliseconds(500))
        subject.succeed(subject.send())
        subject.pass(.milliseconds(500))
        try subject.fail(slow, .timedOut)
        #expect(subject.standing == .healthy)
        let silent = subject.send()
        subject.pass(.seconds(1))
        try subject.fail(silent, .timedOut)
        #expect(subject.standing == .quarantined)
    }

    @Test("A time-out of a query with less time than the hedge delay proves nothing")
    func shortLimit() throws {
        var subject = Subject()
        let query = subject.send()
        subject.pass(.milliseconds(20))
        try subject.fail(query, .timedOut, limit: .milliseconds(20))
        #expect(subject.standing == .healthy)
    }

    @Test("As many names must fail as were answered recently, 3 to 16")
    func shareOfFailures() throws {
        for (answers, needed) in [(0, 3), (3, 3), (4, 4), (10, 10), (100, 16)] {
            var subject = Subject()
            for _ in 0..<answers { subject.succeed(subject.send()) }
            for number in 1..<needed {
                // A name that fails twice counts once.
                for _ in 0..<2 { try subject.fail(subject.send(), .serverFailure, about: "n\(number).test") }
                #expect(subject.standing == .healthy, "\(number) after \(answers)")
            }
            try subject.fail(subject.send(), .serverFailure, about: "last.test")
            #expect(subject.standing == .quarantined, "\(needed) after \(answers)")
        }
    }

    @Test(
        "A server failure concerns the name, until three different names fail in a row",
        arguments: [HTTPDNSProviderError.Code.serverFailure, .refused]
    )
    func serverFailures(_ code: HTTPDNSProviderError.Code) throws {
        var subject = Subject()
        for host in ["a.test", "a.test", "b.test", "a.test", "b.test"] {
            try subject.fail(subject.send(), code, about: host)
        }
        #expect(subject.standing == .healthy)
        subject.succeed(subject.send())
        for host in ["c.test", "d.test"] { try subject.fail(subject.send(), code, about: host) }
        #expect(subject.standing == .healthy)
        try subject.fail(subject.send(), code, about: "e.test")
        #expect(subject.restLeft == .seconds(1))
    }

    /// One second when it names no time.
    @Test("A rate-limited provider rests as long as it asked for, five minutes at most")
    func rateLimited() throws {
        for (wish, rest) in [(nil, 1), (.zero, 1), (.seconds(40), 40), (.seconds(86_400), 300)] as [(Duration?, Int)] {
            var subject = Subject()
            try subject.fail(subject.send(), .rateLimited, retryAfter: wish)
            #expect(subject.restLeft == .seconds(rest))
            #expect(subject.health.rest?.isRequested == true)
            #expect(subject.health.consecutiveFailures == 0)
        }
    }

    @Test("A requested rest outlives an earlier query's success and a shorter quarantine")
    func wishIsKept() throws {
        var subject = Subject()
        let (first, second, third) = (subject.send(), subject.send(), subject.send())
        try subject.fail(first, .rateLimited, retryAfter: .seconds(40))
        subject.succeed(second)
        #expect(subject.restLeft == .seconds(40))
        subject.pass(.seconds(1))
        try subject.fail(third, .unreachable)
        #expect(subject.restLeft == .seconds(39))
        #expect(subject.health.rest?.isRequested == true)
        subject.pass(.seconds(39))
        subject.succeed(subject.send())
        #expect(subject.standing == .healthy)
    }

    @Test("Retry-After of any failure is honored over a shorter quarantine")
    func retryAfter() throws {
        var subject = Subject()
        try subject.fail(subject.send(), .httpStatus, retryAfter: .seconds(20))
        #expect(subject.restLeft == .seconds(20))
        #expect(subject.health.consecutiveFailures == 1)
    }

    @Test("A shutdown is no failure")
    func shutdown() throws {
        var subject = Subject()
        try subject.fail(subject.send(), .shutDown)
        #expect(subject.standing == .healthy)
        #expect(subject.health.consecutiveFailures == 0)
    }
}
