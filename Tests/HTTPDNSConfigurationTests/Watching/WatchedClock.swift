// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSConfiguration
import HTTPDNSPrimitives

/// Drives a ``WatchState`` through made-up time, and writes down what it wants done, with the millisecond.
struct WatchedClock {
    private var state: WatchState
    private var milliseconds = 0
    private(set) var journal: [String] = []
    private(set) var looks = 0
    /// What a look shows.
    var sight: FileStatus
    /// What is told while the next look is under way.
    var toldMeanwhile: [FileEvent] = []
    /// How readings end.
    var outcome = WatchState.Outcome.applied

    init(_ sight: FileStatus, known: FileStatus?, isOnDemandOnly: Bool = false) {
        self.sight = sight
        state = WatchState(sight: known, isOnDemandOnly: isOnDemandOnly, at: MonotonicTime(nanoseconds: 0))
    }

    private var now: MonotonicTime { MonotonicTime(nanoseconds: Int64(milliseconds) * 1_000_000) }

    var deadline: Int? { state.deadline.map { Int($0.nanoseconds / 1_000_000) } }

    mutating func begin() { perform([.look]) }

    mutating func event(_ event: FileEvent, _ sight: FileStatus? = nil) {
        if let sight { self.sight = sight }
        perform(state.noticed(event, at: now))
    }

    /// Several events, of which all are noticed before anything is done about the first.
    mutating func events(_ events: [FileEvent], _ sight: FileStatus) {
        self.sight = sight
        var actions: [WatchState.Action] = []
        for event in events { actions += state.noticed(event, at: now) }
        perform(actions)
    }

    /// An event that comes at the moment of a deadline: both are noticed before anything is done about either.
    mutating func eventOnTime(_ event: FileEvent, _ sight: FileStatus) {
        self.sight = sight
        perform(state.noticed(event, at: now) + state.timePassed(at: now))
    }

    mutating func demand() { perform(state.demanded(at: now)) }

    /// Lets time pass, with a stop at each deadline on the way.
    mutating func pass(_ duration: Int) {
        let end = milliseconds + duration
        while let deadline, deadline <= end {
            milliseconds = max(milliseconds, deadline)
            let before = journal.count
            perform(state.timePassed(at: now))
            // A deadline with nothing to do would be a busy loop.
            if journal.count == before, self.deadline == deadline { journal.append("\(milliseconds) spins"); return }
        }
        milliseconds = end
    }

    private mutating func perform(_ actions: [WatchState.Action]) {
        var actions = actions
        while !actions.isEmpty {
            switch actions.removeFirst() {
            case .look:
                looks += 1
                for event in toldMeanwhile { _ = state.noticed(event, at: now) }
                toldMeanwhile = []
                actions += state.looked(sight, at: now)
            case .read(let expected):
                journal.append("\(milliseconds) read\(expected == nil ? " on demand" : "")")
                actions += state.finished(outcome, at: now)
            case .warn(let cause): journal.append("\(milliseconds) warn \(cause)")
            case .tellRecovery: journal.append("\(milliseconds) recovered")
            }
        }
    }
}

extension FileStatus {
    /// A file with this content number.
    static func version(_ number: Int, inode: UInt64? = nil) -> FileStatus {
        .file(Stamp(inode: inode ?? UInt64(100 + number), size: Int64(number), modified: Int64(number)))
    }
}
