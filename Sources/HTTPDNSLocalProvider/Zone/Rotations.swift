#if LocalProvider
internal import HTTPDNSCore
internal import HTTPDNSConfiguration
internal import HTTPDNSPrimitives

/// The number of answers for each name, for addresses that rotate.
///
/// A client that queries one family at a time alternates between the families, so each set of families rotates separately.
final class Rotations: Sendable {
    /// The maximum number of counters: a suffix has an unlimited number of names. Beyond this, all counters start again.
    private static let maximumTurns = 10_000

    private struct Key: Hashable {
        var host: HTTPDNSName
        var families: HTTPDNSAddress.Families
    }

    private let turns = Lock<[Key: Int]>([:])

    /// Returns the answer with its addresses rotated.
    /// - Parameter families: The queried families. A query for neither does not rotate.
    func turned(
        _ answer: ZoneAnswer,
        _ rotation: ServeSettings.Rotation?,
        for families: HTTPDNSAddress.Families
    ) -> ZoneAnswer {
        guard let rotation, !families.isEmpty else { return answer }
        let key = Key(host: answer.host, families: families)
        let turn = turns.withLock { turns in
            if turns.count >= Self.maximumTurns { turns = [:] }
            let turn = turns[key, default: 0]
            turns[key] = turn &+ 1
            return turn
        }
        var answer = answer
        answer.v4 = Self.turned(answer.v4, rotation, by: turn)
        answer.v6 = Self.turned(answer.v6, rotation, by: turn)
        return answer
    }

    private static func turned(
        _ addresses: [HTTPDNSAddress],
        _ rotation: ServeSettings.Rotation,
        by turn: Int
    ) -> [HTTPDNSAddress] {
        guard !addresses.isEmpty else { return [] }
        let start = turn % addresses.count
        let order = addresses[start...] + addresses[..<start]
        return rotation == .order ? Array(order) : Array(order.prefix(1))
    }
}
#endif
