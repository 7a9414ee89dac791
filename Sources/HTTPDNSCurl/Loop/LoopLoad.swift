// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
internal import Synchronization

/// The activity of one loop at a moment, as other threads read it.
struct LoopActivity: Equatable {
    /// The share of a window that a loop works for at most, in percent, before it counts as busy.
    static let busyPercent = 70
    /// The number of transfers in progress up to which a loop never counts as busy. Spreading so few would open connections and
    /// gain nothing: most of the time goes by on the network.
    static let fewTransfers = 8
    /// The time after which a measurement no longer counts. A loop that works publishes one in each window, and a loop that
    /// sleeps publishes none.
    static let life = 2 * LoopMeter.window

    /// The share of the last window that the loop worked for, in percent.
    var percent: Int
    /// The end of that window, in nanoseconds on the loop's clock.
    var measuredAt: Int64
    /// The number of transfers in progress, those in the mailbox included.
    var transfers: Int

    /// Returns the share of the time that the loop works for; 0 when it has been asleep since the last measurement.
    func percent(at now: Int64) -> Int { now - measuredAt > LoopActivity.life ? 0 : percent }

    /// Returns whether new requests should go to another loop.
    func isBusy(at now: Int64) -> Bool { mayBeBusy && percent(at: now) >= LoopActivity.busyPercent }

    /// Whether the loop is busy unless its measurement is too old. This needs no clock.
    var mayBeBusy: Bool { percent >= LoopActivity.busyPercent && transfers > LoopActivity.fewTransfers }
}

/// A measurement of the time that a loop works, which is the time outside of its waits. A value type: it receives events with
/// their times, in nanoseconds on the loop's clock.
struct LoopMeter {
    /// The shortest time over which the work is measured.
    static let window: Int64 = 50_000_000

    private var windowStart: Int64
    /// The work in the window before the current stretch of it.
    private var worked: Int64 = 0
    /// The start of the current stretch of work.
    private var workingSince: Int64

    init(at now: Int64) { (windowStart, workingSince) = (now, now) }

    /// Notes that the loop is about to wait.
    mutating func sleeps(at now: Int64) {
        worked += max(0, now - workingSince)
        workingSince = .max
    }

    /// Notes the end of a wait, or of a turn without one.
    /// - Returns: The share of the window that has ended, in percent; `nil` while it continues.
    mutating func wakes(at now: Int64) -> Int? {
        if workingSince < .max { worked += max(0, now - workingSince) }
        workingSince = now
        let length = now - windowStart
        guard length >= LoopMeter.window else { return nil }
        defer { (windowStart, worked) = (now, 0) }
        return Int(min(100, worked * 100 / length))
    }
}

/// The activity that a loop publishes. The loop and the senders store single words, and nothing is locked.
final class LoopLoad: Sendable {
    /// The time of the last measurement in units of 2^20 ns, and in the lowest byte the percentage.
    private let measurement = Atomic<Int64>(0)
    /// The number of transfers that the loop has begun.
    private let active = Atomic<Int>(0)
    /// The number of jobs in the mailbox.
    private let queued = Atomic<Int>(0)
    /// The number of connections that no transfer uses.
    private let idle = Atomic<Int>(0)

    var activity: LoopActivity {
        let word = measurement.load(ordering: .relaxed)
        return LoopActivity(percent: Int(word & 0xff), measuredAt: (word >> 8) << 20, transfers: transfers)
    }

    /// The number of transfers in progress, those in the mailbox included.
    var transfers: Int { active.load(ordering: .relaxed) + queued.load(ordering: .relaxed) }

    var idleConnections: Int { idle.load(ordering: .relaxed) }

    /// Publishes a measurement.
    func measured(_ percent: Int, at now: Int64) {
        measurement.store((now >> 20) << 8 | Int64(percent), ordering: .relaxed)
    }

    /// Publishes the number of jobs in the mailbox.
    func queue(_ jobs: Int) { queued.store(jobs, ordering: .relaxed) }

    /// Publishes the number of transfers that the loop has begun, and of the connections that none of them uses. Over HTTP/2
    /// transfers share connections, and fewer connections than that may be in use.
    func publish(transfers: Int, connections: Int) {
        active.store(transfers, ordering: .relaxed)
        idle.store(max(0, connections - transfers), ordering: .relaxed)
    }
}
