// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

/// The address of each host that requests stay on when a new answer no longer contains it. A value that receives events
/// and times.
///
/// Names of content networks return some of many addresses, others each time. An address that still responds is as good
/// as it was, unless it says that it does not serve any more (``RefusalStatus``). Requests stay on it while it is warm, and
/// for a bounded time after the last answer that contained it. A single change is not a rotation: an operator has moved the
/// name, and requests follow immediately. They stay from the second change on, if it comes within the same time after they
/// moved.
struct AddressHold: Sendable {
    private struct Entry: Sendable {
        var endpoint: HTTPDNSEndpoint
        var provenance: AnswerProvenance
        /// The time of the last response from it.
        var answeredAt: MonotonicTime
        /// The time of the last answer that contained it.
        var listedAt: MonotonicTime
        /// The last time that requests moved because an answer no longer contained their address.
        var movedAt: MonotonicTime?
        /// Whether requests stay on it although the newest answer lacks it; nil while the answers contain it.
        var stays: Bool?
        /// Whether requests now go elsewhere, and none of them has had a response there yet.
        var isLeft = false
        /// Whether its last response was one of ``RefusalStatus``, which ends the stay on an address that the newest answer
        /// lacks.
        var refuses = false
        /// The time since when one request makes a connection to the new addresses, while the others stay.
        var leavingSince: MonotonicTime?
    }

    /// The time after a response for which an address counts as warm.
    static let warmth = Duration.seconds(5)
    /// The maximum wait for the request that makes the new connection.
    static let leave = Duration.seconds(5)
    /// The maximum number of remembered hosts; an entry takes about 200 bytes.
    static let maximumEntries = 4096

    /// The number of times that everything was forgotten.
    private(set) var epoch: UInt64 = 0
    private let limit: Duration
    /// Whether one request goes first when the time is over.
    private let sendsOneAhead: Bool
    private var entries: [HopOrigin: Entry] = [:]

    init(limit: Duration, sendsOneAhead: Bool) {
        self.limit = limit
        self.sendsOneAhead = sendsOneAhead
    }

    var count: Int { entries.count }

    /// Returns the address that a request stays on; nil when it uses the answer's own.
    mutating func heldEndpoint(
        for origin: HopOrigin,
        among endpoints: [HTTPDNSEndpoint],
        _ provenance: AnswerProvenance,
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
        if entry.refuses {
            entries[origin]?.isLeft = true
            entries[origin]?.movedAt = now
            return nil
        }
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

    /// Records the response to a request.
    /// - Parameters:
    ///   - endpoint: The address that responded.
    ///   - status: The status of the response.
    ///   - held: The address that the request was to stay on.
    ///   - epoch: The value of ``epoch`` when the request was sent: a request from before everything was forgotten is
    ///     no reason to stay.
    mutating func answered(
        by endpoint: HTTPDNSEndpoint,
        status: Int,
        held: HTTPDNSEndpoint?,
        for origin: HopOrigin,
        _ provenance: AnswerProvenance,
        at now: MonotonicTime,
        since epoch: UInt64
    ) {
        guard epoch == self.epoch else { return }
        let before = entries[origin]
        let refuses = RefusalStatus.contains(status)
        if before?.endpoint == endpoint {
            entries[origin]?.answeredAt = now
            entries[origin]?.refuses = refuses
            return
        }
        // It was in flight when the others moved on.
        if held == endpoint { return }
        if before == nil, entries.count >= AddressHold.maximumEntries { makeRoom(at: now) }
        var entry = Entry(endpoint: endpoint, provenance: provenance, answeredAt: now, listedAt: now)
        entry.refuses = refuses
        if before?.provenance == provenance { entry.movedAt = before?.movedAt }
        entries[origin] = entry
    }

    /// Forgets all addresses: the next request for each name uses the addresses of its answer.
    mutating func forgetAll() {
        entries.removeAll()
        epoch += 1
    }

    private mutating func makeRoom(at now: MonotonicTime) {
        entries = entries.filter { now - $0.value.answeredAt <= AddressHold.warmth }
        // All of them are warm: a forgotten name moves with its next answer, as it would without this table.
        if entries.count >= AddressHold.maximumEntries { entries.removeAll(keepingCapacity: true) }
    }
}
