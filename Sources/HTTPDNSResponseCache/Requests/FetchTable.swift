// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The fetches in progress by URL, and how often their responses were invalidated.
final class FetchTable: Sendable {
    private let fetches = Lock<[String: (count: Int, invalidations: UInt64)]>([:])

    /// Notes that a request is sent whose response may be stored.
    func begin(_ url: String, until time: ReadTime) -> FetchTicket {
        let invalidations = fetches.withLock { fetches in
            fetches[url, default: (0, 0)].count += 1
            return fetches[url]?.invalidations ?? 0
        }
        return FetchTicket(url, invalidations, time, self)
    }

    /// Notes that the responses of a URL, or of all for nil, are not current any more.
    func invalidate(_ url: String?) {
        fetches.withLock { fetches in
            for url in url.map({ [$0] }) ?? Array(fetches.keys) { fetches[url]?.invalidations += 1 }
        }
    }

    fileprivate func end(_ url: String) {
        fetches.withLock { fetches in
            fetches[url]?.count -= 1
            if fetches[url]?.count == 0 { fetches[url] = nil }
        }
    }

    fileprivate func isCurrent(_ ticket: FetchTicket) -> Bool {
        fetches.withLock { $0[ticket.url]?.invalidations == ticket.invalidations }
    }
}

/// A fetch in progress, whose response a change of the resource may invalidate. Its last reference ends it.
final class FetchTicket: Sendable {
    fileprivate let url: String
    fileprivate let invalidations: UInt64
    /// The time that the call has.
    let time: ReadTime
    private let table: FetchTable

    fileprivate init(_ url: String, _ invalidations: UInt64, _ time: ReadTime, _ table: FetchTable) {
        self.url = url
        self.invalidations = invalidations
        self.time = time
        self.table = table
    }

    deinit { table.end(url) }

    /// Whether nothing has invalidated the response.
    var isCurrent: Bool { table.isCurrent(self) }
}
