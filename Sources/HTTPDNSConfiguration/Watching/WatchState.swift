// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSPrimitives

/// The decision when a watched file is read, and which reports are sent. A value: it neither checks nor reads the file
/// itself.
///
/// - The file is checked every second, and after each event.
/// - A file that was moved into place is complete, and is read immediately.
/// - A file that is written in place is read when its writer has closed it and there was no event for a moment.
/// - A file that changed without an event is read when it has not changed for a second.
/// - A file that cannot be used is reported once for each cause, and not before it has been unchanged for a second.
///
/// Between an event and the following check the file may change again. So it is read only after a check, with the events
/// until then, and the content must be that of the checked file.
package struct WatchState: Sendable {
    package enum Action: Hashable, Sendable {
        /// Read the file and apply it: ``finished(_:at:)``. A file with another status than expected is left alone; nil, for
        /// a reading on demand, accepts any.
        case read(expected: FileStatus?)
        /// Report that the file cannot be used.
        case warn(String)
        /// Report that it can be used again.
        case tellRecovery
    }

    /// The outcome of a reading.
    package enum Outcome: Hashable, Sendable {
        /// Its settings are in use.
        case applied
        /// Its content is the same as when it was applied last.
        case unchanged
        /// It was no longer the file that was checked.
        case changedMeanwhile
        /// It cannot be used, for this reason. The settings in use stay.
        case failed(String)
    }

    /// A change that was not read yet.
    private struct Change {
        /// The last event that says how the file changed; nil for a change without one.
        var event: FileEvent?
        var first: MonotonicTime
        var last: MonotonicTime

        var readAt: MonotonicTime {
            switch event {
            case .replaced: last
            case .modified: last + WatchTiming.openLimit
            case .closed: min(last + WatchTiming.settling, max(last, first + WatchTiming.settlingLimit))
            // A change without an event may have an active writer.
            case .touched, nil: min(last + WatchTiming.unseenSettling, max(last, first + WatchTiming.unseenLimit))
            }
        }
    }

    private struct Failure {
        var cause: String
        let since: MonotonicTime
        var lastChange: MonotonicTime
        var retryAt: MonotonicTime
        var retryAfter: Duration

        var warnAt: MonotonicTime {
            min(lastChange + WatchTiming.silence, since + WatchTiming.silenceLimit)
        }
    }

    /// The maximum number of causes that are remembered as reported; further ones are not reported.
    private static let rememberedCauses = 64

    /// The result of the last check.
    package private(set) var sight: FileStatus?
    /// Whether the file is read on demand only.
    private let isOnDemandOnly: Bool
    private var change: Change?
    private var failure: Failure?
    private var told: Set<String> = []
    private var isDemanded = false
    private var readsOnDemand = false
    private var lastChange: MonotonicTime
    /// The time of the next check without an event.
    private var lookAt: MonotonicTime

    /// - Parameter sight: The status of the file when the settings in use were read; nil when that is not known.
    package init(sight: FileStatus?, isOnDemandOnly: Bool = false, at now: MonotonicTime) {
        self.sight = sight
        self.isOnDemandOnly = isOnDemandOnly
        (lastChange, lookAt) = (now, now)
    }

    /// The time of the next check, unless an event or a demand comes first; nil means never.
    package var deadline: MonotonicTime? {
        if isOnDemandOnly { return nil }
        return [change?.readAt, change == nil ? failure?.retryAt : nil, untold?.warnAt, lookAt]
            .compactMap(\.self).min()
    }

    /// The failure, unless its cause was reported.
    private var untold: Failure? {
        failure.flatMap { told.contains($0.cause) || told.count >= Self.rememberedCauses ? nil : $0 }
    }

    /// Makes the next check lead to a reading, whether or not the file has settled.
    package mutating func demand() { isDemanded = true }

    /// Processes a check of the file.
    /// - Parameter events: The events since the last check.
    package mutating func looked(_ sight: FileStatus, _ events: [FileEvent] = [], at now: MonotonicTime) -> [Action] {
        lookAt = now + WatchTiming.checking
        for event in events where event != .touched {
            // A writer that wrote nothing leaves a complete file complete.
            let isWhole = event == .closed && change?.event == .replaced
            change = Change(event: isWhole ? .replaced : event, first: change?.first ?? now, last: now)
            failure?.lastChange = now
        }
        if sight != self.sight {
            // The file behind another link or folder may have a writer as well. Earlier waits for other reasons do not count.
            // The event of a write may have come with the check before.
            let isWriting = change?.event == .modified && sight.isSameFile(as: self.sight)
            let isExplained = isWriting || events.last.map { $0 != .touched } ?? false
            self.sight = sight
            if !isExplained, change == nil || change?.event != nil { change = Change(first: now, last: now) }
            change?.last = now
            failure?.lastChange = now
        }
        return due(at: now)
    }

    package mutating func finished(_ outcome: Outcome, at now: MonotonicTime) -> [Action] {
        switch outcome {
        case .changedMeanwhile:
            change = change ?? Change(first: now, last: now)
            lookAt = now
        case .applied, .unchanged:
            // A file with its content in use again is in use; its reported failures are over.
            failure = nil
            guard !told.isEmpty else { return [] }
            told = []
            return [.tellRecovery]
        case .failed(let cause):
            let isSame = failure?.cause == cause
            let doubled = failure.map { isSame ? $0.retryAfter * 2 : WatchTiming.retrying } ?? WatchTiming.retrying
            let after = min(doubled, WatchTiming.retryingLimit)
            failure = Failure(
                cause: cause,
                since: untold?.since ?? now,
                lastChange: max(lastChange, failure?.lastChange ?? lastChange),
                retryAt: now + after,
                retryAfter: after
            )
            // A reading on demand reports its failure.
            if readsOnDemand { return warn() }
        }
        return []
    }

    private mutating func warn() -> [Action] {
        guard let cause = untold?.cause else { return [] }
        told.insert(cause)
        return [.warn(cause)]
    }

    /// Returns the actions that are due by now.
    private mutating func due(at now: MonotonicTime) -> [Action] {
        let warnings = untold.map { $0.warnAt <= now } ?? false ? warn() : []
        let isChangeDue = change.map { $0.readAt <= now } ?? false
        let isRetryDue = change == nil && failure.map { $0.retryAt <= now } ?? false
        guard isDemanded || !isOnDemandOnly && (isChangeDue || isRetryDue) else { return warnings }
        readsOnDemand = isDemanded
        isDemanded = false
        if let change { lastChange = change.last }
        change = nil
        return warnings + [.read(expected: readsOnDemand ? nil : sight)]
    }
}

/// The intervals at which a watched file is read and failures are reported.
enum WatchTiming {
    /// The time without changes before a file that was written in place is read.
    static let settling = Duration.milliseconds(100)
    /// The same for a change without an event, after which a writer may still be active.
    static let unseenSettling = Duration.seconds(1)
    /// The maximum delay of reading a file that differs at each check.
    static let unseenLimit = Duration.seconds(5)
    /// The maximum delay of reading a file that is written again and again, and closed each time.
    static let settlingLimit = Duration.seconds(1)
    /// The time that a writer may keep the file open without writing before it is read nevertheless.
    static let openLimit = Duration.seconds(10)
    /// The time that a file must be invalid without a change before that is reported: half-written content is not reported.
    static let silence = Duration.seconds(1)
    /// The time that a constantly changing file may be invalid before that is reported.
    static let silenceLimit = Duration.seconds(5)
    /// The time after which an invalid file is read again without a change of its own, doubled each time: a file that it
    /// names (a CA file, a secret) may exist by now.
    static let retrying = Duration.seconds(5)
    static let retryingLimit = Duration.seconds(60)
    /// The interval of checks.
    static let checking = Duration.seconds(1)
}
