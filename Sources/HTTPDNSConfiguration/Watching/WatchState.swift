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
/// Between an event and the following check the file may change again. So it is read only after a check, events during the
/// check are processed before its result, and the content must be that of the checked file.
package struct WatchState: Sendable {
    package enum Action: Hashable, Sendable {
        /// Renew the watch of the folder, check the file, process the events until then, and report the result:
        /// ``looked(_:at:)``. That call always follows.
        case look
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
        enum Kind {
            /// It caused no event.
            case unseen
            case whole
            case open
            case closed
        }

        var kind: Kind
        var first: MonotonicTime
        var last: MonotonicTime

        func readAt(_ pace: WatchTiming) -> MonotonicTime {
            switch kind {
            case .unseen: min(last + pace.unseenSettling, max(last, first + pace.unseenLimit))
            case .whole: last
            case .open: last + pace.openLimit
            case .closed: min(last + pace.settling, max(last, first + pace.settlingLimit))
            }
        }
    }

    private struct Failure {
        var cause: String
        var isTold: Bool
        let since: MonotonicTime
        var lastChange: MonotonicTime
        var retryAt: MonotonicTime
        var retryAfter: Duration

        func warnAt(_ pace: WatchTiming) -> MonotonicTime {
            min(lastChange + pace.silence, since + pace.silenceLimit)
        }
    }

    /// The maximum number of causes that are remembered as reported; further ones are not reported.
    private static let rememberedCauses = 64

    /// The result of the last check.
    package private(set) var sight: FileStatus?
    private let pace: WatchTiming
    /// Whether the file is read on demand only.
    private let isOnDemandOnly: Bool
    private var change: Change?
    private var failure: Failure?
    private var told: Set<String> = []
    private var isReading = false
    private var isDemanded = false
    private var readsOnDemand = false
    private var lastChange: MonotonicTime
    /// Whether a requested check has no result yet.
    private var isLookDue = false
    /// Whether the last event since the last check says how the file changed.
    private var isExplained = false
    /// The time of the next check without an event; nil when the file is read on demand only.
    private var lookAt: MonotonicTime?

    /// - Parameter sight: The status of the file when the settings in use were read; nil when that is not known.
    package init(
        sight: FileStatus?,
        pace: WatchTiming = WatchTiming(),
        isOnDemandOnly: Bool = false,
        at now: MonotonicTime
    ) {
        self.sight = sight
        self.pace = pace
        self.isOnDemandOnly = isOnDemandOnly
        lastChange = now
    }

    /// The time at which ``timePassed(at:)`` has work to do; nil means never.
    package var deadline: MonotonicTime? {
        if isOnDemandOnly { return nil }
        return [
            isReading ? nil : change?.readAt(pace),
            isReading || change != nil ? nil : failure?.retryAt,
            failure.flatMap { $0.isTold ? nil : $0.warnAt(pace) },
            lookAt,
        ].compactMap(\.self).min()
    }

    package mutating func noticed(_ event: FileEvent, at now: MonotonicTime) -> [Action] {
        if event == .movedBeside { return askForLook() }
        let kind: Change.Kind? =
            switch (event, change?.kind) {
            case (.replaced, _): .whole
            case (.modified, _): .open
            // A writer that wrote nothing leaves a complete file complete.
            case (.closed, .whole?): .whole
            case (.closed, _): .closed
            case (.touched, let kind), (.movedBeside, let kind): kind
            }
        isExplained = event != .touched
        guard let kind else { return askForLook() }
        // A writer writes many times; the first write was checked.
        let isNews = event != .modified || change?.kind != .open
        change = Change(kind: kind, first: change?.first ?? now, last: now)
        failure?.lastChange = now
        return isNews ? askForLook() : []
    }

    private mutating func askForLook() -> [Action] {
        isLookDue = true
        return [.look]
    }

    package mutating func looked(_ sight: FileStatus, at now: MonotonicTime) -> [Action] {
        lookAt = isOnDemandOnly ? nil : now + pace.checking
        if sight != self.sight {
            self.sight = sight
            // A change without an event may have an active writer. So may the file behind another link or folder. Earlier
            // waits for other reasons do not count.
            if !isExplained, change?.kind != .unseen { change = Change(kind: .unseen, first: now, last: now) }
            change?.last = now
            failure?.lastChange = now
        }
        (isLookDue, isExplained) = (false, false)
        return due(at: now)
    }

    /// Processes a demand to read the file now, settled or not.
    package mutating func demanded(at now: MonotonicTime) -> [Action] {
        isDemanded = true
        // A check first, so that the content is known to be that of the checked file.
        return askForLook()
    }

    package mutating func timePassed(at now: MonotonicTime) -> [Action] {
        var actions: [Action] = []
        if let lookAt, lookAt <= now {
            self.lookAt = now + pace.checking
            actions += askForLook()
        }
        return actions + due(at: now)
    }

    package mutating func finished(_ outcome: Outcome, at now: MonotonicTime) -> [Action] {
        isReading = false
        switch outcome {
        case .changedMeanwhile:
            if change == nil { change = Change(kind: .unseen, first: now, last: now) }
            return askForLook()
        case .applied, .unchanged:
            // A file with its content in use again is in use; its reported failures are over.
            failure = nil
            guard !told.isEmpty else { return due(at: now) }
            told = []
            return [.tellRecovery] + due(at: now)
        case .failed(let cause):
            return noteFailure(cause, at: now) + due(at: now)
        }
    }

    private mutating func noteFailure(_ cause: String, at now: MonotonicTime) -> [Action] {
        let isSame = failure?.cause == cause
        let after = isSame ? min((failure?.retryAfter ?? pace.retrying) * 2, pace.retryingLimit) : pace.retrying
        failure = Failure(
            cause: cause,
            isTold: told.contains(cause) || told.count >= Self.rememberedCauses,
            since: failure.flatMap { $0.isTold ? nil : $0.since } ?? now,
            lastChange: max(lastChange, failure?.lastChange ?? lastChange),
            retryAt: now + after,
            retryAfter: after
        )
        // A reading on demand reports its failure.
        return readsOnDemand ? warn() : []
    }

    private mutating func warn() -> [Action] {
        guard let cause = failure?.cause, failure?.isTold == false else { return [] }
        failure?.isTold = true
        told.insert(cause)
        return [.warn(cause)]
    }

    /// Returns the actions that are due by now.
    private mutating func due(at now: MonotonicTime) -> [Action] {
        var actions: [Action] = []
        if let failure, failure.warnAt(pace) <= now { actions += warn() }
        guard !isReading, !isLookDue else { return actions }
        let isChangeDue = change.map { $0.readAt(pace) <= now } ?? false
        let isRetryDue = change == nil && failure.map { $0.retryAt <= now } ?? false
        guard isDemanded || !isOnDemandOnly && (isChangeDue || isRetryDue) else { return actions }
        readsOnDemand = isDemanded
        isDemanded = false
        isReading = true
        if let change { lastChange = change.last }
        change = nil
        return actions + [.read(expected: readsOnDemand ? nil : sight)]
    }
}

/// The intervals at which a watched file is read and failures are reported.
package struct WatchTiming: Hashable, Sendable {
    /// The time without changes before a file that was written in place is read.
    package var settling: Duration = .milliseconds(100)
    /// The same for a change without an event, after which a writer may still be active.
    package var unseenSettling: Duration = .seconds(1)
    /// The maximum delay of reading a file that differs at each check.
    package var unseenLimit: Duration = .seconds(5)
    /// The maximum delay of reading a file that is written again and again, and closed each time.
    package var settlingLimit: Duration = .seconds(1)
    /// The time that a writer may keep the file open without writing before it is read nevertheless.
    package var openLimit: Duration = .seconds(10)
    /// The time that a file must be invalid without a change before that is reported: half-written content is not reported.
    package var silence: Duration = .seconds(1)
    /// The time that a constantly changing file may be invalid before that is reported.
    package var silenceLimit: Duration = .seconds(5)
    /// The time after which an invalid file is read again without a change of its own, doubled each time: a file that it
    /// names (a CA file, a secret) may exist by now.
    package var retrying: Duration = .seconds(5)
    package var retryingLimit: Duration = .seconds(60)
    /// The interval of checks.
    package var checking: Duration = .seconds(1)

    package init() {}
}
