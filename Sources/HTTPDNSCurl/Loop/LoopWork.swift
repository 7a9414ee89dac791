// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The work that libcurl's callbacks and jobs have left for the loop's next steps, and the time of its timed work.
struct LoopWork {
    /// The kinds of work: a turn without any costs one test.
    struct Kinds: OptionSet {
        let rawValue: UInt8

        /// Transfers that libcurl may have ended, decided races, or failed attempts.
        static let ends = Kinds(rawValue: 1)
        /// Received data.
        static let readable = Kinds(rawValue: 2)
        /// Callers to resume.
        static let resumptions = Kinds(rawValue: 4)
        /// Responses that began while their stream had nothing to send.
        static let earlyAnswers = Kinds(rawValue: 8)
    }

    var kinds = Kinds()
    /// The time at which the first of the steps that have a time is due, as of the last wait.
    var timedAt = Int64.min
    /// Handles with something to deliver.
    private(set) var readable: [EasyHandle] = []
    /// Handles whose response began while their stream had nothing to send.
    private var answeredEarly: [EasyHandle] = []
    /// Pins at which attempts failed in this turn, see ``TransportLoop/moveWaiters()``.
    private var failedPins: [Pin] = []
    /// Transfers whose winning attempt libcurl has just let through; the others are removed once libcurl returns.
    private var decided: [Transfer] = []
    /// Pins with transfers that wait for a stream.
    var crowded: [Pin] = []

    mutating func add(readable handle: EasyHandle) {
        guard !handle.isReadable else { return }
        handle.isReadable = true
        readable.append(handle)
        kinds.insert(.readable)
    }

    mutating func clearReadable() { readable.removeAll(keepingCapacity: true) }

    mutating func add(answeredEarly handle: EasyHandle) {
        answeredEarly.append(handle)
        kinds.insert(.earlyAnswers)
    }

    mutating func popAnsweredEarly() -> EasyHandle? { answeredEarly.popLast() }

    mutating func add(failed pin: Pin) {
        guard !pin.hasFailedAttempt else { return }
        pin.hasFailedAttempt = true
        failedPins.append(pin)
        kinds.insert(.ends)
    }

    mutating func popFailed() -> Pin? {
        guard let pin = failedPins.popLast() else { return nil }
        pin.hasFailedAttempt = false
        return pin
    }

    mutating func add(decided transfer: Transfer) {
        decided.append(transfer)
        kinds.insert(.ends)
    }

    mutating func popDecided() -> Transfer? { decided.popLast() }

    /// Notes that all transfers that libcurl has ended are collected.
    mutating func endsAreCollected() {
        if decided.isEmpty { kinds.remove(.ends) }
    }
}
