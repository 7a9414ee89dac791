// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if LocalProvider
internal import HTTPDNSConfiguration
internal import HTTPDNSCore
internal import HTTPDNSMessages
internal import HTTPDNSPrimitives

/// The served content: the mappings of a file, and its settings for serving them.
///
/// Rules for a port, `system` and `last_resort` concern clients only. Names without other rules do not exist here.
struct Zone: Sendable {
    /// The maximum number of aliases that are followed, as in the mappings themselves.
    private static let maximumAliases = 8

    let settings: ServeSettings
    private let mappings: HTTPDNSMappings

    init(_ settings: FileSettings) throws(HTTPDNSMapping.Error) {
        mappings = try HTTPDNSMappings(settings.mappings)
        self.settings = settings.serve
    }

    /// The number of names and suffixes with addresses.
    var ruleCount: Int { mappings.rules.count }

    /// The most private scope among the addresses.
    var mostPrivateScope: HTTPDNSAddressPolicy.Scope {
        let targets = mappings.rules.values.flatMap { mapping -> [HTTPDNSMapping.Target] in
            if case .addresses(let targets) = mapping.action { targets } else { [] }
        }
        return targets.map { HTTPDNSAddressPolicy.Scope(of: $0.address) }.max() ?? .public
    }

    /// Returns the answer for `host`.
    func answer(for host: HTTPDNSName) -> ZoneAnswer {
        var answer = ZoneAnswer(host: host, timeToLive: Int(settings.timeToLive.components.seconds))
        var name = host
        while true {
            // No rule is for port 0: only those for all ports match.
            guard let mapping = mappings.rule(for: name, port: 0)?.mapping else { break }
            if let life = mapping.timeToLive {
                answer.timeToLive = min(answer.aliases.isEmpty ? .max : answer.timeToLive, Int(life.components.seconds))
            }
            switch mapping.action {
            case .addresses(let targets)?:
                let addresses = targets.map(\.address)
                answer.v4 = addresses.filter { $0.family == .v4 }
                answer.v6 = addresses.filter { $0.family == .v6 }
                return answer
            case .via(let next, _)? where answer.aliases.count < Self.maximumAliases:
                answer.aliases.append(next)
                name = next
                continue
            default: break
            }
            break
        }
        answer.exists = false
        return answer
    }
}

/// The content of the served file for a name.
struct ZoneAnswer: Sendable {
    var host: HTTPDNSName
    /// The names of its alias chain (`via`), in order.
    var aliases: [HTTPDNSName] = []
    var v4: [HTTPDNSAddress] = []
    var v6: [HTTPDNSAddress] = []
    /// The time to live of its records, in seconds.
    var timeToLive: Int
    /// Whether the name exists.
    var exists = true

    /// The maximum time to live of a negative answer, in seconds.
    private static let longestAbsence = 60

    /// The time to live of a negative answer, in seconds.
    var absence: Int { min(timeToLive, Self.longestAbsence) }

    /// Returns the addresses in records of a type; none for types other than A and AAAA.
    func addresses(_ type: DNSRecordType) -> [HTTPDNSAddress] {
        switch type {
        case .a: v4
        case .aaaa: v6
        default: []
        }
    }

    func addresses(_ family: HTTPDNSAddress.Family) -> [HTTPDNSAddress] { family == .v4 ? v4 : v6 }
}

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
