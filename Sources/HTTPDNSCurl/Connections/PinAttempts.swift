// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// An attempt of a race that knows its index in ``PinAttempts``, so that it can be removed.
protocol RacingAttempt: AnyObject {
    /// Whether it has a connection of its own.
    var hasOpenedConnection: Bool { get }
    var listing: AttemptListing { get set }
}

/// The position of an attempt in ``PinAttempts``, which alone changes it.
struct AttemptListing {
    /// The index in the list; -1 when it is not there.
    fileprivate(set) var index = -1
    /// Whether it is there among those with a connection of their own.
    fileprivate(set) var isConnecting = false

    var isListed: Bool { index >= 0 }
}

/// The racing attempts at one pin that have not passed the gate, and that no event at the pin has reached yet. Loop thread
/// only.
///
/// An event that concerns all attempts at a pin takes them from here, so that it costs as much as there are attempts to
/// inform. An attempt that stays is listed again when its race begins another one: only then can the next event change
/// anything.
struct PinAttempts<Attempt: RacingAttempt> {
    /// Those that wait for the connection of another transfer.
    private var waiting: [Attempt] = []
    /// Those with a connection of their own.
    private var connecting: [Attempt] = []

    mutating func insert(_ handle: Attempt) {
        guard !handle.listing.isListed else { return }
        handle.listing.isConnecting = handle.hasOpenedConnection
        if handle.listing.isConnecting {
            handle.listing.index = connecting.count
            connecting.append(handle)
        } else {
            handle.listing.index = waiting.count
            waiting.append(handle)
        }
    }

    /// Removes an attempt; without effect if it is not listed.
    mutating func remove(_ handle: Attempt) {
        guard handle.listing.isListed else { return }
        if handle.listing.isConnecting {
            PinAttempts.remove(handle, from: &connecting)
        } else {
            PinAttempts.remove(handle, from: &waiting)
        }
    }

    /// Notes that an attempt has got a connection of its own.
    mutating func connects(_ handle: Attempt) {
        guard handle.listing.isListed, !handle.listing.isConnecting else { return }
        remove(handle)
        insert(handle)
    }

    /// Takes all attempts that wait for the connection of another transfer.
    mutating func takeWaiting() -> [Attempt] { PinAttempts.take(from: &waiting) }

    /// Takes all attempts.
    mutating func takeAll() -> [Attempt] { takeWaiting() + PinAttempts.take(from: &connecting) }

    private static func take(from handles: inout [Attempt]) -> [Attempt] {
        if handles.isEmpty { return [] }
        for handle in handles { handle.listing.index = -1 }
        defer { handles = [] }
        return handles
    }

    private static func remove(_ handle: Attempt, from handles: inout [Attempt]) {
        let last = handles.removeLast()
        if last !== handle {
            handles[handle.listing.index] = last
            last.listing.index = handle.listing.index
        }
        handle.listing.index = -1
    }
}
