internal import HTTPDNSPrimitives

/// The endpoints that respond with errors, and are ejected for a while. A value type: it receives events with their times.
struct OutlierTable {
    typealias Key = EndpointHealth.Key

    private struct Entry {
        /// The number of errors in a row, since the last good response or ejection.
        var errors = 0
        /// The number of ejections since the last good response that followed one.
        var ejections = 0
        var until: MonotonicTime?
    }

    /// Endpoints whose last response was good have no entry. Many never respond again: their names have other addresses by now.
    private var entries: RecentTable<Key, Entry>

    init(limit: Int = EndpointHealth.maximumEntries) { entries = RecentTable(limit: limit) }

    var isEmpty: Bool { entries.isEmpty }

    func isEjected(_ key: Key, at now: MonotonicTime) -> Bool {
        entries[key]?.until.map { now < $0 } ?? false
    }

    /// Notes the response to a request.
    mutating func answered(_ key: Key, status: Int, _ settings: HTTPDNSTransfer.OutlierEjection, at now: MonotonicTime)
    {
        guard settings.statuses.contains(status) else {
            // A response to a request from before the ejection says nothing about the present.
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
        // 2^9 s is longer than any useful ejection.
        let factor = 1 << min(max(0, ejections - 1), 9)
        return min(max(settings.rest, .seconds(1)) * factor, max(settings.longestRest, settings.rest))
    }

    /// Returns the records of the ejected endpoints.
    func records(at now: MonotonicTime) -> [HTTPDNSTransfer.EndpointRecord] {
        entries.all.compactMap { key, entry in
            guard let until = entry.until, now < until else { return nil }
            return HTTPDNSTransfer.EndpointRecord(key, ejectedUntil: until, failures: entry.ejections)
        }
    }
}
