// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import ServerRig
import Testing

@testable import HTTPDNSCurl

/// A race as the loop runs it: the attempts that libcurl has, and the one whose response the caller gets.
private struct RaceModel {
    /// An attempt that libcurl has.
    private struct Attempt {
        /// Whether it was let through the gate, and its request is on the wire.
        var hasPassed = false
        /// Whether libcurl was told to end it at the gate, or at an answer that came too late.
        var isLate = false
        var hasAnswered = false
        /// Whether libcurl has ended it, and the loop has yet to collect that.
        var hasEnded = false
    }

    private var race: Race
    private var attempts: [Attempt?]
    private var owner: Int?
    /// Whether attempts are to be taken out when libcurl has returned.
    private var isDecided = false
    private var hedges = 0
    private(set) var isOver = false
    private(set) var violation: String?
    private var random: SeededRandom

    init(seed: UInt64) {
        random = SeededRandom(seed)
        let count = Int(random.next(in: 1...4))
        race = Race(count: count)
        attempts = Array(repeating: nil, count: count)
        follow(race.begin())
    }

    /// A turn of the loop: what libcurl calls back, then what the loop collects, then the time limits that have passed.
    mutating func turn() {
        for _ in 0..<random.next(in: 0...3) { callBack() }
        collect()
        check()
        for _ in 0..<random.next(in: 0...2) where !isOver { expire() }
        check()
    }

    // MARK: inside libcurl

    private mutating func callBack() {
        guard let index = pick({ !$0.isLate && !$0.hasEnded }), var attempt = attempts[index] else { return }
        switch random.next(in: 0...3) {
        case 0 where !attempt.hasPassed:
            attempt.hasPassed = race.passesGate(index)
            attempt.isLate = !attempt.hasPassed
            if attempt.hasPassed, race.winner != nil, owner == nil { carry(index) }
        case 1 where attempt.hasPassed && !attempt.hasAnswered:
            if race.redials(index) {
                attempt.hasPassed = false
                owner = nil
            }
        case 2 where attempt.hasPassed && !attempt.hasAnswered:
            if race.isHedged, race.winner == nil {
                _ = race.isAnswered(by: index)
                carry(index)
            }
            attempt.hasAnswered = race.winner == index
            attempt.isLate = !attempt.hasAnswered
        case 3: attempt.hasEnded = true
        default: break
        }
        if attempt.isLate { attempt.hasEnded = true }
        attempts[index] = attempt
    }

    private mutating func carry(_ index: Int) {
        owner = index
        isDecided = true
    }

    // MARK: in the loop

    private mutating func collect() {
        if isDecided, let winner = race.winner {
            for index in attempts.indices where index != winner && attempts[index] != nil {
                attempts[index] = nil
                _ = race.takenOut(index)
            }
        }
        isDecided = false
        for index in attempts.indices {
            guard !isOver, let attempt = attempts[index], attempt.hasEnded else { continue }
            end(index, attempt)
        }
    }

    private mutating func end(_ index: Int, _ attempt: Attempt) {
        if race.winner == index {
            if owner != index { violation = "the winner's result is delivered for another handle" }
            return isOver = true
        }
        attempts[index] = nil
        follow(race.winner != nil || attempt.isLate ? race.takenOut(index) : race.failed(index))
    }

    private mutating func expire() {
        guard let index = pick({ !$0.hasAnswered }), let attempt = attempts[index] else { return }
        if random.next(in: 0...3) == 0 { return end(index, attempt) }
        if !attempt.hasPassed {
            follow(race.delayPassed(index, hasConnection: random.next(in: 0...1) == 0))
        } else if hedges < 3, let step = race.hedge(besides: index) {
            hedges += 1
            while attempts.count < race.attempts.count { attempts.append(nil) }
            owner = nil
            follow(step)
        }
    }

    private mutating func follow(_ step: Race.Step) {
        if let index = step.withdraws {
            if attempts[index]?.hasPassed != false { violation = "an attempt that sent its request is withdrawn" }
            attempts[index] = nil
        }
        if let index = step.begins {
            if attempts[index] != nil { violation = "an endpoint is begun while an attempt at it runs" }
            attempts[index] = Attempt()
        }
        if step.isLost {
            if attempts.contains(where: { $0 != nil }) { violation = "a race is lost while attempts run" }
            isOver = true
        }
    }

    // MARK: rules

    private mutating func check() {
        guard !isOver, violation == nil else { return }
        let sent = attempts.count { $0?.hasPassed == true }
        if sent > 1, !race.isHedged { violation = "a request that is not hedged is on the wire \(sent) times" }
        if attempts.count(where: { $0?.hasAnswered == true }) > 1 { violation = "two attempts feed one response" }
        if !attempts.contains(where: { $0 != nil }) { violation = "nothing runs, and the race is not over" }
        for (index, attempt) in attempts.enumerated() {
            let isRunning = [.running, .sent, .won].contains(race.attempts[index])
            if isRunning != (attempt != nil) { violation = "attempt \(index) is \(race.attempts[index])" }
        }
        if let winner = race.winner, owner != winner { violation = "the winner is not the owner" }
    }

    private mutating func pick(_ condition: (Attempt) -> Bool) -> Int? {
        let start = Int(random.next(in: 0...7))
        for offset in attempts.indices {
            let index = (start + offset) % attempts.count
            if let attempt = attempts[index], condition(attempt) { return index }
        }
        return nil
    }
}

/// SplitMix64: a sequence is known by its seed.
struct SeededRandom {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 }

    mutating func next(in range: ClosedRange<UInt64>) -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return range.lowerBound + (value ^ (value >> 31)) % (range.upperBound - range.lowerBound + 1)
    }
}

struct RaceModelTests {
    /// A million under `HTTPDNS_TEST_LONG=1` (`make endurance`).
    private static let sequences: UInt64 = ServerRig.hasTime ? 1_000_000 : 5_000

    @Test("A response has one owner, and no endpoint is begun twice")
    func owners() async {
        for seed in 0..<RaceModelTests.sequences {
            // Other tests share the threads of the pool.
            if seed % 50 == 0 { await Task.yield() }
            var model = RaceModel(seed: seed)
            for _ in 0..<12 where !model.isOver && model.violation == nil { model.turn() }
            guard model.violation == nil else {
                Issue.record("seed \(seed): \(model.violation ?? "")")
                return
            }
        }
    }
}
