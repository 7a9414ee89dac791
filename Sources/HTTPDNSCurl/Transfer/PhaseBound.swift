internal import HTTPDNSPrimitives

/// The next bound of a transfer.
struct PhaseBound {
    /// The time of the bound, in nanoseconds on the loop's clock.
    var deadline: Int64
    var phase: TransferFailure.Phase
    /// The length of the bound; `nil` for the deadline of the whole transfer, which is a point in time.
    var limit: Duration?
    /// The consequence when the bound passes.
    var consequence = Consequence.ends

    enum Consequence {
        /// The transfer ends.
        case ends
        /// The delay of the race has passed: the next endpoint is tried in parallel.
        case triesNext
        /// The connection is checked, or the request without a response is sent once more.
        case looks
    }

    static let none = PhaseBound(deadline: .max, phase: .total, limit: nil)

    /// Returns the earlier one of the phase's own bound and that of the whole transfer.
    static func next(for handle: EasyHandle, _ limits: TransferLimits) -> PhaseBound {
        var bound = PhaseBound(deadline: limits.deadline?.nanoseconds ?? .max, phase: .total, limit: nil)
        func consider(_ phase: TransferFailure.Phase, _ limit: Duration?, since start: Int64) {
            guard let limit else { return }
            let (deadline, overflow) = start.addingReportingOverflow(limit.wholeNanoseconds)
            if !overflow, deadline < bound.deadline {
                bound = PhaseBound(deadline: deadline, phase: phase, limit: limit)
            }
        }
        func considerHead() {
            guard let deadline = limits.headDeadline?.nanoseconds, deadline < bound.deadline else { return }
            bound = PhaseBound(deadline: deadline, phase: .head, limit: nil)
        }
        func consider(_ consequence: Consequence, _ phase: TransferFailure.Phase, at deadline: Int64) {
            guard deadline < bound.deadline else { return }
            bound = PhaseBound(deadline: deadline, phase: phase, limit: nil, consequence: consequence)
        }
        switch handle.phase {
        case .connecting:
            considerHead()
            consider(.connect, limits.connect, since: handle.connectingSince)
            consider(.triesNext, .connect, at: handle.delayedUntil)
        case .securing:
            considerHead()
            consider(.tls, limits.tls, since: handle.activeAt)
            consider(.triesNext, .tls, at: handle.delayedUntil)
        case .sending:
            if limits.headAfterBody == nil { considerHead() }
            // A stream without data is the caller's own pause, not the connection's.
            if !handle.isSendingPaused { consider(.send, limits.idle, since: handle.activeAt) }
            consider(.looks, .send, at: min(handle.looksAt, handle.hedgesAt))
        case .awaitingHead:
            if let limit = limits.headAfterBody {
                consider(.head, limit, since: handle.activeAt)
            } else {
                considerHead()
            }
            consider(.firstByte, limits.firstByte, since: handle.activeAt)
            consider(.looks, .firstByte, at: min(handle.looksAt, handle.hedgesAt))
        case .receiving:
            // While the caller does not read, nothing can arrive.
            if !handle.isReadingPaused { consider(.body, limits.idle, since: handle.activeAt) }
            consider(.looks, .body, at: handle.looksAt)
        }
        return bound
    }

    func message(limit: Duration) -> String {
        let time = "\(Int64(limit.inSeconds * 1_000)) ms"
        return switch phase {
        case .connect: "no TCP connection within \(time)"
        case .tls: "the TLS handshake was not done within \(time)"
        case .send: "the server took no bytes of the request for \(time)"
        case .firstByte: "no byte of an answer within \(time)"
        case .body: "no byte of the body for \(time)"
        case .head: "no response head within \(time)"
        case .queue, .total: "the answer was not complete within the total time of \(time)"
        }
    }
}
