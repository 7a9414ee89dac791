internal import HTTPDNSPrimitives

/// Which address of a host requests stay on when a new answer no longer has it. A value: it is told what happened and when.
///
/// Names of content networks give some of many addresses, others each time. An address that still answers is as good as it
/// was: requests stay on it for as long as it is warm, and for a bounded time after it last stood in an answer. One change
/// alone is no rotation: somebody has moved the name, and requests follow at once. They stay from the second change on that
/// comes within the same time after they moved.
struct AddressHold: Sendable {
    /// What belongs to answers that may be compared: another source, or other mappings, mean that somebody has decided anew.
    struct Provenance: Hashable, Sendable {
        var isSystem: Bool
        var generation: UInt64
    }

    private struct Entry: Sendable {
        var endpoint: HTTPDNSEndpoint
        var provenance: Provenance
        /// When a response last came from it.
        var answeredAt: MonotonicTime
        /// When it was last in an answer.
        var listedAt: MonotonicTime
        /// When requests last moved because an answer did not have their address any more.
        var movedAt: MonotonicTime?
        /// Whether requests stay on it although the newest answer does not have it; nil while the answers have it.
        var stays: Bool?
        /// Whether requests go elsewhere by now, and none of them was answered there yet.
        var isLeft = false
        /// Since when one request makes a connection to the new addresses, while the others stay.
        var leavingSince: MonotonicTime?
    }

    /// How long after a response an address counts as warm.
    static let warmth = Duration.seconds(5)
    /// How long is waited for the request that makes the new connection.
    static let leave = Duration.seconds(5)
    /// How many hosts are remembered; an entry takes about 200 bytes.
    static let maximumEntries = 4096

    /// How often everything was forgotten.
    private(set) var epoch: UInt64 = 0
    private let limit: Duration
    /// Whether one request goes ahead when the time is over.
    private let sendsOneAhead: Bool
    private var entries: [HopOrigin: Entry] = [:]

    init(limit: Duration, sendsOneAhead: Bool) {
        self.limit = limit
        self.sendsOneAhead = sendsOneAhead
    }

    var count: Int { entries.count }

    /// The address that a request is to stay on; nil when the answer's own are right.
    mutating func heldEndpoint(
        for origin: HopOrigin,
        among endpoints: [HTTPDNSEndpoint],
        _ provenance: Provenance,
        at now: MonotonicTime
    ) -> HTTPDNSEndpoint? {
        guard let entry = entries[origin] else { return nil }
        guard entry.provenance == provenance else {
            entries[origin] = nil
            return nil
        }
        if endpoints.contains(entry.endpoint) {
            entries[origin]?.listedAt = now
            entries[origin]?.leavingSince = nil
            entries[origin]?.stays = nil
            entries[origin]?.isLeft = false
            return nil
        }
        if entry.isLeft { return nil }
        guard now - entry.answeredAt <= AddressHold.warmth else {
            entries[origin] = nil
            return nil
        }
        let stays = entry.stays ?? entry.movedAt.map { now - $0 <= limit } ?? false
        entries[origin]?.stays = stays
        if stays, now - entry.listedAt <= limit { return entry.endpoint }
        guard sendsOneAhead else {
            entries[origin]?.isLeft = true
            entries[origin]?.movedAt = now
            return nil
        }
        if let since = entry.leavingSince, now - since <= AddressHold.leave { return entry.endpoint }
        entries[origin]?.leavingSince = now
        entries[origin]?.movedAt = now
        return nil
    }

    /// A request was answered.
    /// - Parameters:
    ///   - endpoint: The address that answered.
    ///   - held: The address that the request was to stay on.
    ///   - epoch: What ``epoch`` was when the request was sent: one that was under way when everything was forgotten is not a
    ///     reason to stay.
    mutating func answered(
        by endpoint: HTTPDNSEndpoint,
        held: HTTPDNSEndpoint?,
        for origin: HopOrigin,
        _ provenance: Provenance,
        at now: MonotonicTime,
        since epoch: UInt64
    ) {
        guard epoch == self.epoch else { return }
        let before = entries[origin]
        if before?.endpoint == endpoint {
            entries[origin]?.answeredAt = now
            return
        }
        // It was under way when the others moved on.
        if held == endpoint { return }
        if before == nil, entries.count >= AddressHold.maximumEntries { makeRoom(at: now) }
        var entry = Entry(endpoint: endpoint, provenance: provenance, answeredAt: now, listedAt: now)
        if before?.provenance == provenance { entry.movedAt = before?.movedAt }
        entries[origin] = entry
    }

    /// Nothing is held any more: what a name's next request is given is where it goes.
    mutating func forgetAll() {
        entries.removeAll()
        epoch += 1
    }

    private mutating func makeRoom(at now: MonotonicTime) {
        entries = entries.filter { now - $0.value.answeredAt <= AddressHold.warmth }
        // All of them warm: a name that is forgotten moves with its next answer, which is what it would do without this
        // table.
        if entries.count >= AddressHold.maximumEntries { entries.removeAll(keepingCapacity: true) }
    }
}
