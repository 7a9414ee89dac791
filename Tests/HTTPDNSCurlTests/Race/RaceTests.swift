// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Testing

@testable import HTTPDNSCurl

struct RaceTests {
    @Test("The next attempt begins when the one before fails or exceeds the delay")
    func order() {
        var race = Race(count: 3)
        #expect(race.begin() == Race.Step(begins: 0))
        #expect(race.failed(0) == Race.Step(begins: 1))
        #expect(race.delayPassed(1, hasConnection: true) == Race.Step(begins: 2))
        #expect(race.attempts == [.failed, .running, .running])
        #expect(race.delayPassed(2, hasConnection: true) == .nothing)
    }

    /// The successor has its own delay.
    @Test("The failure of an attempt whose successor runs begins no further one")
    func oldFailure() {
        var race = Race(count: 3)
        _ = race.begin()
        _ = race.delayPassed(0, hasConnection: true)
        #expect(race.failed(0) == .nothing)
        #expect(race.failed(1) == Race.Step(begins: 2))
        #expect(race.failed(2) == Race.Step(isLost: true))
    }

    @Test("A race is lost when the last attempt has failed, and not before")
    func lost() {
        var race = Race(count: 2)
        _ = race.begin()
        _ = race.delayPassed(0, hasConnection: true)
        #expect(race.failed(1) == .nothing, "the first may still come through")
        #expect(race.failed(0) == Race.Step(isLost: true))
        #expect(race.failed(0) == .nothing, "an end comes once")

        var single = Race(count: 1)
        _ = single.begin()
        #expect(single.failed(0) == Race.Step(isLost: true))
    }

    @Test("An endpoint that is known late begins when the latest attempt is overdue")
    func knownLate() {
        var race = Race(count: 1)
        _ = race.begin()
        #expect(race.add([.numbered(2)]) == .nothing)
        #expect(race.delayPassed(0, hasConnection: true) == Race.Step(begins: 1))
        #expect(race.delayPassed(1, hasConnection: true) == .nothing)
        #expect(race.add([.numbered(3)]) == Race.Step(begins: 2))
        let passes = race.passesGate(2)
        #expect(passes)
        #expect(race.add([.numbered(4)]) == .nothing, "the race is decided")
    }

    @Test("Endpoints that are known late alternate with those that were not tried yet")
    func alternating() {
        let endpoints = (1...5).map(HTTPDNSEndpoint.numbered)
        var race = Race(Array(endpoints[..<3]), startedAt: 0)
        _ = race.begin()
        #expect(race.add(Array(endpoints[2...])) == .nothing)
        #expect(race.endpoints == [0, 3, 1, 4, 2].map { endpoints[$0] })
        #expect(race.attempts == [.running, .waiting, .waiting, .waiting, .waiting])
    }

    /// What happens to the others is of no interest.
    @Test("The first attempt at the gate passes, again too, and no other one")
    func gate() {
        var race = Race(count: 3)
        _ = race.begin()
        _ = race.delayPassed(0, hasConnection: true)
        #expect([race.passesGate(1), race.passesGate(1), race.passesGate(0)] == [true, true, false])
        #expect(race.winner == 1)
        #expect(race.failed(0) == .nothing)
        #expect(race.failed(1) == .nothing)
        #expect(race.delayPassed(0, hasConnection: false) == .nothing)
        #expect(race.attempts == [.running, .won, .waiting])
    }

    /// It comes back when no other endpoint is left.
    @Test("An attempt that waits for a shared connection leaves it after the delay")
    func waiters() {
        var race = Race(count: 2)
        _ = race.begin()
        #expect(race.delayPassed(0, hasConnection: false) == Race.Step(begins: 1, withdraws: 0))
        #expect(race.attempts == [.withdrawn, .running])
        #expect(race.failed(1) == Race.Step(begins: 0))
        #expect(race.failed(0) == Race.Step(isLost: true))
    }

    @Test("An attempt waiting for a shared connection stays when no other endpoint is left")
    func nowhereElse() {
        var race = Race(count: 2)
        _ = race.begin()
        _ = race.failed(0)
        #expect(race.delayPassed(1, hasConnection: false) == .nothing)
        #expect(race.attempts == [.failed, .running])
    }

    /// Nothing would begin it again if it were withdrawn then.
    @Test("A waiting attempt stays while the others are overdue")
    func lastAttempt() {
        var race = Race(count: 2)
        _ = race.begin()
        #expect(race.delayPassed(0, hasConnection: true) == Race.Step(begins: 1))
        // The owner of the connection that it waits for is late, and what it has itself is in a black hole.
        #expect(race.delayPassed(1, hasConnection: false) == .nothing)
        #expect(race.attempts == [.running, .running])
        // As a winner whose connection ended, and whose connection to be is another's.
        #expect([race.passesGate(0)] == [true])
        #expect([race.takenOut(1)] == [.nothing])
        #expect([race.redials(0)] == [true])
        #expect(race.delayPassed(0, hasConnection: false) == Race.Step(begins: 1, withdraws: 0))
        #expect(race.delayPassed(1, hasConnection: false) == Race.Step(begins: 0, withdraws: 1))
    }

    @Test("An attempt that hears late of another race begins no third one")
    func lateNews() {
        var race = Race(count: 3)
        _ = race.begin()
        _ = race.delayPassed(0, hasConnection: true)
        #expect(race.delayPassed(0, hasConnection: false) == Race.Step(withdraws: 0))
        #expect(race.attempts == [.withdrawn, .running, .waiting])
    }

    @Test("Attempts that were taken out may begin again when the winner redials")
    func redial() {
        var race = Race(count: 3)
        _ = race.begin()
        _ = race.failed(0)
        _ = race.delayPassed(1, hasConnection: true)
        #expect([race.redials(1)] == [false], "it has not passed the gate")
        #expect([race.passesGate(1)] == [true])
        #expect([race.takenOut(2)] == [.nothing])
        #expect([race.redials(1)] == [true])
        #expect(race.winner == nil && race.attempts == [.failed, .running, .waiting])
        #expect([race.failed(1)] == [Race.Step(begins: 2)])
        #expect([race.passesGate(2), race.passesGate(1)] == [true, false])

        var alone = Race(count: 1)
        _ = alone.begin()
        _ = alone.passesGate(0)
        #expect([alone.redials(0)] == [true])
        #expect([alone.failed(0)] == [Race.Step(isLost: true)])
    }

    @Test("A running attempt is not begun again when the winner redials")
    func redialBesideRunning() {
        var race = Race(count: 2)
        _ = race.begin()
        _ = race.delayPassed(0, hasConnection: true)
        #expect([race.passesGate(1), race.redials(1)] == [true, true])
        #expect(race.winner == nil && race.attempts == [.running, .running])
        #expect([race.failed(1)] == [.nothing])
        #expect([race.passesGate(0)] == [true])
    }

    @Test("An attempt that was late at the gate begins again when the race is open by then")
    func lateAtGate() {
        var race = Race(count: 2)
        _ = race.begin()
        _ = race.delayPassed(0, hasConnection: true)
        #expect([race.passesGate(1), race.passesGate(0), race.redials(1)] == [true, false, true])
        #expect([race.takenOut(0)] == [.nothing])
        #expect([race.failed(1)] == [Race.Step(begins: 0)])
    }

    @Test("A connection that dies after another sending was answered opens nothing")
    func redialAfterAnswer() {
        var race = Race(count: 2)
        _ = race.begin()
        _ = race.passesGate(0)
        _ = race.hedge(besides: 0)
        #expect([race.passesGate(1), race.isAnswered(by: 1)] == [true, true])
        #expect([race.redials(0)] == [false])
        #expect(race.winner == 1)
    }

    @Test("A hedge lets several attempts through the gate, and the first response wins")
    func hedge() {
        var race = Race(count: 2)
        _ = race.begin()
        _ = race.passesGate(0)
        #expect([race.hedge(besides: 0)] == [Race.Step(begins: 1)])
        #expect(race.winner == nil && race.attempts == [.sent, .running])
        #expect([race.passesGate(1)] == [true])
        #expect(race.winner == nil)
        #expect(race.attempts == [.sent, .sent])
        #expect([race.isAnswered(by: 1), race.isAnswered(by: 0), race.isAnswered(by: 1)] == [true, false, true])
        #expect(race.winner == 1)
    }

    @Test("A race is lost when both of its sendings fail, and not before")
    func hedgeFails() {
        var race = Race(count: 1)
        _ = race.begin()
        _ = race.passesGate(0)
        #expect([race.hedge(besides: 0)] == [Race.Step(begins: 1)])
        #expect(race.endpoints == [.numbered(1), .numbered(1)], "it has no other endpoint")
        #expect([race.failed(0)] == [.nothing])
        #expect([race.passesGate(1)] == [true])
        #expect([race.failed(1)] == [Race.Step(isLost: true)])
    }

    @Test("A hedge begins only beside the winner")
    func hedgeOfNobody() {
        var race = Race(count: 2)
        _ = race.begin()
        #expect([race.hedge(besides: 0)] == [nil])
        #expect(!race.isHedged)
        _ = race.delayPassed(0, hasConnection: true)
        _ = race.passesGate(1)
        #expect([race.hedge(besides: 0)] == [nil])
        #expect([race.takenOut(0)] == [.nothing])
        #expect(race.attempts == [.waiting, .won], "the loser was taken out, and may be tried again")
    }

    @Test("A request is sent four times at most")
    func sendings() {
        var race = Race(count: 1)
        _ = race.begin()
        _ = race.passesGate(0)
        for sending in 1...3 {
            #expect([race.hedge(besides: 0)] == [Race.Step(begins: sending)])
            _ = race.passesGate(sending)
        }
        #expect([race.hedge(besides: 0)] == [nil])
    }
}
