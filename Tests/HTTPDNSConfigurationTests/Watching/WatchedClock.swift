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
    /// How readings end.
    var outcome = WatchState.Outcome.applied

    init(_ sight: FileStatus, known: FileStatus?, isOnDemandOnly: Bool = false) {
        self.sight = sight
        state = WatchState(sight: known, isOnDemandOnly: isOnDemandOnly, at: MonotonicTime(nanoseconds: 0))
    }

    private var now: MonotonicTime { MonotonicTime(nanoseconds: Int64(milliseconds) * 1_000_000) }

    var deadline: Int? { state.deadline.map { Int($0.nanoseconds / 1_000_000) } }

    mutating func begin() { look() }

    mutating func event(_ event: FileEvent, _ sight: FileStatus? = nil) {
        if let sight { self.sight = sight }
        look([event])
    }

    /// Several events before the same look.
    mutating func events(_ events: [FileEvent], _ sight: FileStatus) {
        self.sight = sight
        look(events)
    }

    mutating func demand() {
        state.demand()
        look()
    }

    /// Lets time pass, with a stop at each deadline on the way.
    mutating func pass(_ duration: Int) {
        let end = milliseconds + duration
        while let deadline, deadline <= end {
            milliseconds = max(milliseconds, deadline)
            let before = journal.count
            look()
            // A deadline with nothing to do would be a busy loop.
            if journal.count == before, self.deadline == deadline { journal.append("\(milliseconds) spins"); return }
        }
        milliseconds = end
    }

    private mutating func look(_ events: [FileEvent] = []) {
        looks += 1
        var actions = state.looked(sight, events, at: now)
        while !actions.isEmpty {
            switch actions.removeFirst() {
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
