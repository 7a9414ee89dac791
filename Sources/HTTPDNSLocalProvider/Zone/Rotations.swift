#if LocalProvider
internal import HTTPDNS
internal import HTTPDNSConfiguration
internal import HTTPDNSPrimitives

/// How often each name was answered, for addresses that take turns.
final class Rotations: Sendable {
    /// A suffix has more names than there is memory: beyond these, all begin anew.
    private static let maximumNames = 10_000

    private let turns = Lock<[HostName: Int]>([:])

    /// The answer as its turn has it.
    func turned(_ answer: ZoneAnswer, _ rotation: ServeSettings.Rotation?) -> ZoneAnswer {
        guard let rotation else { return answer }
        let turn = turns.withLock { turns in
            if turns.count >= Self.maximumNames { turns = [:] }
            let turn = turns[answer.host, default: 0]
            turns[answer.host] = turn &+ 1
            return turn
        }
        var answer = answer
        answer.v4 = Self.turned(answer.v4, rotation, by: turn)
        answer.v6 = Self.turned(answer.v6, rotation, by: turn)
        return answer
    }

    private static func turned(
        _ addresses: [IPAddress],
        _ rotation: ServeSettings.Rotation,
        by turn: Int
    ) -> [IPAddress] {
        guard !addresses.isEmpty else { return [] }
        let start = turn % addresses.count
        let order = addresses[start...] + addresses[..<start]
        return rotation == .order ? Array(order) : Array(order.prefix(1))
    }
}
#endif
