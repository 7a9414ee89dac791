// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import ServerRig
import Testing

@testable import HTTPDNSCurl

struct SilenceWatchTests {
    private final class Member: WatchMember {
        var watch = WatchEntry<Member>()
        var since: Int64 = 0
    }

    private static let interval: Int64 = 250_000_000

    /// The loop is awake at other times, too.
    @Test("A silent request is checked after 1 to 1.25 intervals, and no other is", arguments: 0..<20 as Range<UInt64>)
    func bounds(seed: UInt64) {
        var random = SeededRandom(seed)
        var watch = SilenceWatch<Member>(interval: Self.interval)
        var watched: [Member] = []
        var now: Int64 = 0
        var checks = 0
        for _ in 0..<2_000 {
            // The loop sleeps until the watch wakes it, or until something else does.
            now = min(watch.wakesAt, now + Int64(random.next(in: 1...60)) * 1_000_000)
            if watch.wakesAt <= now {
                while let member = watch.popDue(at: now) {
                    let silence = now - member.since
                    #expect(silence >= Self.interval && silence <= Self.interval * 5 / 4)
                    let index = watched.firstIndex { $0 === member }
                    #expect(index == 0, "the oldest is the first")
                    if let index { watched.remove(at: index) }
                    checks += 1
                }
                #expect(watched.allSatisfy { now - $0.since < Self.interval })
            }
            if random.next(in: 0...2) > 0 {
                let member = Member()
                member.since = now
                watch.insert(member, at: now)
                watched.append(member)
            }
            if !watched.isEmpty, random.next(in: 0...2) > 0 {
                let index = Int(random.next(in: 0...UInt64(watched.count - 1)))
                watch.remove(watched.remove(at: index))
            }
            #expect((watch.wakesAt == .max) == watched.isEmpty)
        }
        #expect(checks > 0)
        for member in watched { watch.remove(member) }
        #expect(watch.wakesAt == .max)
    }

    @Test("A request that is watched again is the last")
    func again() {
        var watch = SilenceWatch<Member>(interval: Self.interval)
        let (one, two) = (Member(), Member())
        watch.insert(one, at: 0)
        watch.insert(two, at: 10)
        watch.insert(one, at: 20)
        #expect(watch.wakesAt == 10 + Self.interval * 5 / 4)
        #expect(watch.popDue(at: 9 + Self.interval) == nil)
        #expect(watch.popDue(at: 10 + Self.interval) === two)
        #expect(watch.popDue(at: 20 + Self.interval) === one)
        #expect(watch.popDue(at: .max) == nil && watch.wakesAt == .max)
    }
}
