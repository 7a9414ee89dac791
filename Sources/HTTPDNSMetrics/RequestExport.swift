// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if Metrics
internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The export of the calls and connections of a client as metrics.
///
/// Calls are exported in the tasks that end them, so that nothing waits in between and no call is missed.
final class RequestExport: HTTPDNSObserver {
    private let handles: MetricHandles
    /// The resolver of the client, which knows the route of a host.
    private let resolver: HTTPDNSResolver
    /// The hosts that are labeled.
    private let hosts: Set<HTTPDNSName>
    /// The counts of the client's parts at the last export.
    private let exported = Lock<[MetricSeries: Int]>([:])

    init(_ handles: MetricHandles, of client: HTTPDNSClient, hosts: Set<HTTPDNSName>) {
        self.handles = handles
        self.hosts = hosts
        resolver = client.resolver
    }

    /// Creates the counters, so that their series begin at zero.
    func begin() {
        for name in [MetricName.retries, .redirects, .hedges, .mergedRequests] { handles.add(0, to: name) }
    }

    // MARK: calls

    func callEnded(_ call: HTTPDNSClient.CallRecord) {
        for hop in call.hops { add(hop, of: call) }
        if call.retries > 0 { handles.add(call.retries, to: .retries) }
        if call.redirects > 0 { handles.add(call.redirects, to: .redirects) }
        let error = call.outcome == .failed ? call.error?.code.description ?? MetricName.others : nil
        handles.record(
            call.duration,
            as: MetricSeries(name: .callDuration, values: [call.outcome.description, error])
        )
        if let error, call.status != nil { handles.add(1, to: .bodyFailures, error) }
    }

    private func add(_ hop: HTTPDNSClient.CallRecord.Hop, of call: HTTPDNSClient.CallRecord) {
        if let source = hop.cacheSource { handles.add(1, to: .responseCache, source.description) }
        if hop.isMerged { return handles.add(1, to: .mergedRequests) }
        if let wait = hop.queueWait { handles.record(wait, as: MetricSeries(name: .queueWait)) }
        guard !hop.isAnsweredInProcess, !hop.isUnsent, !RequestExport.isRefused(hop) else { return }
        if hop.isHedged { handles.add(1, to: .hedges) }
        let values = values(of: hop)
        // A hop without an outcome ended with its call.
        let duration = hop.duration ?? hop.cancellation ?? max(.zero, call.duration - (hop.start - call.start))
        handles.record(duration, as: MetricSeries(name: .requestDuration, values: values))
        for (name, bytes) in [
            (MetricName.requestBodySize, hop.requestBodyBytes), (.responseBodySize, hop.responseBodyBytes),
        ] {
            if let bytes, bytes > 0 { handles.record(bytes: bytes, as: MetricSeries(name: name, values: values)) }
        }
    }

    /// Returns whether the hop failed in this process, before anything was done to send it.
    private static func isRefused(_ hop: HTTPDNSClient.CallRecord.Hop) -> Bool {
        guard let phase = hop.error?.phase else { return false }
        return [.request, .configuration, .interceptor, .authentication, .redirect].contains(phase)
    }

    /// Returns the values of the dimensions of a request.
    private func values(of hop: HTTPDNSClient.CallRecord.Hop) -> [String?] {
        var error = hop.error?.code.description
        if let status = hop.status {
            // As the conventions have it: the status is the type of the error.
            if status.code >= 400 { error = RequestExport.text(of: status) }
        } else if error == nil {
            error = HTTPDNSClient.CallRecord.Outcome.canceled.description
        }
        let server = server(of: hop)
        return [
            HTTPDNSClient.CallRecord.knownMethods.contains(hop.method.rawValue)
                ? hop.method.rawValue : MetricName.others,
            route(of: hop) ?? MetricName.none, hop.status.map(RequestExport.text),
            (hop.exchange?.version).map(RequestExport.number),
            error, server.address, server.port,
        ]
    }

    /// Returns the labels of the host. A host that could not be resolved has no port.
    private func server(of hop: HTTPDNSClient.CallRecord.Hop) -> (address: String?, port: String?) {
        guard !hosts.isEmpty else { return (nil, nil) }
        guard let name = RequestExport.name(of: hop), hosts.contains(name) else { return (MetricName.others, nil) }
        return (name.description, hop.port.map { "\($0)" })
    }

    /// Returns the route of a request. The record has it unless the name could not be resolved.
    private func route(of hop: HTTPDNSClient.CallRecord.Hop) -> String? {
        if let route = hop.route { return route }
        guard hop.error?.phase == .resolve, let name = RequestExport.name(of: hop) else { return nil }
        return resolver.route(for: name)?.pattern.description
    }

    private static func name(of hop: HTTPDNSClient.CallRecord.Hop) -> HTTPDNSName? {
        switch hop.host {
        case .name(let name): name
        case .address: nil
        case nil: hop.error?.host.flatMap { try? HTTPDNSName($0) }
        }
    }

    /// Returns a status; one outside of HTTP's five classes is `_OTHER`, since the server chooses it.
    private static func text(of status: HTTPResponse.Status) -> String {
        (100...599).contains(status.code) ? "\(status.code)" : MetricName.others
    }

    /// Returns the version as the conventions write it: `1.1`, `2`.
    private static func number(of version: HTTPDNSClient.HTTPVersion) -> String {
        String(version.description.drop { $0 != "/" }.dropFirst())
    }

    // MARK: connections

    /// Exports the present state of reloads and connections, and the durations of those that have closed since the last time.
    func add(_ client: HTTPDNSClient) {
        let pools = client.connectionPools
        let (open, inUse) = pools.reduce((0, 0)) { ($0.0 + $1.connections, $0.1 + $1.connectionsInUse) }
        handles.set(.openConnections, "active", to: inUse)
        handles.set(.openConnections, "idle", to: open - inUse)
        handles.set(.activeRequests, to: client.requestsInFlight)
        handles.set(.queuedRequests, to: client.requestsWaiting)
        var endpoints = ["healthy": 0, "suspect": 0, "ejected": 0, "cooling": 0]
        for record in client.endpointRecords { endpoints[record.state.description, default: 0] += 1 }
        for (state, count) in endpoints { handles.set(.endpoints, state, to: count) }
        for (reason, count) in client.openResponseCache?.removals ?? [:] {
            add(count, of: .responseCacheRemovals, reason)
        }
        for (place, count) in client.lostRecords { add(count, of: .lostRecords, place) }
        let (reloads, connecting) = (client.reloads, client.connectionCounters)
        handles.set(.reloadFailing, to: reloads.failure == nil ? 0 : 1)
        add(Int(clamping: reloads.successes), of: .reloads, "succeeded")
        add(Int(clamping: reloads.failures), of: .reloads, "failed")
        add(connecting.fallbacks, of: .connectionFallbacks, "served")
        add(connecting.fallbacksFailed, of: .connectionFallbacks, "failed")
        add(connecting.fallbacksShortCircuited, of: .connectionFallbacks, "short-circuited")
        handles.set(.fallenBackHosts, to: connecting.fallenBackHosts)
        let (closed, missed) = client.takeClosedConnections()
        if missed > 0 { handles.add(missed, to: .eventsMissed) }
        for connection in closed {
            let version = connection.version.map(RequestExport.number)
            handles.record(connection.duration, as: MetricSeries(name: .connectionDuration, values: [version]))
        }
    }

    /// Exports the difference of a count to the last one. It falls when a part leaves the client.
    private func add(_ count: Int, of name: MetricName, _ result: String) {
        let former = exported.withLock { exported in
            defer { exported[MetricSeries(name: name, values: [result])] = count }
            return exported[MetricSeries(name: name, values: [result])] ?? 0
        }
        handles.add(max(0, count - former), to: name, result)
    }
}
#endif
