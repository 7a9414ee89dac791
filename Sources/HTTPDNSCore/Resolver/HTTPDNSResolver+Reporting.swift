internal import HTTPDNSPrimitives

extension HTTPDNSResolver {
    /// Counts the result of a lookup and sends its events. It runs outside of all locks.
    func report(
        _ landed: Landed,
        _ result: FlightResult,
        _ inquiry: UpstreamLookup,
        isRefresh: Bool,
        at now: MonotonicTime
    ) {
        if landed.change.evictions > 0 {
            counting.count(.eviction, times: landed.change.evictions)
            observation.tell(.evicted) { $0.count = landed.change.evictions }
        }
        if isRefresh { counting.count(result.failed ? .refreshFailed : .refreshSucceeded) }
        var kind: HTTPDNSResolver.Event.Kind = result.failed ? .failed : .answered
        if isRefresh { kind = result.failed ? .refreshFailed : .refreshed }
        observation.tell(kind) { event in
            self.describe(inquiry, landed.known, &event)
            event.elapsed = now - result.sentAt
            if let error = result.error { event.fill(with: error) }
            if case .nothing(let error) = landed.known?.content { event.fill(with: error) }
        }
        reportChange(landed, inquiry)
    }

    private func reportChange(_ landed: Landed, _ inquiry: UpstreamLookup) {
        guard let before = landed.before, before.kind == .addresses,
            case .addresses(let addresses) = landed.known?.content
        else { return }
        let previous = (0..<before.addressCount).map(before.address(at:))
        guard Set(previous) != Set(addresses) else { return }
        counting.count(.change)
        observation.tell(.changed) { event in
            self.describe(inquiry, landed.known, &event)
            event.previousAddresses = previous
        }
    }

    private func describe(_ inquiry: UpstreamLookup, _ answer: KnownAnswer?, _ event: inout HTTPDNSResolver.Event) {
        event.host = inquiry.host
        event.route = inquiry.route?.pattern.description
        guard let answer else { return }
        event.provider = answer.origin.provider
        event.source = answer.origin.source
        event.duration = answer.life
        if case .addresses(let addresses) = answer.content { event.addresses = addresses }
    }
}

extension HTTPDNSResolver.Event {
    fileprivate mutating func fill(with error: HTTPDNSResolver.Error) {
        code = error.code.description
        message = error.message
    }
}

extension FlightResult {
    fileprivate var error: HTTPDNSResolver.Error? {
        switch self {
        case .failure(let error, _, _), .busy(let error, _): error
        case .answer, .fallback: nil
        }
    }

    fileprivate var failed: Bool { error != nil }

    fileprivate var sentAt: MonotonicTime {
        switch self {
        case .answer(let answer), .fallback(let answer, _): answer.sentAt
        case .failure(_, let sentAt, _), .busy(_, let sentAt): sentAt
        }
    }
}
