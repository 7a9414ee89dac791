package import HTTPDNSPrimitives

/// Decides when a watched file is read, and what is said about it. A value: it looks at nothing and reads nothing itself.
///
/// - A file that was moved or linked into place is whole, and is read at once.
/// - One that is written in place is read when its writer has closed it and nothing has happened for a moment.
/// - One that is another than before, and nobody saw how it came to be what it is, is read when it has rested for a second.
///
/// Between an event and the look that follows the file may change again. So nothing is read before a look, events that
/// come while looking are noticed before its result, and what is read must be what the look showed.
/// - One that cannot be used is told about once for each cause, and not before it has been left alone for a second.
package struct WatchState: Sendable {
    package enum Action: Hashable, Sendable {
        /// Watch anew what leads to the file, look at it, notice what was told until then, and say what the look showed:
        /// ``looked(_:isTold:at:)``. It follows always.
        case look
        /// Read the file and apply it: ``finished(_:at:)``. A file that is not what is expected is left alone; nil, when the
        /// reading is demanded, takes it as it is.
        case read(expected: FileSight?)
        /// Tell that the file cannot be used.
        case warn(String)
        /// Tell that it can be used again.
        case tellRecovery
    }

    /// How a reading ended.
    package enum Outcome: Hashable, Sendable {
        /// Its settings are in use.
        case applied
        /// It says what it said when it was applied last.
        case unchanged
        /// It was no longer the file that was looked at.
        case changedMeanwhile
        /// It cannot be used, and why. What was in use before stays.
        case failed(String)
    }

    /// A change that was not read yet.
    private struct Change {
        enum Kind {
            /// No event told of it.
            case unseen
            /// Something happened to it, but nobody wrote.
            case touched
            case whole
            case open
            case closed
        }

        var kind: Kind
        var first: MonotonicTime
        var last: MonotonicTime

        func readAt(_ pace: WatchPace) -> MonotonicTime {
            switch kind {
            case .unseen: min(last + pace.unseenSettling, max(last, first + pace.unseenLimit))
            case .whole: last
            case .open: last + pace.openLimit
            case .touched, .closed: min(last + pace.settling, max(last, first + pace.settlingLimit))
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

        func warnAt(_ pace: WatchPace) -> MonotonicTime {
            min(lastChange + pace.silence, since + pace.silenceLimit)
        }
    }

    /// How many causes are remembered as told; whoever makes up more is told about no more.
    private static let rememberedCauses = 64

    /// What the last look showed.
    package private(set) var sight: FileSight?
    private let pace: WatchPace
    /// Whether the file is read when somebody wants it, and never by itself.
    private let isOnDemandOnly: Bool
    private var change: Change?
    private var failure: Failure?
    private var told: Set<String> = []
    private var isReading = false
    private var isDemanded = false
    private var readsOnDemand = false
    private var lastChange: MonotonicTime
    /// Whether a look was asked for and has shown nothing yet.
    private var isLookDue = false
    /// Whether anything was told since the last look.
    private var isExplained = false
    /// Whether the way to the file was another one since the last look.
    private var isDiverted = false
    /// When to look without an event; nil while events tell of every change.
    private var lookAt: MonotonicTime?

    /// - Parameter sight: What the file was when the settings in use were read; nil when that is not known.
    package init(
        sight: FileSight?,
        pace: WatchPace = WatchPace(),
        isOnDemandOnly: Bool = false,
        at now: MonotonicTime
    ) {
        self.sight = sight
        self.pace = pace
        self.isOnDemandOnly = isOnDemandOnly
        lastChange = now
    }

    /// When ``timePassed(at:)`` has something to do; nil means never, as long as nothing happens.
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
        let kind: Change.Kind =
            switch (event, change?.kind) {
            case (.replaced, _): .whole
            case (.created, _), (.modified, _): .open
            // A writer that wrote nothing leaves a whole file whole.
            case (.closed, .whole?), (.touched, .whole?): .whole
            case (.closed, _): .closed
            case (.touched, let kind?), (.diverted, let kind?): kind
            case (.touched, nil), (.diverted, nil): .touched
            }
        isExplained = true
        // Until the way is watched anew, what is told may be about the file that it led to before.
        if event == .diverted { isDiverted = true }
        // Who has it open writes many times; the first time was looked at.
        let isNews = event != .modified || change?.kind != .open
        change = Change(kind: kind, first: change?.first ?? now, last: now)
        failure?.lastChange = now
        return isNews ? askForLook() : []
    }

    private mutating func askForLook() -> [Action] {
        isLookDue = true
        return [.look]
    }

    /// - Parameter isTold: Whether events will tell of every change from now on.
    package mutating func looked(_ sight: FileSight, isTold: Bool, at now: MonotonicTime) -> [Action] {
        lookAt = isTold || isOnDemandOnly ? nil : now + pace.polling
        if sight != self.sight {
            let isOther = !sight.isSameFile(as: self.sight)
            self.sight = sight
            // What nobody told of may have a writer, and so may a file that the way leads to only now: it was not watched.
            let isUnseen = !isExplained || !isTold || isDiverted || isOther && change?.kind == .touched
            if change == nil { noteUnseen(at: now) } else if isUnseen, case .file = sight { noteUnseen(at: now) }
            change?.last = now
            failure?.lastChange = now
        }
        (isLookDue, isExplained, isDiverted) = (false, false, false)
        return due(at: now)
    }

    private mutating func noteUnseen(at now: MonotonicTime) {
        guard change?.kind != .unseen else { return }
        // How long it was waited for other reasons does not count.
        change = Change(kind: .unseen, first: now, last: now)
    }

    /// Somebody wants the file to be read now, settled or not.
    package mutating func demanded(at now: MonotonicTime) -> [Action] {
        isDemanded = true
        // A look first, so that the reading is known to be of what the look showed.
        return askForLook()
    }

    package mutating func timePassed(at now: MonotonicTime) -> [Action] {
        var actions: [Action] = []
        if let lookAt, lookAt <= now {
            self.lookAt = now + pace.polling
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
            // A file that is as it was in use before is in use; what was told about it is over.
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
        // Whoever asked for it wants to hear of it.
        return readsOnDemand ? warn() : []
    }

    private mutating func warn() -> [Action] {
        guard let cause = failure?.cause, failure?.isTold == false else { return [] }
        failure?.isTold = true
        told.insert(cause)
        return [.warn(cause)]
    }

    /// What is to be done by now.
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
