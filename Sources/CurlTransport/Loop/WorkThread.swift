internal import HTTPDNSPrimitives

/// A thread for one piece of work after the other. It is there while there is work and some seconds longer, asleep.
package final class WorkThread: Sendable {
    private struct State: Sendable {
        var work: [@Sendable () -> Void] = []
        var isRunning = false
        /// Whether the thread ends as soon as it has nothing to do.
        var isLeaving = false
    }

    private let name: String
    private let isOnDuty: Bool
    private let rest: Duration
    private let state = Monitor(State())

    /// - Parameters:
    ///   - name: At most 15 bytes on Linux.
    ///   - isOnDuty: Whether others wait for what is done there, see ``ThreadDuty``.
    ///   - rest: How long it stays without work.
    package init(named name: String, isOnDuty: Bool, rest: Duration = .seconds(5)) {
        self.name = name
        self.isOnDuty = isOnDuty
        self.rest = rest
    }

    /// Lets the thread do this after all that it was given before. Where the system gives no thread it is done at once, on the
    /// present one.
    package func enqueue(_ work: @escaping @Sendable () -> Void) {
        let starts = state.change { state in
            state.work.append(work)
            state.isLeaving = false
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if !starts || LoopThread.start(named: name, { [self] in run() }) { return }
        // That of others too, who have come meanwhile.
        let rest = state.change { state in
            state.isRunning = false
            defer { state.work = [] }
            return state.work
        }
        for work in rest { work() }
    }

    /// Lets the thread end when it has done what it was given so far. It comes back when it is given more.
    package func leave() {
        state.change { $0.isLeaving = true }
    }

    private func run() {
        if isOnDuty { ThreadDuty.begin() }
        while let work = next() {
            for item in work { item() }
        }
    }

    private func next() -> [@Sendable () -> Void]? {
        let work = state.wait(until: SystemTimeSource().now() + rest) { state -> [@Sendable () -> Void]? in
            guard state.work.isEmpty else {
                defer { state.work = [] }
                return state.work
            }
            guard state.isLeaving else { return nil }
            state.isRunning = false
            return []
        }
        if let work { return work.isEmpty ? nil : work }
        // Something may have come since the time was over.
        return state.change { state in
            state.isRunning = !state.work.isEmpty
            defer { state.work = [] }
            return state.work.isEmpty ? nil : state.work
        }
    }
}
