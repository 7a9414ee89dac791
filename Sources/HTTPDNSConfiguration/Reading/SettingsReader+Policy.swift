internal import HTTPDNS

extension SettingsReader {
    mutating func readPolicy(_ node: ConfigurationNode) -> AddressPolicy {
        var policy = AddressPolicy()
        guard let fields = fields(of: node, .policy, path: "policy") else { return policy }
        if let node = fields["providers_may_answer"],
            let word = word(of: node, .scopes, path: "policy.providers_may_answer")
        {
            policy.providersMayAnswer = ["public": .public, "private": .private, "loopback": .loopback][word]
        }
        if let node = fields["allow"] { policy.allowed = blocks(of: node, path: "policy.allow") }
        return policy
    }
}
