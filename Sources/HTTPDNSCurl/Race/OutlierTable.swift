internal import HTTPDNSPrimitives

/// Which endpoints answer with errors, so that they are left for a while. A value: it is told what happened and when.
struct OutlierTable {
    typealias Key = EndpointHealth.Key

    private struct Entry {
        /// Errors in a row, since the last good answer or ejection.
        var errors = 0
        /// Ejections since the last good answer that came after one.
        var ejections = 0
        var until: MonotonicTime?
    }

    /// Endpoints whose last answer was good have no entry. Many never answer again: their names have other addresses now.
    private var entries: RecentTable<Key, Entry>

    init(limit: Int = EndpointHealth.maximumEntries) { entries = RecentTable(limit: limit) }

    var isEmpty: Bool { entries.isEmpty }

    func isEjected(_ key: Key, at now: MonotonicTime) -> Bool {
        entries[key]?.until.map { now < $0 } ?? false
    }

    /// A request was answered.
    mutating func answered(_ key: Key, status: Int, _ settings: HTTPDNSTransfer.OutlierEjection, at now: MonotonicTime)
    {
        guard settings.statuses.contains(status) else {
            // An answer to a request from before says nothing about now.
            if !isEjected(key, at: now), !isEmpty { entries.remove(key) }
            return
        }
        var entry = entries[key] ?? Entry()
        guard entry.until.map({ now >= $0 }) ?? true else { return }
        entry.errors += 1
        if entry.errors >= max(1, settings.consecutive) {
            entry.errors = 0
            entry.ejections += 1
            entry.until = now + OutlierTable.rest(settings, ejections: entry.ejections)
        }
        entries.set(entry, for: key)
    }

    static func rest(_ settings: HTTPDNSTransfer.OutlierEjection, ejections: Int) -> Duration {
        // 2^9 s is past any rest that makes sense.
        let factor = 1 << min(max(0, ejections - 1), 9)
        return min(max(settings.rest, .seconds(1)) * factor, max(settings.longestRest, settings.rest))
    }

    /// Those that are ejected.
    func records(at now: MonotonicTime) -> [HTTPDNSTransfer.EndpointRecord] {
        entries.all.compactMap { key, entry in
            guard let until = entry.until, now < until else { return nil }
            return HTTPDNSTransfer.EndpointRecord(key, ejectedUntil: until, failures: entry.ejections)
        }
    }
}
