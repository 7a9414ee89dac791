// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// An object that knows its neighbors in a ``SilenceWatch``, so that it can be removed.
protocol WatchMember: AnyObject {
    var watch: WatchEntry<Self> { get set }
}

/// The position of a member in its ``SilenceWatch``, which alone changes it.
struct WatchEntry<Member: AnyObject> {
    /// The time since which it is watched, in nanoseconds on the loop's clock; `Int64.max` when it is not.
    fileprivate(set) var since = Int64.max
    /// The neighbors. They keep no reference: a member is removed before its last reference goes.
    fileprivate unowned(unsafe) var previous: Member?
    fileprivate unowned(unsafe) var next: Member?
}

/// The requests whose connection is checked when they have no response after an interval, the oldest first. A value type: it
/// receives events with their times, in nanoseconds on the loop's clock.
///
/// The interval is the same for all, so a request joins at the end and leaves in one step, without a heap. A request that is
/// answered leaves nothing behind. The loop sleeps longer than until the end of the first interval, by ``slack``: one wake-up
/// serves all requests that have become due meanwhile. So a silent request is checked after one interval at the earliest, and
/// after one and a quarter at the latest.
struct SilenceWatch<Member: WatchMember> {
    /// The time without a response after which a request is due.
    let interval: Int64
    /// The longest time for which a due request waits for the loop.
    var slack: Int64 { interval / 4 }
    // Without a count of references, as in the neighbors.
    private unowned(unsafe) var first: Member?
    private unowned(unsafe) var last: Member?

    /// - Parameter interval: In nanoseconds; at least 10 ms, and at most half of what an `Int64` holds, for a sum with the slack.
    init(interval: Int64) { self.interval = min(max(interval, 10_000_000), .max / 2) }

    /// The time at which a sleeping loop has to wake up; `Int64.max` without a request.
    var wakesAt: Int64 {
        guard let first else { return .max }
        let (time, overflow) = first.watch.since.addingReportingOverflow(interval + slack)
        return overflow ? .max : time
    }

    /// Begins to watch a request, or begins again.
    /// - Parameter now: At least as late as in the call before.
    mutating func insert(_ member: Member, at now: Int64) {
        remove(member)
        member.watch.since = now
        member.watch.previous = last
        if let last { last.watch.next = member } else { first = member }
        last = member
    }

    /// Ends the watch of a request; without effect if it is not watched.
    mutating func remove(_ member: Member) {
        guard member.watch.since < .max else { return }
        member.watch.since = .max
        let (previous, next) = (member.watch.previous, member.watch.next)
        if let previous { previous.watch.next = next } else { first = next }
        if let next { next.watch.previous = previous } else { last = previous }
        member.watch.previous = nil
        member.watch.next = nil
    }

    /// Returns a request that is due, whose watch ends; `nil` when none is.
    mutating func popDue(at now: Int64) -> Member? {
        guard let first, now - first.watch.since >= interval else { return nil }
        remove(first)
        return first
    }
}
