// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import HTTPDNSCurl

/// The choice of loops, with a clock and loads of the test's own.
struct LoopSelectionTests {
    private static let second: Int64 = 1_000_000_000

    /// Loops whose activity the test sets.
    private struct Loops {
        var selection: LoopSelection
        var activities: [LoopActivity]
        var connected: Set<Int> = []
        var now = LoopSelectionTests.second

        init(_ count: Int) {
            selection = LoopSelection(count: count)
            activities = Array(repeating: LoopActivity(percent: 0, measuredAt: 0, transfers: 0), count: count)
        }

        /// Sets the activity of a loop now.
        mutating func set(_ loop: Int, _ percent: Int, transfers: Int) {
            activities[loop] = LoopActivity(percent: percent, measuredAt: now, transfers: transfers)
        }

        mutating func loop(for origin: UInt64, preferring preferred: Int? = nil) -> Int {
            let (activities, connected) = (activities, connected)
            return selection.loop(
                for: origin,
                preferring: preferred,
                at: now,
                activity: { activities[$0] },
                isConnected: { connected.contains($0) }
            )
        }
    }

    /// Hashes of origins are spread evenly.
    private static func origins(_ count: Int) -> [UInt64] {
        (0..<UInt64(count)).map { $0 &* 0x2545_f491_4f6c_dd1d ^ 0x9e37_79b9 }
    }

    @Test("All origins stay on the first loop while it is not busy", arguments: [1, 2, 4])
    func quiet(count: Int) {
        var loops = Loops(count)
        for (percent, transfers) in [(0, 0), (69, 1000), (100, 8)] {
            loops.set(0, percent, transfers: transfers)
            let used = Set(Self.origins(100).map { loops.loop(for: $0) })
            #expect(used == [0] && loops.selection.started == 1)
        }
    }

    /// Its transfers end immediately, so it has the fewest.
    @Test("A loop that failed gets no requests for 10 s, of spread origins and of its own")
    func resting() {
        var loops = Loops(3)
        for loop in 0..<2 {
            loops.set(loop, 100, transfers: 50)
            _ = loops.loop(for: 1)
        }
        #expect(loops.selection.started == 3)
        loops.selection.failed(1, isStarted: true, at: loops.now)
        #expect(loops.selection.started == 3 && loops.selection.hasResting)
        loops.set(1, 0, transfers: 0)
        loops.set(2, 100, transfers: 60)
        let used = Set((0..<100).map { _ in loops.loop(for: 1) })
        #expect(used == [0])
        for loop in 0..<3 { loops.set(loop, 0, transfers: 0) }
        loops.now += 2 * Self.second
        let homes = Set(Self.origins(100).map { loops.loop(for: $0) })
        #expect(homes == [0, 2] && loops.loop(for: 1, preferring: 1) != 1)
        loops.now += 8 * Self.second
        let later = Set(Self.origins(100).map { loops.loop(for: $0) })
        #expect(later == [0, 1, 2] && !loops.selection.hasResting)
    }

    @Test("A failed start lowers the number of started loops, and is tried again after 10 s")
    func failedStart() {
        var loops = Loops(2)
        loops.set(0, 100, transfers: 50)
        #expect(loops.loop(for: 1) == 1 && loops.selection.started == 2)
        loops.selection.failed(1, isStarted: false, at: loops.now)
        #expect(loops.selection.started == 1)
        let used = Set((0..<100).map { _ in loops.loop(for: 1) })
        #expect(used == [0] && loops.selection.started == 1)
        loops.now += LoopSelection.rest
        loops.set(0, 100, transfers: 50)
        #expect(loops.loop(for: 1) == 1 && loops.selection.started == 2)
    }

    @Test("The first loop rests like the others, and all get requests when all rest")
    func restingFirst() {
        var loops = Loops(2)
        loops.set(0, 100, transfers: 50)
        #expect(loops.loop(for: 1) == 1 && loops.selection.started == 2)
        loops.selection.failed(0, isStarted: true, at: loops.now)
        // Its transfers end immediately, so it has the fewest.
        loops.set(0, 0, transfers: 0)
        loops.set(1, 60, transfers: 50)
        let others = Set(([1] + Self.origins(100)).map { loops.loop(for: $0) })
        #expect(others == [1])
        loops.selection.failed(1, isStarted: true, at: loops.now)
        let all = Set(Self.origins(100).map { loops.loop(for: $0) })
        #expect(all == [0, 1] && loops.loop(for: 1, preferring: 1) == 1)
        loops.now += LoopSelection.rest
        _ = loops.loop(for: 1)
        #expect(!loops.selection.hasResting && loops.selection.started == 2)
    }

    /// The others may have no descriptor for a new one either.
    @Test("While a loop rests, an origin goes to a loop that has a connection to it")
    func restingConnected() {
        var loops = Loops(4)
        for loop in 0..<3 {
            loops.set(loop, 100, transfers: 50)
            _ = loops.loop(for: 7)
        }
        #expect(loops.selection.started == 4)
        for loop in 0..<4 { loops.set(loop, 0, transfers: loop == 2 ? 5 : 0) }
        loops.connected = [2]
        loops.selection.failed(0, isStarted: true, at: loops.now)
        let connected = Set(([7] + Self.origins(100)).map { loops.loop(for: $0) })
        #expect(connected == [2])
        for loop in 1..<4 { loops.selection.failed(loop, isStarted: true, at: loops.now) }
        loops.connected = [0]
        let whenAllRest = Set(Self.origins(100).map { loops.loop(for: $0) })
        #expect(whenAllRest == [0])
        loops.now += LoopSelection.rest
        let later = Set(Self.origins(100).map { loops.loop(for: $0) })
        #expect(later == [0, 1, 2, 3])
    }

    @Test("A busy loop makes the next one start")
    func starts() {
        var loops = Loops(4)
        loops.set(0, 70, transfers: 9)
        #expect(loops.loop(for: 7) == 1 && loops.selection.started == 2)
        loops.set(1, 95, transfers: 64)
        #expect(loops.loop(for: 7) == 2 && loops.selection.started == 3)
        #expect(loops.loop(for: 7) == 2 && loops.selection.started == 3, "the third one is not busy")
    }

    @Test("A measurement of a loop that sleeps since no longer counts")
    func asleep() {
        var loops = Loops(2)
        loops.set(0, 100, transfers: 64)
        loops.now += LoopActivity.life + 1
        #expect(loops.loop(for: 7) == 0 && loops.selection.started == 1)
    }

    @Test("With one loop every request goes there", arguments: [0, 70, 100])
    func single(percent: Int) {
        var loops = Loops(1)
        loops.set(0, percent, transfers: 500)
        #expect(Set(Self.origins(50).map { loops.loop(for: $0) }) == [0])
    }

    @Test("A spread origin's requests go to the loop with the fewest transfers")
    func fewest() {
        var loops = Loops(2)
        loops.set(0, 100, transfers: 64)
        for _ in 0..<32 {
            #expect(loops.loop(for: 7) == 1)
            loops.activities[1].transfers += 1
            loops.activities[0].transfers -= 1
        }
        var counts = [0, 0]
        for number in 0..<1000 {
            let loop = loops.loop(for: 7)
            counts[loop] += 1
            loops.activities[loop].transfers += 1
            // Requests of both loops end alike.
            loops.activities[number % 2].transfers -= 1
        }
        #expect(abs(counts[0] - counts[1]) < 200, "\(counts)")
    }

    @Test("Among equal loops one with a connection to the origin is preferred")
    func connected() {
        var loops = Loops(4)
        for loop in 0..<4 {
            loops.set(0, 100, transfers: 50)
            if loop > 0 { loops.set(loop, 100, transfers: 50) }
            _ = loops.loop(for: 7)
        }
        for loop in 0..<4 {
            for other in 0..<4 { loops.set(other, 80, transfers: 20) }
            loops.connected = [loop]
            #expect(loops.loop(for: 7) == loop)
        }
        loops.activities[0].transfers = 19
        loops.connected = [3]
        #expect(loops.loop(for: 7) == 0, "it is less busy")
    }

    /// Without that delay all work would move to and fro.
    @Test("A spread origin returns home a second after one loop could do all the work")
    func returns() {
        var loops = Loops(2)
        loops.set(0, 100, transfers: 64)
        #expect(loops.loop(for: 7) == 1)
        let home = LoopSelection.home(of: 7, among: 2)
        // Neither loop is busy, and together they do more than one could.
        for _ in 0..<100 {
            loops.now += 50_000_000
            loops.set(home, 50, transfers: 33)
            loops.set(1 - home, 50, transfers: 32)
            #expect(loops.loop(for: 7) == 1 - home)
        }
        for _ in 0..<19 {
            loops.now += 50_000_000
            loops.set(home, 20, transfers: 9)
            loops.set(1 - home, 20, transfers: 8)
            #expect(loops.loop(for: 7) == 1 - home)
        }
        loops.now += 50_000_000
        loops.set(home, 20, transfers: 9)
        loops.set(1 - home, 20, transfers: 8)
        #expect(loops.loop(for: 7) == home && !loops.selection.isSpreading)
    }

    /// 64 requests in flight, each of which takes 20 us of a loop, at a server that answers `perMillisecond` of them. One loop
    /// could do 50.
    @Test("The load of one origin is shared evenly, and does not move back and forth", arguments: [40, 60, 95])
    func steady(perMillisecond: Int) {
        let millisecond: Int64 = 1_000_000
        var loops = Loops(2)
        var meters = (0..<2).map { _ in LoopMeter(at: loops.now) }
        var (waiting, atServer, done) = ([64, 0], [Int](), [0, 0])
        for turn in 0..<5_000 {
            for loop in 0..<2 {
                let sent = min(waiting[loop], 50)
                waiting[loop] -= sent
                atServer += Array(repeating: loop, count: sent)
                if turn >= 1_000 { done[loop] += sent }
                if sent < 50 { meters[loop].sleeps(at: loops.now + Int64(sent) * 20_000) }
            }
            loops.now += millisecond
            for loop in 0..<2 {
                if let percent = meters[loop].wakes(at: loops.now) {
                    loops.activities[loop].percent = percent
                    loops.activities[loop].measuredAt = loops.now
                }
            }
            // The server answers in any order.
            for _ in 0..<min(atServer.count, perMillisecond) {
                atServer.remove(at: Int.random(in: 0..<atServer.count))
                for loop in 0..<2 {
                    loops.activities[loop].transfers = waiting[loop] + atServer.count { $0 == loop }
                }
                waiting[loops.loop(for: 7)] += 1
            }
        }
        let share = Double(done.max() ?? 0) / Double(done[0] + done[1])
        #expect(share <= 0.6, "\(done)")
        #expect(done[0] + done[1] >= 4_000 * min(perMillisecond, 64) * 9 / 10, "\(done)")
    }

    @Test("Other origins stay at home while one is spread")
    func others() {
        var loops = Loops(2)
        loops.set(0, 100, transfers: 64)
        let hot = Self.origins(200).first { LoopSelection.home(of: $0, among: 2) == 0 } ?? 0
        _ = loops.loop(for: hot)
        loops.set(0, 60, transfers: 40)
        loops.set(1, 60, transfers: 30)
        for origin in Self.origins(200) where origin != hot {
            #expect(loops.loop(for: origin) == LoopSelection.home(of: origin, among: 2))
        }
        #expect(loops.loop(for: hot) == 1)
    }

    @Test("Homes are even, and one more loop takes its share from all others", arguments: [2, 3, 4, 16])
    func homes(count: Int) {
        let origins = Self.origins(8_000)
        let before = origins.map { LoopSelection.home(of: $0, among: count) }
        let after = origins.map { LoopSelection.home(of: $0, among: count + 1) }
        let shares = (0..<count).map { loop in before.count { $0 == loop } }
        #expect(shares.allSatisfy { abs($0 - 8_000 / count) < 8_000 / count / 4 }, "\(shares)")
        #expect(zip(before, after).allSatisfy { $0 == $1 || $1 == count }, "no origin moves between the others")
        let moved = zip(before, after).count { $0 != $1 }
        #expect(abs(moved - 8_000 / (count + 1)) < 8_000 / (count + 1) / 4, "\(moved)")
    }

    @Test("A loop with an unused connection takes the place of the home until it is busy")
    func preferred() {
        var loops = Loops(4)
        #expect(loops.loop(for: 7, preferring: 3) == 3)
        loops.set(3, 100, transfers: 64)
        #expect(loops.loop(for: 7, preferring: 3) == 0)
    }

    @Test("The number of spread origins is bounded")
    func bounded() {
        var loops = Loops(2)
        for origin in Self.origins(3 * LoopSelection.maximumSpread) {
            loops.set(0, 100, transfers: 64)
            loops.set(1, 100, transfers: 64)
            _ = loops.loop(for: origin)
        }
        #expect(loops.selection.isSpreading)
        loops.now += LoopSelection.stay + 1
        for loop in 0..<2 { loops.set(loop, 0, transfers: 0) }
        _ = loops.loop(for: 7)
        #expect(!loops.selection.isSpreading)
    }
}

struct LoopMeterTests {
    private static let window = LoopMeter.window

    @Test("Time outside of waits is work", arguments: [0, 30, 70, 100])
    func share(percent: Int64) throws {
        var meter = LoopMeter(at: 0)
        var published: [Int] = []
        var now: Int64 = 0
        // A turn takes a millisecond.
        for _ in 0..<200 {
            now += percent * 10_000
            if percent < 100 { meter.sleeps(at: now) }
            now += (100 - percent) * 10_000
            if let percent = meter.wakes(at: now) { published.append(percent) }
        }
        #expect(published == Array(repeating: Int(percent), count: 4))
    }

    @Test("A loop that never waits is fully busy")
    func endless() {
        var meter = LoopMeter(at: 0)
        #expect(meter.wakes(at: Self.window / 2) == nil)
        #expect(meter.wakes(at: Self.window) == 100)
    }

    @Test("A long sleep counts as such")
    func sleep() {
        var meter = LoopMeter(at: 0)
        meter.sleeps(at: Self.window - 1)
        #expect(meter.wakes(at: 100 * Self.window) == 0)
    }

    @Test("The published word keeps percentage and time")
    func word() {
        let load = LoopLoad()
        let now: Int64 = 3_000_000_000_000_000
        load.measured(83, at: now)
        load.publish(transfers: 12, connections: 20)
        load.queue(3)
        #expect(load.activity.percent == 83 && load.activity.transfers == 15 && load.idleConnections == 8)
        #expect((0..<2_000_000).contains(now - load.activity.measuredAt))
        #expect(load.activity.isBusy(at: now))
        #expect(!load.activity.isBusy(at: now + LoopActivity.life + 2_000_000))
    }
}
