internal import HTTPDNSPrimitives

/// The bound that a transfer meets next.
struct PhaseBound {
    /// When it is met, in nanoseconds on the loop's clock.
    var deadline: Int64
    var phase: TransferFailure.Phase
    /// The length of the bound; nil for the deadline of the whole, which is a moment.
    var limit: Duration?
    /// Whether it is the delay of the race: nothing ends, the next endpoint is tried as well.
    var isRaceDelay = false

    static let none = PhaseBound(deadline: .max, phase: .total, limit: nil)

    /// The earliest of the phase's own bound and that of the whole.
    static func next(for handle: EasyHandle, _ limits: TransferLimits) -> PhaseBound {
        var bound = PhaseBound(deadline: limits.deadline?.nanoseconds ?? .max, phase: .total, limit: nil)
        func consider(_ phase: TransferFailure.Phase, _ limit: Duration?, since start: Int64) {
            guard let limit else { return }
            let (deadline, overflow) = start.addingReportingOverflow(limit.wholeNanoseconds)
            if !overflow, deadline < bound.deadline {
                bound = PhaseBound(deadline: deadline, phase: phase, limit: limit)
            }
        }
        func considerRace() {
            guard handle.delayedUntil < bound.deadline else { return }
            bound = PhaseBound(deadline: handle.delayedUntil, phase: .connect, limit: nil, isRaceDelay: true)
        }
        switch handle.phase {
        case .connecting:
            consider(.connect, limits.connect, since: handle.startedAt)
            considerRace()
        case .securing:
            consider(.tls, limits.tls, since: handle.activeAt)
            considerRace()
        case .sending:
            // A stream that has nothing to give is the caller's own pause, not the connection's.
            if !handle.isSendingPaused { consider(.send, limits.idle, since: handle.activeAt) }
        case .awaitingHead:
            consider(.firstByte, limits.firstByte, since: handle.activeAt)
        case .receiving:
            // While the caller does not read, nothing can arrive.
            if !handle.isReadingPaused { consider(.body, limits.idle, since: handle.activeAt) }
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
        case .queue, .total: "the answer was not complete within the total time of \(time)"
        }
    }
}
