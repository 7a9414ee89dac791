internal import HTTPDNSPrimitives

// The deadlines of transfers' phases, and the errors after them.
extension TransportLoop {
    /// Updates the heap after a phase began whose bound may be earlier than the one in the heap. Later bounds are found when
    /// the heap's has passed.
    func deadlineMayBeEarlier(for handle: EasyHandle) {
        let deadline = bound(of: handle).deadline
        if handle.heapIndex < 0 {
            if deadline < .max { deadlines.insert(handle, at: deadline) }
        } else if deadline < handle.heapKey {
            deadlines.move(handle, to: deadline)
        }
    }

    func expire() {
        while let handle = deadlines.first, handle.heapKey <= now {
            let bound = bound(of: handle)
            if bound.deadline == .max {
                deadlines.remove(handle)
            } else if bound.deadline > now {
                deadlines.move(handle, to: bound.deadline)
            } else {
                switch bound.consequence {
                case .triesNext: delayPassed(for: handle)
                case .looks: look(at: handle)
                case .ends:
                    noteUnanswered(handle)
                    retireIfSilent(handle, bound.phase)
                    finish(handle, .failure(timeout(of: handle, bound)))
                }
            }
        }
        moveWaiters()
    }

    func bound(of handle: EasyHandle) -> PhaseBound {
        guard let limits = handle.transfer?.limits else { return .none }
        return PhaseBound.next(for: handle, limits)
    }

    func timeout(of handle: EasyHandle, _ bound: PhaseBound) -> TransferFailure {
        let limit = bound.limit ?? .nanoseconds(bound.deadline - handle.startedAt)
        var failure = failure(.timedOut, bound.phase, bound.message(limit: limit), handle)
        failure.limit = limit
        if bound.phase == .total || bound.phase == .head { failure.reached = handle.phaseOfFailure }
        return failure
    }

    func elapsed(_ handle: EasyHandle) -> Duration { .nanoseconds(max(0, now - handle.startedAt)) }

    func failure(
        _ code: TransferFailure.Code,
        _ phase: TransferFailure.Phase,
        _ message: String,
        _ handle: EasyHandle
    ) -> TransferFailure {
        completed(TransferFailure(code: code, phase: phase, message: message), handle)
    }

    func completed(_ failure: TransferFailure, _ handle: EasyHandle) -> TransferFailure {
        var failure = failure
        failure.endpoint = handle.pin?.key.endpoint
        failure.proxy = handle.pin?.key.passage?.proxy?.description
        failure.requestMayHaveBeenSent = handle.mayHaveArrived
        failure.elapsed = elapsed(handle)
        return withTrail(failure, handle)
    }
}
