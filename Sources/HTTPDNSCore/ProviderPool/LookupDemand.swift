// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
internal import Synchronization

/// The time until which a call that waits for a lookup has use for its answer. A lookup continues without them, for later
/// ones; its queries then wait behind those that a call still waits for.
///
/// It is half of the call's time limit: an answer at its end leaves no time for a request to the address, and under overload
/// all answers would come then.
final class LookupDemand: Sendable {
    private let latest: Atomic<Int64>

    init(since start: MonotonicTime, limit: Duration) { latest = Atomic(LookupDemand.end(since: start, limit)) }

    var end: MonotonicTime { MonotonicTime(nanoseconds: latest.load(ordering: .relaxed)) }

    /// Adds a call.
    func add(since start: MonotonicTime, limit: Duration) {
        latest.max(LookupDemand.end(since: start, limit), ordering: .relaxed)
    }

    private static func end(since start: MonotonicTime, _ limit: Duration) -> Int64 { (start + limit / 2).nanoseconds }
}
