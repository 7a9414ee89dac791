#if LocalProvider
internal import HTTPDNSCore
internal import HTTPDNSConfiguration
internal import HTTPDNSPrimitives

/// How often each name was answered, for addresses that take turns.
///
/// A client that asks for one family at a time asks for the other in between: each set of families has turns of its own.
final class Rotations: Sendable {
    /// A suffix has more names than there is memory: beyond these, all begin anew.
    private static let maximumTurns = 10_000

    private struct Key: Hashable {
        var host: HTTPDNSName
        var families: HTTPDNSAddress.Families
    }

    private let turns = Lock<[Key: Int]>([:])

    /// The answer as its turn has it.
    /// - Parameter families: Those that are asked for. A question for neither is no turn.
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
