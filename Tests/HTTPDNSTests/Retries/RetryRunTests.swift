// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import HTTPDNS

/// What is sent again, and when.
struct RetryRunTests {
    private static let sent = RetryRun.Outcome.failure(.connectionLost, .firstByte, mayHaveBeenSent: true)
    private static let unsent = RetryRun.Outcome.failure(.connectFailed, .connect, mayHaveBeenSent: false)

    private func request(_ method: HTTPRequest.Method, key: String? = nil) throws -> HTTPDNSClient.Request {
        var request = HTTPDNSClient.Request(method: method, url: "https://one.test/")
        if let key { request.headerFields[try #require(HTTPField.Name("idempotency-KEY"))] = key }
        return request
    }

    private func isSentAgain(
        _ request: HTTPDNSClient.Request,
        after outcome: RetryRun.Outcome,
        isBodySpent: Bool = false,
        left: Duration? = nil
    ) -> Bool {
        var run = RetryRun(.standard, request)
        return run.next(after: outcome, isBodySpent: isBodySpent, left: left, random: 1) != nil
    }

    /// One that was not sent is always sent again.
    @Test(
        "A request that may have been sent is repeated only if it is idempotent",
        arguments: [
            (HTTPRequest.Method.get, true), (.head, true), (.options, true), (.put, true), (.delete, true),
            (.trace, true), (.post, false), (.patch, false), (HTTPRequest.Method("PURGE") ?? .post, false),
        ]
    )
    func methods(method: HTTPRequest.Method, isIdempotent: Bool) throws {
        let request = try request(method)
        #expect(isSentAgain(request, after: Self.sent) == isIdempotent)
        #expect(isSentAgain(request, after: .status(503, retryAfter: nil)) == isIdempotent)
        #expect(isSentAgain(request, after: Self.unsent))
        #expect(!isSentAgain(request, after: Self.unsent, isBodySpent: true))
    }

    @Test("An Idempotency-Key makes any method idempotent, an empty one does not")
    func idempotencyKey() throws {
        #expect(isSentAgain(try request(.post, key: "8e03978e"), after: Self.sent))
        #expect(isSentAgain(try request(.post, key: "8e03978e"), after: .status(503, retryAfter: nil)))
        #expect(!isSentAgain(try request(.post, key: ""), after: Self.sent))
    }

    @Test(
        "Some statuses are retried, and others are not",
        arguments: [
            (400, false), (404, false), (408, true), (409, false), (425, true), (429, true), (500, false), (501, false),
            (502, true), (503, true), (504, true), (505, false),
        ]
    )
    func statuses(status: Int, isRetried: Bool) throws {
        #expect(isSentAgain(try request(.get), after: .status(status, retryAfter: nil)) == isRetried)
    }

    /// No connection and a lost one. Not the whole call's time-out.
    @Test("Failed connections and phase time-outs are retried, verdicts and limits are not")
    func errors() throws {
        let get = try request(.get)
        for (code, phase, isRetried): (HTTPDNSClientError.Code, HTTPDNSClientError.Phase, Bool) in [
            (.connectFailed, .connect, true), (.connectFailed, .tls, true), (.connectionLost, .body, true),
            (.timedOut, .connect, true), (.timedOut, .firstByte, true), (.timedOut, .total, false),
            (.timedOut, .queue, false),
            (.certificateRefused, .tls, false), (.policyRefused, .policy, false), (.resolveFailed, .resolve, false),
            (.limitReached, .queue, false), (.shutDown, .request, false), (.invalidRequest, .request, false),
            (.redirectLoop, .redirect, false), (.interceptorFailed, .interceptor, false),
            (.responseTooLarge, .body, false), (.protocolViolation, .firstByte, false),
        ] {
            #expect(
                isSentAgain(get, after: .failure(code, phase, mayHaveBeenSent: false)) == isRetried,
                "\(code) \(phase)"
            )
        }
    }

    /// Full jitter.
    @Test("A wait is a random share of a bound that doubles up to its maximum")
    func backoff() throws {
        var policy = HTTPDNSClient.RetryPolicy()
        (policy.limit, policy.delay, policy.maximumDelay) = (5, .milliseconds(100), .milliseconds(500))
        for (random, expected) in [
            (1.0, [100, 200, 400, 500, 500]), (0.5, [50, 100, 200, 250, 250]), (0, [0, 0, 0, 0, 0]),
        ] {
            var run = RetryRun(policy, try request(.get))
            for milliseconds in expected {
                let wait = run.next(after: Self.unsent, isBodySpent: false, left: nil, random: random)
                #expect(wait == .milliseconds(milliseconds))
            }
            #expect(run.next(after: Self.unsent, isBodySpent: false, left: nil, random: random) == nil)
            #expect(run.count == 5)
        }
    }

    private func waits(_ wait: Duration, delay: Duration, took: Duration = .zero) throws -> [Duration] {
        var policy = HTTPDNSClient.RetryPolicy.off
        (policy.delay, policy.maximumDelay, policy.networkWait) = (delay, max(delay, .milliseconds(400)), wait)
        var run = RetryRun(policy, try request(.post))
        var (elapsed, waits) = (Duration.zero, [Duration]())
        while let wait = run.next(after: Self.unsent, isBodySpent: false, elapsed: elapsed, left: nil, random: 0),
            waits.count < 100
        {
            waits.append(wait)
            elapsed += wait + took
        }
        return waits
    }

    @Test("A wait for the network pauses 100 ms at least, whatever the delay is")
    func networkPause() throws {
        let pause = Duration.milliseconds(100)
        #expect(try waits(.milliseconds(350), delay: .zero) == [pause, pause, .milliseconds(150)])
        #expect(try waits(.seconds(1), delay: .microseconds(1)).count == 10)
        #expect(try waits(.seconds(1), delay: .milliseconds(400)) == Array(repeating: .milliseconds(200), count: 5))
        // The last try is at the end of the time.
        #expect(try waits(.milliseconds(30), delay: .zero) == [.milliseconds(30)])
        #expect(try waits(.milliseconds(230), delay: .zero, took: .milliseconds(60)) == [pause, .milliseconds(70)])
    }

    @Test("A name that does not exist is not waited for, and a failed resolution is")
    func unknownName() throws {
        for isUnknownName in [true, false] {
            for code in [HTTPDNSClientError.Code.resolveFailed, .proxyUnreachable] {
                var policy = HTTPDNSClient.RetryPolicy.off
                policy.networkWait = .seconds(60)
                var run = RetryRun(policy, try request(.get))
                let outcome = RetryRun.Outcome.failure(
                    code,
                    .resolve,
                    mayHaveBeenSent: false,
                    isUnknownName: isUnknownName
                )
                let wait = run.next(after: outcome, isBodySpent: false, left: nil, random: 0)
                #expect((wait == nil) == isUnknownName, "\(code)")
            }
        }
    }

    @Test("No wait reaches beyond the call's time")
    func deadline() throws {
        let get = try request(.get)
        #expect(isSentAgain(get, after: Self.unsent, left: .milliseconds(101)))
        #expect(!isSentAgain(get, after: Self.unsent, left: .milliseconds(100)))
        #expect(!isSentAgain(get, after: Self.unsent, left: .zero))
        #expect(!isSentAgain(get, after: .status(503, retryAfter: .seconds(2)), left: .seconds(2)))
    }

    /// Jitter is added to it.
    @Test("Retry-After is the least wait, and one that is too long ends the retries")
    func retryAfter() throws {
        var run = RetryRun(.standard, try request(.get))
        let wait = run.next(after: .status(503, retryAfter: .seconds(7)), isBodySpent: false, left: nil, random: 0.5)
        #expect(wait == .milliseconds(7050))
        #expect(isSentAgain(try request(.get), after: .status(503, retryAfter: .seconds(30))))
        #expect(!isSentAgain(try request(.get), after: .status(503, retryAfter: .seconds(31))))
    }

    @Test(
        "Retry-After is seconds, rounded up, or a date by the server's own clock",
        arguments: [
            ("0", nil, Duration.zero), ("120", nil, .seconds(120)),
            ("99999999999999999999", nil, .seconds(4_294_967_295)),
            ("Sun, 06 Nov 1994 08:49:47 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", .seconds(10)),
            ("Sun, 06 Nov 1994 08:49:40 GMT", nil, .seconds(3)), ("Sun, 06 Nov 1994 08:49:30 GMT", nil, .zero),
            ("9223372036854775807.5", nil, .seconds(4_294_967_295)), ("1.5", nil, .seconds(2)),
            ("2.0", nil, .seconds(2)),
            ("0.001", nil, .seconds(1)), ("2;x", nil, .seconds(2)), ("2s", nil, .seconds(2)),
            (" 30 Seconds ; a=b", nil, .seconds(30)), ("1, 3, 2", nil, .seconds(3)), ("1, soon", nil, .seconds(1)),
            ("-1", nil, nil), ("+1", nil, nil), ("soon", nil, nil), ("", nil, nil), ("1e1", nil, nil), (".5", nil, nil),
            ("2 minutes", nil, nil), ("Sun, 06 Foo 1994 08:49:40 GMT", nil, nil),
        ] as [(String, String?, Duration?)]
    )
    func parsing(value: String, date: String?, expected: Duration?) {
        var fields: HTTPFields = [.retryAfter: value]
        if let date { fields[.date] = date }
        // 784,111,777 is 1994-11-06 08:49:37 UTC, the example of RFC 9110 section 5.6.7.
        #expect(RetryAfter.wait(in: fields, now: 784_111_777) == expected)
    }

    @Test("The longest of several Retry-After fields counts")
    func several() {
        for values in [["1", "2"], ["2", "1"], ["2", "2"], ["soon", "2"], ["Sun, 06 Nov 1994 08:49:39 GMT", "1"]] {
            let fields = HTTPFields(values.map { HTTPField(name: .retryAfter, value: $0) })
            #expect(RetryAfter.wait(in: fields, now: 784_111_777) == .seconds(2), "\(values)")
        }
    }
}

struct RetryBudgetTests {
    private let start = MonotonicTime(nanoseconds: 1_000_000_000)

    private func taken(
        _ budget: inout RetryBudget,
        _ settings: HTTPDNSClient.RetryPolicy.Budget,
        calls: UInt64,
        at second: Int
    )
        -> Int
    {
        var count = 0
        while count < 10_000, budget.take(settings, calls: calls, at: start + .seconds(second)) { count += 1 }
        return count
    }

    private func settings(_ percent: Int, _ perSecond: Int) -> HTTPDNSClient.RetryPolicy.Budget {
        var budget = HTTPDNSClient.RetryPolicy.Budget()
        (budget.percent, budget.perSecond) = (percent, perSecond)
        return budget
    }

    @Test("The budget is a share of the calls and some for each of ten seconds")
    func share() {
        for (percent, perSecond, calls, expected) in [
            (20, 10, 0, 100), (20, 0, 1000, 200), (20, 10, 1000, 300), (0, 0, 1000, 0),
        ] {
            var budget = RetryBudget(at: start)
            #expect(taken(&budget, settings(percent, perSecond), calls: UInt64(calls), at: 0) == expected)
        }
    }

    /// Old calls count no more.
    @Test("Taken retries come back as they leave the last ten seconds")
    func windows() {
        var budget = RetryBudget(at: start)
        let settings = settings(10, 0)
        #expect(taken(&budget, settings, calls: 1000, at: 0) == 100)
        // Five seconds later the last window's calls and retries count still.
        #expect(taken(&budget, settings, calls: 1000, at: 5) == 0)
        #expect(taken(&budget, settings, calls: 1500, at: 6) == 50)
        // Ten seconds later those of the first window are forgotten.
        #expect(taken(&budget, settings, calls: 1500, at: 10) == 0)
        #expect(taken(&budget, settings, calls: 1800, at: 11) == 30)
        // Of the 300 calls of 50 seconds, 30 are the share of the last five.
        #expect(taken(&budget, settings, calls: 1800, at: 60) == 3)
        #expect(taken(&budget, settings, calls: 1810, at: 61) == 1)
        // A long silence forgets all.
        #expect(taken(&budget, settings, calls: 1810, at: 1000) == 0)
    }

    @Test("A retry that was not sent is given back, also in the next window")
    func givenBack() {
        for second in [0, 6] {
            var budget = RetryBudget(at: start)
            #expect(taken(&budget, settings(10, 0), calls: 1000, at: 0) == 100)
            #expect(taken(&budget, settings(10, 0), calls: 1000, at: second) == 0)
            budget.giveBack()
            #expect(taken(&budget, settings(10, 0), calls: 1000, at: second) == 1)
        }
    }

    /// No retry was asked for in that hour.
    @Test("The calls of a healthy hour count when it ends")
    func afterHealth() {
        var budget = RetryBudget(at: start)
        #expect(taken(&budget, settings(20, 10), calls: 5000 * 3600, at: 3600) == 5000 * 5 / 5 + 100)
    }

    @Test("A count from before the window turned does no harm when it comes after")
    func crossing() {
        var budget = RetryBudget(at: start)
        for (calls, second) in [(101, 5), (100, 5), (99, 10), (98, 9)] {
            let isTaken = budget.take(settings(20, 1), calls: UInt64(calls), at: start + .seconds(second))
            #expect(isTaken, "\(calls) calls")
        }
    }
}
