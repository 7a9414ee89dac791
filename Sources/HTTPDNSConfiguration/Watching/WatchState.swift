package import HTTPDNSPrimitives

/// Decides when a watched file is read, and what is said about it. A value: it looks at nothing and reads nothing itself.
///
/// - A file that was moved or linked into place is whole, and is read at once.
/// - One that is written in place is read when its writer has closed it and nothing has happened for a moment.
/// - One that cannot be used is told about once for each cause, and not before it has been left alone for a second.
package struct WatchState: Sendable {
    package enum Action: Hashable, Sendable {
        /// Watch anew what leads to the file, and look at it: ``looked(_:isTold:at:)``.
        case look
        /// Read the file and apply it: ``finished(_:at:)``. Unless the reading is demanded, a file that is not as the last
        /// look showed it is left alone.
        case read(isDemanded: Bool)
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
            case .unseen: last + pace.unseenSettling
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
            case (.touched, let kind?): kind
            case (.touched, nil): .touched
            }
        // Who has it open writes many times; the first time was looked at.
        let isNews = change?.kind != .open || kind != .open || event == .created
        change = Change(kind: kind, first: change?.first ?? now, last: now)
        failure?.lastChange = now
        return isNews ? [.look] : []
    }

    /// - Parameter isTold: Whether events will tell of every change from now on.
    package mutating func looked(_ sight: FileSight, isTold: Bool, at now: MonotonicTime) -> [Action] {
        lookAt = isTold || isOnDemandOnly ? nil : now + pace.polling
        if sight != self.sight {
            let isOther = !sight.isSameFile(as: self.sight)
            self.sight = sight
            if change == nil { change = Change(kind: .unseen, first: now, last: now) }
            // Another file, and no event told how it came there: it may have a writer.
            if isOther, change?.kind == .touched { change?.kind = .unseen }
            change?.last = now
            failure?.lastChange = now
        }
        return due(at: now)
    }

    /// Somebody wants the file to be read now, settled or not.
    package mutating func demanded(at now: MonotonicTime) -> [Action] {
        isDemanded = true
        // A look first, so that the reading is known to be of what the look showed.
        return [.look]
    }

    package mutating func timePassed(at now: MonotonicTime) -> [Action] {
        var actions: [Action] = []
        if let lookAt, lookAt <= now {
            self.lookAt = now + pace.polling
            actions.append(.look)
        }
        return actions + due(at: now)
    }

    package mutating func finished(_ outcome: Outcome, at now: MonotonicTime) -> [Action] {
        isReading = false
        switch outcome {
        case .changedMeanwhile:
            if change == nil { change = Change(kind: .unseen, first: now, last: now) }
            return [.look]
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
            since: failure?.since ?? now,
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
        guard !isReading else { return actions }
        let isChangeDue = change.map { $0.readAt(pace) <= now } ?? false
        let isRetryDue = change == nil && failure.map { $0.retryAt <= now } ?? false
        guard isDemanded || !isOnDemandOnly && (isChangeDue || isRetryDue) else { return actions }
        readsOnDemand = isDemanded
        isDemanded = false
        isReading = true
        if let change { lastChange = change.last }
        change = nil
        return actions + [.read(isDemanded: readsOnDemand)]
    }
}
