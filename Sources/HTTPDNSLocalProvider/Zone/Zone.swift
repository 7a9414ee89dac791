#if LocalProvider
internal import HTTPDNSCore
internal import HTTPDNSConfiguration
internal import HTTPDNSPrimitives

/// The served content: the mappings of a file, and its settings for serving them.
///
/// Rules for a port, `bypass` and `last_resort` concern clients only. Names without other rules do not exist here.
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
    var widestScope: HTTPDNSAddressPolicy.Scope {
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
#endif
