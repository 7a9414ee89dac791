// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// The records and counters of a monitor. Calls reach it in the tasks that end them.
final class RecordKeeper: DetailedObserver {
    private struct State {
        var counters = HTTPDNSTrafficMonitor.Counters()
        var ring: RecordRing
    }

    private let settings: HTTPDNSTrafficMonitor.Settings
    private let maker: RecordMaker
    private let time: any TimeSource
    private let state: Lock<State>

    init(_ settings: HTTPDNSTrafficMonitor.Settings, time: any TimeSource, clock: WallClock) {
        self.settings = settings
        self.time = time
        maker = RecordMaker(settings, clock: clock)
        let limits = RecordRing.Limits(
            records: settings.maximumRecords,
            bytes: settings.maximumBytes.bytes,
            age: settings.maximumAge
        )
        state = Lock(State(ring: RecordRing(limits)))
    }

    var counters: HTTPDNSTrafficMonitor.Counters { state.withLock { $0.counters } }

    var records: [HTTPDNSTrafficMonitor.Record] {
        let now = time.now()
        // The copy is of one reference: the records are copied without the lock, which every call takes.
        let ring = state.withLock { state in
            state.ring.removeOld(at: now)
            return state.ring
        }
        return ring.records
    }

    var storedBytes: Int { state.withLock { $0.ring.bytes } }

    func removeAllRecords() { state.withLock { $0.ring.removeAll() } }

    var bodyLimit: Int? { settings.responseBodyLimit.bytes }
    var recorder: ObjectIdentifier? { ObjectIdentifier(self) }

    var lost: [String: Int] {
        let counts = ["file": settings.files?.counters.dropped, "export": settings.exporter?.counters.dropped]
        return counts.compactMapValues(\.self)
    }

    /// Counts a call, and stores its record if the settings include it.
    func callEnded(_ call: HTTPDNSClient.CallRecord) {
        // A call that began before the observation has none.
        guard let details = call.details, details.request[IsReport.self] == nil,
            settings.includes.matchesHead(of: details.request),
            settings.excludes.map({ !$0.matchesHead(of: details.request) }) ?? true
        else { return }
        // By index: the variable of a loop would be a copy of a hop.
        let targets = call.hops.indices.map { index in
            let text = call.hops[index].messages?.url ?? ""
            return HopTarget(text, details.resolver, canonical: call.hops[index].rewritten?.canonical(of: text))
        }
        let isChosen = state.withLock { [maximum = settings.maximumHosts, sampling = settings.sampling] state in
            let number = UInt64(state.counters.calls.calls)
            state.counters.add(call, targets, maximum: maximum)
            return sampling.includes(call, number: number)
        }
        guard isChosen else { return }
        var record = maker.record(of: call, details, targets)
        if let edit = settings.edit, !edit(&record) { return }
        let (size, now) = (record.estimatedBytes, time.now())
        state.withLock { [record] state in
            state.counters.records += 1
            state.ring.append(record, bytes: size, at: now)
        }
        settings.files?.append(record, bytes: size)
        settings.exporter?.append(record, bytes: size)
    }
}

/// The target of a hop: its URL in canonical form, and the labels that it is counted under.
struct HopTarget: Sendable {
    /// Nil for a text that is no http or https URL.
    let url: HTTPDNSRewriter.CanonicalURL?
    /// The host without its port; `-` for a text that is no http or https URL.
    let host: String
    /// The pattern of the host's route; `none` without one.
    let route: String

    /// - Parameter canonical: The URL in canonical form, if it is known.
    init(_ text: String, _ resolver: HTTPDNSResolver?, canonical: HTTPDNSRewriter.CanonicalURL? = nil) {
        url = canonical ?? (try? HTTPDNSRewriter.Canonicalizer.canonicalize(text))
        host = url?.host.description ?? "-"
        guard case .name(let name)? = url?.host, let route = resolver?.route(for: name) else {
            route = "none"
            return
        }
        self.route = route.pattern.description
    }
}
