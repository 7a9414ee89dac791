// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS

/// The phases of a hop, one after the other, on the time axis of its call.
struct HopTimeline: Hashable, Sendable {
    /// A phase, in the order of time.
    enum Phase: String, CaseIterable, Sendable {
        case resolve
        /// The time before the response head that no other phase accounts for: mostly the wait for a connection, also that of
        /// interceptors.
        case blocked
        /// The attempts before the one that answered, or all attempts where none did.
        case race
        case connect
        case tls
        /// From the sending of the request until the first byte of the response.
        case wait
        /// From the response head until the last byte that the caller read.
        case receive

        /// The name that readers see.
        var name: String {
            switch self {
            case .resolve: "resolve"
            case .blocked: "blocked"
            case .race: "earlier attempts"
            case .connect: "connect"
            case .tls: "TLS"
            case .wait: "first byte"
            case .receive: "receive"
            }
        }
    }

    /// A phase that happened.
    struct Segment: Hashable, Sendable {
        let phase: Phase
        /// The time from the start of the call.
        let start: Duration
        let length: Duration
    }

    let segments: [Segment]

    /// - Parameter isLast: Whether the caller got the response of the hop, with its body.
    init(
        _ hop: HTTPDNSTrafficMonitor.Hop,
        isLast: Bool,
        of record: HTTPDNSTrafficMonitor.Record
    ) {
        var start = hop.offset
        segments = Self.lengths(hop, isLast: isLast, of: record).map { phase, length in
            defer { start += length }
            return Segment(phase: phase, start: start, length: length)
        }
    }

    /// The length of a phase; nil when it did not happen, or is not known.
    subscript(phase: Phase) -> Duration? { segments.first { $0.phase == phase }?.length }

    /// The time from the start of the call to the end of the last phase.
    var end: Duration? { segments.last.map { $0.start + $0.length } }

    private static func lengths(
        _ hop: HTTPDNSTrafficMonitor.Hop,
        isLast: Bool,
        of record: HTTPDNSTrafficMonitor.Record
    ) -> [(Phase, Duration)] {
        let phases = hop.phases
        // The end of a canceled hop is that of its call.
        let untilHead = hop.duration ?? (isLast ? max(.zero, record.duration - hop.offset) : .zero)
        // Without a server, all of the time is that of the answer.
        let wait = phases.firstByte ?? (hop.isAnsweredInProcess ? untilHead : nil)
        let known = [phases.resolve, phases.connect, phases.tls, wait].reduce(Duration.zero) { $0 + ($1 ?? .zero) }
        var rest = max(.zero, untilHead - known)
        // A request that was sent, and got no response, has waited for it.
        let unanswered = hop.status == nil && hop.failure?.phase == "first-byte" && wait == nil ? rest : nil
        rest -= unanswered ?? .zero
        // Where no address could be connected to, the attempts took the time.
        let hasOnlyFailed = hop.status == nil && !hop.addresses.attempts.isEmpty && unanswered == nil
        let race = (phases.race ?? (hasOnlyFailed ? rest : nil)).map { min($0, rest) }
        var lengths: [(Phase, Duration)] = []
        let blocked = rest - (race ?? .zero)
        if let resolve = phases.resolve { lengths.append((.resolve, resolve)) }
        if blocked > .zero { lengths.append((.blocked, blocked)) }
        if let race { lengths.append((.race, race)) }
        if let connect = phases.connect { lengths.append((.connect, connect)) }
        if let tls = phases.tls { lengths.append((.tls, tls)) }
        if let wait = wait ?? unanswered { lengths.append((.wait, wait)) }
        if let receive = receive(hop, isLast: isLast, of: record) { lengths.append((.receive, receive)) }
        return lengths
    }

    private static func receive(
        _ hop: HTTPDNSTrafficMonitor.Hop,
        isLast: Bool,
        of record: HTTPDNSTrafficMonitor.Record
    ) -> Duration? {
        guard hop.status != nil, let duration = hop.duration else { return nil }
        if isLast { return max(.zero, record.duration - hop.offset - duration) }
        // The short body of a redirect is read before the next hop.
        return hop.phases.total.map { total in
            let phases = [hop.phases.race, hop.phases.connect, hop.phases.tls, hop.phases.firstByte]
            return max(.zero, total - phases.reduce(Duration.zero) { $0 + ($1 ?? .zero) })
        }
    }
}

extension HTTPDNSTrafficMonitor.Record {
    /// The phases of each hop.
    var timelines: [HopTimeline] {
        hops.indices.map { HopTimeline(hops[$0], isLast: $0 == hops.count - 1, of: self) }
    }
}
