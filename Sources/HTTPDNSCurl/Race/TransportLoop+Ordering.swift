internal import HTTPDNSPrimitives
internal import HTTPTypes

// Which of a request's endpoints is tried first, and which ones are tried beside it.
extension TransportLoop {
    func endpointsInOrder(of transfer: Transfer) -> [HTTPDNSEndpoint] {
        var endpoints = EndpointOrder.unique(transfer.request.endpoints)
        let origin = RaceOrigin(transfer)
        switch transfer.order {
        case .given: break
        case .adaptive(let first):
            if hasBothFamilies(endpoints) {
                let hasIPv6 = routeProbe.hasIPv6(at: now)
                endpoints = withRoute(endpoints, of: transfer)
                endpoints = EndpointOrder.interleaved(endpoints, first: first ?? (hasIPv6 ? .v6 : .v4))
            }
            if let last = memory.lastCarrier(for: origin) { endpoints = EndpointOrder.leading(with: last, endpoints) }
        case .roundRobin: endpoints = withRoute(memory.byTurns(endpoints, for: origin), of: transfer)
        case .random:
            endpoints = withRoute(EndpointOrder.shuffled(endpoints, random: configuration.random), of: transfer)
        case .fastest: endpoints = withRoute(memory.byPace(endpoints, for: origin, at: now), of: transfer)
        }
        guard transfer.request.connectsToEndpoints else { return endpoints }
        return mailbox.health.withLock { [endpoints, time] in
            $0.ordered(endpoints, for: transfer.request.url.host, at: time)
        }
    }

    private func hasBothFamilies(_ endpoints: [HTTPDNSEndpoint]) -> Bool {
        endpoints.dropFirst().contains { $0.address.family != endpoints[0].address.family }
    }

    /// The endpoints that this machine has a route for; all of them where a proxy connects to them.
    private func withRoute(_ endpoints: [HTTPDNSEndpoint], of transfer: Transfer) -> [HTTPDNSEndpoint] {
        guard transfer.request.connectsToEndpoints, hasBothFamilies(endpoints), !routeProbe.hasIPv6(at: now) else {
            return endpoints
        }
        return EndpointOrder.withRoute(endpoints) { routeProbe.hasRoute(to: $0, at: now) }
    }

    /// A request begins with the first of these.
    func noteUse(of endpoints: [HTTPDNSEndpoint], by transfer: Transfer) {
        memory.begins(endpoints[0], RaceOrigin(transfer), transfer.order, at: now)
        // What connects by itself would connect straight.
        guard transfer.request.passage == nil else { return }
        probing?.used(endpoints, by: transfer.request, at: now, random: configuration.random)
    }

    // MARK: probes

    /// Endpoints that rest are tried by no request while there are others. When the rest of one is over, it is tried beside a
    /// request, which goes elsewhere and waits for nothing; what stands of that connection is closed before anything is sent.
    func probe(insteadOf first: HTTPDNSEndpoint, _ endpoints: [HTTPDNSEndpoint], for transfer: Transfer) {
        guard transfer.request.passage == nil else { return }
        let host = transfer.request.url.host
        let due = mailbox.health.withLock { [time] health -> HTTPDNSEndpoint? in
            guard health.troubles > 0, health.standing(of: first, for: host, at: time) == .healthy else { return nil }
            return endpoints.first { health.takeProbe(of: $0, for: host, at: time) }
        }
        guard let due else { return }
        beginProbe(ProbeTarget(due, for: transfer.request))
    }

    /// Endpoints that requests went to of late are connected to from time to time.
    func probeIfDue() {
        guard let nextAt = probing?.nextAt, now >= nextAt, !isDraining else { return }
        for target in probing?.due(at: now, random: configuration.random) ?? [] {
            beginProbe(target, isScheduled: true)
        }
    }

    private func beginProbe(_ target: ProbeTarget, isScheduled: Bool = false) {
        var request = TransferRequest(
            method: .head,
            url: target.url,
            endpoints: [target.endpoint],
            limits: target.limits,
            versions: target.versions
        )
        request.stopsBeforeSending = true
        request.withholdsCertificate = target.withholdsCertificate
        let transfer = Transfer(request, mailbox: mailbox)
        transfer.isProbe = true
        begin(transfer, at: target.endpoint, nil, index: -1)
        if isScheduled {
            // Without a handle it has failed to begin.
            if let handle = transfer.handle { handle.probe = target } else { probing?.ended(target) }
        }
    }

    /// Nobody waits for probes, so the loop's end does not either.
    func endProbes() {
        for handle in active where handle.transfer?.isProbe == true { takeOut(handle) }
    }

    // MARK: what answers show

    /// - Returns: Whether the answer that begins is the request's.
    func noteAnswer(_ handle: EasyHandle) -> Bool {
        guard let transfer = handle.transfer, let pin = handle.pin else { return false }
        if case .fastest = transfer.order, handle.mayHaveBeenSent {
            let time = max(0, now - handle.sentAt)
            memory.answered(pin.key.endpoint, RaceOrigin(transfer), in: time, at: now)
        }
        guard let run = transfer.race, run.race.isHedged, run.race.winner == nil else {
            return transfer.race.map { $0.race.winner == handle.raceIndex } ?? true
        }
        _ = run.race.isAnswered(by: handle.raceIndex)
        carry(run, by: handle, pin)
        return true
    }

    /// A time limit ends the wait for an answer, or the answer of another sending does: it would have taken longer than this.
    func noteUnanswered(_ handle: EasyHandle) {
        guard let transfer = handle.transfer, case .fastest = transfer.order, let pin = handle.pin,
            handle.mayHaveBeenSent, handle.phase != .receiving
        else { return }
        memory.unanswered(pin.key.endpoint, RaceOrigin(transfer), for: max(0, now - handle.sentAt), at: now)
    }

    /// A head has come: its status may be one that its endpoint is left for.
    func noteStatus(_ handle: EasyHandle) {
        guard let ejection = configuration.ejection, let key = handle.pin?.key, let status = handle.status,
            // Behind a proxy an answer says nothing about the address that it came from.
            key.passage?.proxy == nil, key.isConnectedTo
        else { return }
        mailbox.health.withLock { [time] in
            $0.answered(key.endpoint, for: key.host, status: status, ejection, at: time)
        }
    }
}
