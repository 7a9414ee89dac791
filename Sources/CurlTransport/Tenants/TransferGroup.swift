package import HTTPDNSPrimitives

/// The transfers of one client among those of others on the same loop: counted, bounded, and ended together.
package final class TransferGroup: Sendable {
    private struct State {
        var members: [Transfer] = []
        var isClosed = false
        var waiters: [UnsafeContinuation<Void, Never>] = []
    }

    /// How many transfers there may be at once.
    package let maximum: Int
    private let state = Lock(State())

    package init(maximum: Int = .max) {
        self.maximum = maximum
    }

    /// How many transfers have begun and not ended.
    package var inFlight: Int { state.withLock { $0.members.count } }

    /// Takes a transfer in before it begins.
    /// - Throws: ``TransferFailure`` with code `shutDown`, or `limitReached`: nothing was sent.
    func add(_ transfer: Transfer) throws(TransferFailure) {
        try state.withLock { state throws(TransferFailure) in
            if state.isClosed {
                throw TransferFailure(code: .shutDown, phase: .queue, message: "the client is shut down")
            }
            guard state.members.count < maximum else {
                throw TransferFailure(
                    code: .limitReached,
                    phase: .queue,
                    message: "\(maximum) requests are in flight already, which is the client's limit"
                )
            }
            transfer.groupIndex = state.members.count
            state.members.append(transfer)
        }
    }

    /// A transfer has ended. A second call does nothing.
    func remove(_ transfer: Transfer) {
        let waiters = state.withLock { state -> [UnsafeContinuation<Void, Never>] in
            let index = transfer.groupIndex
            guard index >= 0 else { return [] }
            transfer.groupIndex = -1
            let last = state.members.removeLast()
            if last !== transfer {
                state.members[index] = last
                last.groupIndex = index
            }
            guard state.isClosed, state.members.isEmpty else { return [] }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Refuses new transfers, lets those in flight end until `deadline`, cuts the rest, and returns when none is left.
    /// Idempotent, also from several tasks at once: the earliest deadline decides. Transfers of other groups go on.
    package func close(drainingUntil deadline: MonotonicTime, on clock: any TimeSource = SystemTimeSource()) async {
        state.withLock { $0.isClosed = true }
        guard clock.now() < deadline else {
            cut()
            return await awaitEmpty()
        }
        let timer = Task {
            try await clock.sleep(until: deadline)
            self.cut()
        }
        await awaitEmpty()
        timer.cancel()
    }

    private func cut() {
        let members = state.withLock { $0.members }
        for transfer in members { transfer.cut() }
    }

    private func awaitEmpty() async {
        await withUnsafeContinuation { continuation in
            let isEmpty = state.withLock { state in
                if !state.members.isEmpty { state.waiters.append(continuation) }
                return state.members.isEmpty
            }
            if isEmpty { continuation.resume() }
        }
    }
}
