// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
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
        let (ring, old) = state.withLock { state in
            let old = state.ring.removeOld(at: now)
            return (state.ring, old)
        }
        withExtendedLifetime(old) {}
        return ring.contents.map { content in
            switch content {
            case .record(let record): record
            case .call(let call): maker.record(of: call)
            }
        }
    }

    var storedBytes: Int { state.withLock { $0.ring.bytes } }

    func removeAllRecords() {
        withExtendedLifetime(state.withLock { $0.ring.removeAll() }) {}
    }

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
        var ended = maker.ended(call, details)
        let isChosen = state.withLock {
            [targets = ended.targets, maximum = settings.maximumHosts, sampling = settings.sampling] state in
            let number = UInt64(state.counters.calls.calls)
            state.counters.add(call, targets, maximum: maximum)
            return sampling.includes(call, number: number)
        }
        guard isChosen else { return }
        if maker.mayKeep(ended) {
            ended.call.cutSecrets(by: settings.redaction)
            return store(.call(ended), bytes: ended.estimatedBytes)
        }
        var record = maker.record(of: ended)
        if let edit = settings.edit, !edit(&record) { return }
        let size = record.estimatedBytes
        store(.record(record), bytes: size)
        settings.files?.append(record, bytes: size)
        settings.exporter?.append(record, bytes: size)
    }

    private func store(_ content: consuming RecordRing.Content, bytes size: Int) {
        let entry = RecordRing.Entry(content, bytes: size, time: time.now())
        let removed = state.withLock { state in
            state.counters.records += 1
            return state.ring.append(entry)
        }
        withExtendedLifetime(removed) {}
    }
}
