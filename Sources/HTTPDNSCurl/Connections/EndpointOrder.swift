// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSPrimitives
internal import HTTPTypes

/// The order in which a request's endpoints are tried. Suspect, ejected and cooling endpoints always go last.
package enum EndpointOrder: Hashable, Sendable {
    /// The given order, which the caller has chosen.
    case given
    /// The endpoint of the last request to the same host and port first, then the families in alternation (RFC 8305 section 4).
    /// An endpoint that failed that request comes last, and the one after it first. `first` is the first family; `nil` means
    /// IPv6 on a machine with a route for it, otherwise IPv4.
    case adaptive(first: HTTPDNSAddress.Family?)
    /// The least recently used endpoint first, for each host and port.
    case roundRobin
    /// A random order.
    case random
    /// The endpoint with the fastest recent responses first, for each host and port; see ``EndpointTable``.
    case fastest
}

extension EndpointOrder {
    /// Returns each endpoint once, at its first position.
    static func unique(_ endpoints: [HTTPDNSEndpoint]) -> [HTTPDNSEndpoint] {
        var result: [HTTPDNSEndpoint] = []
        for (index, endpoint) in endpoints.enumerated() {
            if endpoints[..<index].contains(endpoint) {
                if result.isEmpty { result = Array(endpoints[..<index]) }
            } else if !result.isEmpty {
                result.append(endpoint)
            }
        }
        return result.isEmpty ? endpoints : result
    }

    /// Returns the endpoints with alternating families, each family in its own order, each endpoint once.
    static func interleaved(_ endpoints: [HTTPDNSEndpoint], first: HTTPDNSAddress.Family) -> [HTTPDNSEndpoint] {
        let leading = endpoints.filter { $0.address.family == first }
        let others = endpoints.filter { $0.address.family != first }
        if leading.isEmpty || others.isEmpty { return endpoints }
        var result: [HTTPDNSEndpoint] = []
        result.reserveCapacity(endpoints.count)
        for turn in 0..<max(leading.count, others.count) {
            if turn < leading.count { result.append(leading[turn]) }
            if turn < others.count { result.append(others[turn]) }
        }
        return result
    }

    /// Returns the endpoints shuffled: each order is equally likely (Fisher and Yates).
    /// - Parameter random: A number in 0..<1.
    static func shuffled(_ endpoints: [HTTPDNSEndpoint], random: () -> Double) -> [HTTPDNSEndpoint] {
        var result = endpoints
        for last in result.indices.dropFirst().reversed() {
            let chosen = min(last, Int(random() * Double(last + 1)))
            result.swapAt(last, chosen)
        }
        return result
    }

    /// Returns the endpoints that the machine has a route to. A list without any stays whole, so that its error names them.
    static func withRoute(_ endpoints: [HTTPDNSEndpoint], _ hasRoute: (HTTPDNSAddress) -> Bool) -> [HTTPDNSEndpoint] {
        let reachable = endpoints.filter { hasRoute($0.address) }
        return reachable.isEmpty ? endpoints : reachable
    }

    /// Returns the endpoints with the given one last.
    static func ending(with endpoint: HTTPDNSEndpoint, _ endpoints: [HTTPDNSEndpoint]) -> [HTTPDNSEndpoint] {
        guard let index = endpoints.firstIndex(of: endpoint), index < endpoints.count - 1 else { return endpoints }
        var result = endpoints
        result.append(result.remove(at: index))
        return result
    }

    /// Returns the endpoints in turn from the one after the given one, which comes last; unchanged when it is not among them.
    static func following(_ endpoint: HTTPDNSEndpoint, _ endpoints: [HTTPDNSEndpoint]) -> [HTTPDNSEndpoint] {
        guard let index = endpoints.firstIndex(of: endpoint) else { return endpoints }
        return Array(endpoints[(index + 1)...] + endpoints[...index])
    }

    /// Returns the endpoints with the given one first; unchanged when it is not among them.
    static func leading(with endpoint: HTTPDNSEndpoint, _ endpoints: [HTTPDNSEndpoint]) -> [HTTPDNSEndpoint] {
        guard let index = endpoints.firstIndex(of: endpoint), index > 0 else { return endpoints }
        var result = endpoints
        result.remove(at: index)
        result.insert(endpoint, at: 0)
        return result
    }
}

extension EndpointOrder {
    /// Returns the endpoints in the order in which a transport without earlier requests tries them. A random order is not drawn:
    /// the endpoints keep the given one.
    /// - Parameters:
    ///   - url: The URL of the request.
    ///   - connectsToEndpoints: Whether the client connects to the endpoints itself, and no proxy does.
    package func inFirstRequest(
        _ endpoints: [HTTPDNSEndpoint],
        to url: ParsedURL,
        connectsToEndpoints: Bool
    ) -> [HTTPDNSEndpoint] {
        var routes = RouteProbe(RouteProbe.systemHasRoute)
        return ordered(
            EndpointOrder.unique(endpoints),
            by: Lock(EndpointTable()),
            for: RaceOrigin(host: url.host, port: url.port),
            routes: &routes,
            connectsToEndpoints: connectsToEndpoints,
            at: 0,
            // It leaves each endpoint at its index, see ``shuffled(_:random:)``.
            random: { 1 }
        )
    }

    /// Returns the endpoints in this order, apart from their health.
    /// - Parameters:
    ///   - table: What is known of endpoints, which stays as it is.
    ///   - random: A function that returns a number in 0..<1.
    fileprivate func ordered(
        _ endpoints: [HTTPDNSEndpoint],
        by table: borrowing Lock<EndpointTable>,
        for origin: RaceOrigin,
        routes: inout RouteProbe,
        connectsToEndpoints: Bool,
        at now: Int64,
        random: () -> Double
    ) -> [HTTPDNSEndpoint] {
        let hasBothFamilies = endpoints.dropFirst().contains { $0.address.family != endpoints[0].address.family }
        // A proxy may have routes that this machine lacks.
        func withRoute(_ endpoints: [HTTPDNSEndpoint]) -> [HTTPDNSEndpoint] {
            guard connectsToEndpoints, hasBothFamilies, !routes.hasIPv6(at: now) else { return endpoints }
            return EndpointOrder.withRoute(endpoints) { routes.hasRoute(to: $0, at: now) }
        }
        switch self {
        case .given: return endpoints
        case .adaptive(let first):
            var endpoints = endpoints
            if hasBothFamilies {
                let hasIPv6 = routes.hasIPv6(at: now)
                endpoints = EndpointOrder.interleaved(withRoute(endpoints), first: first ?? (hasIPv6 ? .v6 : .v4))
            }
            guard let carrier = table.withLock({ $0.lastCarrier(for: origin) }) else { return endpoints }
            return carrier.hasFailed
                ? EndpointOrder.following(carrier.endpoint, endpoints)
                : EndpointOrder.leading(with: carrier.endpoint, endpoints)
        case .roundRobin: return withRoute(table.withLock { $0.byTurns(endpoints, for: origin) })
        case .random: return withRoute(EndpointOrder.shuffled(endpoints, random: random))
        case .fastest: return withRoute(table.withLock { $0.byLatency(endpoints, for: origin, at: now) })
        }
    }
}

// The order of a request's endpoints, and the probes of endpoints beside it.
extension TransportLoop {
    func endpointsInOrder(of transfer: Transfer) -> [HTTPDNSEndpoint] {
        let connectsToEndpoints = transfer.request.connectsToEndpoints
        let endpoints = transfer.order.ordered(
            EndpointOrder.unique(transfer.request.endpoints),
            by: mailbox.endpoints,
            for: RaceOrigin(transfer),
            routes: &routeProbe,
            connectsToEndpoints: connectsToEndpoints,
            at: now,
            random: configuration.random
        )
        guard connectsToEndpoints else { return endpoints }
        // Before the health: an endpoint that answered with an error is better than one that cools down.
        let preferred = transfer.request.avoided.map { EndpointOrder.ending(with: $0, endpoints) } ?? endpoints
        return mailbox.endpoints.withLock { [time] in
            $0.ordered(preferred, for: transfer.request.url.host, from: transfer.request.egressPath?.source, at: time)
        }
    }

    /// Notes that a request begins with the first of these endpoints.
    func noteUse(of endpoints: [HTTPDNSEndpoint], by transfer: Transfer) {
        if transfer.order == .roundRobin || transfer.order == .fastest {
            mailbox.endpoints.withLock { [now] in $0.begins(endpoints[0], RaceOrigin(transfer), transfer.order, at: now)
            }
        }
        guard mailbox.shared.isProbing, transfer.request.mayBeProbed else { return }
        let random = configuration.random
        mailbox.shared.probing.withLock { [now] in
            $0?.used(endpoints, by: transfer.request, at: now, random: random)
        }
    }

    // MARK: probes

    /// Probes an endpoint after its cool-down, beside a request to another one. Until then no request tries it while there are
    /// others. The request does not wait for the probe, and the probe's connection is closed before anything is sent.
    func probe(insteadOf first: HTTPDNSEndpoint, _ endpoints: [HTTPDNSEndpoint], for transfer: Transfer) {
        guard transfer.request.mayBeProbed else { return }
        let (host, source) = (transfer.request.url.host, transfer.request.egressPath?.source)
        let due = mailbox.endpoints.withLock { [time] table -> HTTPDNSEndpoint? in
            guard table.notableCount > 0, endpoints.contains(where: { table.mayBeUnhealthy($0) }),
                table.standing(of: first, for: host, from: source, at: time) == .healthy
            else { return nil }
            return endpoints.first { table.takeProbe(of: $0, for: host, from: source, at: time) }
        }
        guard let due else { return }
        beginProbe(ProbeTarget(due, for: transfer.request))
    }

    /// Connects to recently used endpoints at intervals.
    func probeIfDue() {
        guard now >= nextProbe, !isDraining else { return }
        let random = configuration.random
        let due = mailbox.shared.probing.withLock { [now] in $0?.due(at: now, random: random) ?? [] }
        for target in due { beginProbe(target, isScheduled: true) }
    }

    /// The time of the next probe; `Int64.max` without one.
    var nextProbe: Int64 {
        mailbox.shared.isProbing ? mailbox.shared.probing.withLock { $0?.nextAt ?? .max } : .max
    }

    func probeEnded(_ target: ProbeTarget) { mailbox.shared.probing.withLock { $0?.ended(target) } }

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
        request.egressPath = target.egressPath
        let transfer = Transfer(request, mailbox: mailbox)
        transfer.isProbe = true
        begin(transfer, at: target.endpoint)
        if isScheduled {
            // A transfer without a handle failed to begin.
            if let handle = transfer.handle { handle.probe = target } else { probeEnded(target) }
        }
    }

    /// Ends the probes: no caller waits for them, so the loop's end does not either.
    func endProbes() {
        for handle in handles.active where handle.transfer?.isProbe == true { takeOut(handle) }
    }

    // MARK: responses

    /// - Returns: Whether the response that begins is the request's.
    func noteAnswer(_ handle: EasyHandle) -> Bool {
        guard let transfer = handle.transfer, let pin = handle.pin else { return false }
        if case .fastest = transfer.order, handle.sending.mayHaveBeenSent {
            let time = max(0, now - handle.sending.sentAt)
            mailbox.endpoints.withLock { [now] in $0.answered(pin.key.endpoint, RaceOrigin(transfer), in: time, at: now)
            }
        }
        guard transfer.race?.isHedged == true, transfer.race?.winner == nil else {
            return transfer.race.map { $0.winner == handle.raceIndex } ?? true
        }
        _ = transfer.race?.isAnswered(by: handle.raceIndex)
        carry(transfer, by: handle, pin)
        return true
    }

    /// Notes that a request got no response until its time limit, or until the response to another sending: it would have taken
    /// longer than this.
    func noteUnanswered(_ handle: EasyHandle) {
        guard let transfer = handle.transfer, case .fastest = transfer.order, let pin = handle.pin,
            handle.sending.mayHaveBeenSent, handle.progress.phase != .receiving
        else { return }
        let time = max(0, now - handle.sending.sentAt)
        mailbox.endpoints.withLock { [now] in $0.unanswered(pin.key.endpoint, RaceOrigin(transfer), for: time, at: now)
        }
    }

    /// Notes the status of a response head, which may move later requests to other endpoints, or eject the endpoint.
    func noteStatus(_ status: Int, of handle: EasyHandle) {
        if RefusalStatus.contains(status) { beginElsewhere(after: handle) }
        guard let ejection = configuration.ejection, let key = handle.pin?.key, key.isConnectedDirectly else { return }
        mailbox.endpoints.withLock { [time] in
            $0.answered(key.endpoint, for: key.host, status: status, ejection, at: time)
        }
    }

    /// Notes the failure of a request, which moves later requests to other endpoints if it was sent, and the server or the path
    /// to it failed it.
    func noteFailureAfterSending(of handle: EasyHandle, _ error: any Error) {
        // Without a reader the rest of a body proves nothing about the server.
        guard handle.sending.mayHaveBeenSent, !handle.body.isDiscarding, let failure = error as? TransferFailure else {
            return
        }
        switch failure.code {
        case .connectionLost, .protocolViolation: beginElsewhere(after: handle)
        case .timedOut:
            // A body on its way, in either direction, is slow and does not prove that the server is.
            guard !handle.head.isComplete, handle.progress.phase != .sending || failure.phase == .send else { return }
            beginElsewhere(after: handle)
        default: break
        }
    }

    /// Lets later requests begin with other endpoints than the one of this request.
    private func beginElsewhere(after handle: EasyHandle) {
        guard let transfer = handle.transfer, case .adaptive = transfer.order, let key = handle.pin?.key,
            key.isConnectedDirectly
        else { return }
        mailbox.endpoints.withLock { $0.failed(key.endpoint, RaceOrigin(transfer)) }
    }
}

extension PinKey {
    /// Whether a response says something about the endpoint's address: behind a proxy it does not.
    fileprivate var isConnectedDirectly: Bool { egressPath?.proxy == nil && isConnectedTo }
}
