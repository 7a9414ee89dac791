// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import Synchronization

/// The connection permit of one hop. It is returned with its last reference. The pipeline holds it until the hop has a
/// head or has failed. The transfer holds it until the last byte has arrived, or the transfer has ended otherwise.
///
/// It names the loop of its connection. Two permits of a hop may name different loops; then the one of the transport's budget
/// decides, because connections belong to all clients of the transport.
final class ConnectionPermit: LoopBinding {
    private static let unbound = -1

    private let admission: Admission
    private let origin: HopOrigin
    private let grant: LoopGrant
    /// The time of the admission.
    private let start: MonotonicTime
    /// The deadline of the call.
    private let deadline: MonotonicTime?
    private let hasHead = Atomic<Bool>(false)
    /// The loop that the hop was sent on; ``unbound`` before that.
    private let loop = Atomic<Int>(ConnectionPermit.unbound)
    /// The permit of the same hop in the budget before this one.
    private let outer: ConnectionPermit?

    init(
        _ admission: Admission,
        _ origin: HopOrigin,
        _ grant: LoopGrant,
        deadline: MonotonicTime?,
        outer: ConnectionPermit?
    ) {
        self.admission = admission
        self.origin = origin
        self.grant = grant
        self.deadline = deadline
        self.outer = outer
        start = admission.clock.now()
    }

    deinit {
        let loop = loop.load(ordering: .acquiring)
        admission.leave(
            origin,
            from: loop == ConnectionPermit.unbound ? grant.loop : loop,
            since: start,
            hasHead: hasHead.load(ordering: .relaxed),
            deadline: deadline
        )
    }

    package func bind(_ choose: (_ preferred: Int?) -> Int) -> Int {
        let bound = loop.load(ordering: .acquiring)
        // Sent again by the same hop, such as after an exchange of the trust settings.
        guard bound == ConnectionPermit.unbound else { return bound }
        let chosen: Int
        if let granted = grant.loop, !grant.mayChoose {
            chosen = granted
        } else {
            chosen = choose(grant.loop)
        }
        return settle(on: chosen)
    }

    /// Binds the permit to a loop, as far as the limits permit a connection there, and the permits before it to the same.
    private func settle(on chosen: Int) -> Int {
        let settled = chosen == grant.loop ? chosen : admission.bind(origin, from: grant.loop, to: chosen)
        loop.store(settled, ordering: .releasing)
        _ = outer?.settle(on: settled)
        return settled
    }

    /// Records the response head.
    /// - Parameter isShared: Whether the connection carries many requests.
    func noteHead(isShared: Bool) {
        hasHead.store(true, ordering: .relaxed)
        admission.noteHead(from: origin, isShared: isShared, since: start)
        outer?.noteHead(isShared: isShared)
    }
}
