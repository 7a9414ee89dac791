// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import HTTPDNS

struct FallbackBreakerTests {
    private let origin: HopOrigin
    private let other: HopOrigin

    init() throws {
        origin = HopOrigin(host: .name(try HTTPDNSName("one.test")), port: 443)
        other = HopOrigin(host: .name(try HTTPDNSName("one.test")), port: 8443)
    }

    private func at(_ seconds: Int) -> MonotonicTime { MonotonicTime(nanoseconds: 0) + .seconds(seconds) }

    /// The others stay until it is done.
    @Test("After a fallback requests take the system path for 30 s, and then one tries")
    func trial() {
        var breaker = FallbackBreaker()
        #expect(breaker.path(for: origin, at: at(0)) == .given)
        breaker.recordSystemFallback(origin, at: at(0))
        #expect(breaker.path(for: origin, at: at(29)) == .system)
        #expect(breaker.path(for: other, at: at(29)) == .given)
        #expect(breaker.path(for: origin, at: at(30)) == .trial)
        #expect(breaker.path(for: origin, at: at(31)) == .system)
        breaker.forget(origin)
        #expect(breaker.path(for: origin, at: at(31)) == .given)
        #expect(breaker.count == 0)
    }

    /// Concurrent fallbacks count once.
    @Test("A trial that falls back doubles the time, up to 5 minutes")
    func doubling() {
        var breaker = FallbackBreaker()
        for _ in 0..<64 { breaker.recordSystemFallback(origin, at: at(0)) }
        var now = 0
        for rest in [30, 60, 120, 240, 300, 300] {
            #expect(breaker.path(for: origin, at: at(now + rest - 1)) == .system)
            #expect(breaker.path(for: origin, at: at(now + rest)) == .trial)
            now += rest
            breaker.recordSystemFallback(origin, at: at(now))
        }
    }

    @Test("An undecided trial leaves the next request to be one")
    func cancelledTrial() {
        var breaker = FallbackBreaker()
        breaker.recordSystemFallback(origin, at: at(0))
        #expect(breaker.path(for: origin, at: at(30)) == .trial)
        breaker.trialSaidNothing(origin)
        #expect(breaker.path(for: origin, at: at(30)) == .trial)
    }

    @Test("The table is bounded: the host whose time ends first is forgotten")
    func bound() throws {
        var breaker = FallbackBreaker()
        for number in 0...FallbackBreaker.maximumEntries {
            let host = try HTTPDNSName("h\(number).test")
            breaker.recordSystemFallback(HopOrigin(host: .name(host), port: 443), at: at(number))
        }
        #expect(breaker.count == FallbackBreaker.maximumEntries)
        let first = HopOrigin(host: .name(try HTTPDNSName("h0.test")), port: 443)
        #expect(breaker.path(for: first, at: at(1)) == .given)
    }
}
