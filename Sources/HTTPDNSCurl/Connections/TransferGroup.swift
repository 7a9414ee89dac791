// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSPrimitives

/// The transfers of one client among those of others on the same loop: counted, bounded, and ended together.
///
/// Transfers that begin under the same settings form a transport set. When the settings change, ``advance()`` begins the next
/// transport set. Older transport sets get no more members, so the end of the last transfer under the old settings is known.
package final class TransferGroup: Sendable {
    /// The error of a request whose transport set ended before it began. Nothing of it was sent, and it can begin in the newest
    /// transport set.
    package struct StaleTransportSet: Error {
        package let request: TransferRequest
    }

    private struct TransportSetCount {
        let number: Int
        var inFlight = 0
        var waiters: [OneShot<Void>] = []
    }

    private struct State {
        var members: [Transfer] = []
        /// The transport sets, the newest last; older ones are kept while they have members. Nearly always there is only one.
        var transportSets = [TransportSetCount(number: 0)]
        var isClosed = false
        var waiters: [OneShot<Void>] = []

        /// - Returns: The waiters for the end of an older transport set, if this was its last transfer.
        mutating func leaveTransportSet(_ number: Int) -> [OneShot<Void>] {
            guard let index = transportSets.lastIndex(where: { $0.number == number }) else { return [] }
            transportSets[index].inFlight -= 1
            guard transportSets[index].inFlight == 0, index < transportSets.count - 1 else { return [] }
            return transportSets.remove(at: index).waiters
        }
    }

    /// The maximum number of concurrent transfers.
    package let maximum: Int
    private let state = Lock(State())

    package init(maximum: Int = .max) {
        self.maximum = maximum
    }

    /// The number of transfers in progress.
    package var inFlight: Int { state.withLock { $0.members.count } }

    /// Adds a transfer before it begins.
    /// - Returns: Whether it was added; false when its transport set is over.
    /// - Throws: ``TransferFailure`` with code `shutDown`, or `limitReached`: nothing was sent.
    func add(_ transfer: Transfer, transportSet: Int) throws(TransferFailure) -> Bool {
        try state.withLock { state throws(TransferFailure) in
            if state.isClosed {
                throw TransferFailure(code: .shutDown, phase: .queue, message: "the client is shut down")
            }
            let newest = state.transportSets.count - 1
            guard state.transportSets[newest].number == transportSet else { return false }
            guard state.members.count < maximum else {
                throw TransferFailure(
                    code: .limitReached,
                    phase: .queue,
                    message: "\(maximum) requests are in flight already, which is the client's limit"
                )
            }
            transfer.groupIndex = state.members.count
            transfer.transportSet = transportSet
            state.members.append(transfer)
            state.transportSets[newest].inFlight += 1
            return true
        }
    }

    /// Removes a transfer that has ended. A second call has no effect.
    func remove(_ transfer: Transfer) {
        let waiters = state.withLock { state -> [OneShot<Void>] in
            let index = transfer.groupIndex
            guard index >= 0 else { return [] }
            transfer.groupIndex = -1
            let last = state.members.removeLast()
            if last !== transfer {
                state.members[index] = last
                last.groupIndex = index
            }
            var waiters = state.leaveTransportSet(transfer.transportSet)
            guard state.isClosed, state.members.isEmpty else { return waiters }
            waiters += state.waiters
            state.waiters = []
            return waiters
        }
        for waiter in waiters { waiter.deliver() }
    }

    /// Begins a transport set. Transfers of earlier transport sets continue, and none is added to them.
    /// - Returns: The transport set's number.
    package func advance() -> Int {
        state.withLock { state in
            let newest = state.transportSets[state.transportSets.count - 1]
            if newest.inFlight == 0 { state.transportSets.removeLast() }
            state.transportSets.append(TransportSetCount(number: newest.number + 1))
            return newest.number + 1
        }
    }

    /// Returns when the last transfer of an older transport set has ended.
    package func awaitEnd(of number: Int) async {
        let end = state.withLock { state -> OneShot<Void>? in
            guard let index = state.transportSets.firstIndex(where: { $0.number == number }) else { return nil }
            let end = OneShot<Void>()
            state.transportSets[index].waiters.append(end)
            return end
        }
        await end?.value()
    }

    /// Refuses new transfers, lets those in progress end until `deadline`, cancels the rest, and returns when none is left.
    /// Idempotent, also for concurrent calls: the earliest deadline applies. Transfers of other groups continue.
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
        let end = state.withLock { state -> OneShot<Void>? in
            if state.members.isEmpty { return nil }
            let end = OneShot<Void>()
            state.waiters.append(end)
            return end
        }
        await end?.value()
    }
}
