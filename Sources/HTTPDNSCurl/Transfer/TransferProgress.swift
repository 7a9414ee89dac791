// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The phase of a transfer and its times, in nanoseconds on the loop's clock.
struct TransferProgress {
    private(set) var phase = EasyHandle.Phase.connecting
    private(set) var startedAt: Int64 = 0
    /// The time at which its connection was begun, or looked for.
    var dialedAt: Int64 = 0
    /// The time at which the phase began, or bytes last moved.
    var activeAt: Int64 = 0
    /// The time at which the pin last got the information that its server responds.
    private var heardAt: Int64 = 0
    /// The end of the race's delay; `Int64.max` without a race, and after the delay.
    var delayedUntil = Int64.max
    /// The time at which its connection is checked while the request has no response; `Int64.max` without a check at a time of
    /// its own. See also ``TransportLoop/watched``.
    var livenessCheckAt = Int64.max
    /// The time at which its request is sent once more in parallel; `Int64.max` for never.
    var hedgesAt = Int64.max

    mutating func start(at now: Int64) {
        startedAt = now
        dialedAt = now
        activeAt = now
    }

    /// Notes that another connection is begun.
    mutating func redial(at now: Int64) {
        phase = .connecting
        dialedAt = now
        activeAt = now
        hedgesAt = .max
    }

    /// - Returns: Whether the server has not been heard at this time before.
    mutating func hears(at now: Int64) -> Bool {
        defer { heardAt = now }
        return heardAt != now
    }

    /// Begins a phase.
    /// - Returns: Whether it is a new one.
    mutating func enters(_ next: EasyHandle.Phase) -> Bool {
        // A full-duplex response may begin before the request body is sent; the phase never goes back.
        guard phase != next, phase != .receiving else { return false }
        phase = next
        return true
    }
}
