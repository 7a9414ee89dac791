internal import HTTPDNSCore

extension SettingsReader {
    mutating func readPolicy(_ node: ConfigurationNode, into settings: inout FileSettings) {
        guard let fields = fields(of: node, .policy, path: "policy") else { return }
        if let node = fields["providers_may_answer"], let scope = scope(of: node, path: "policy.providers_may_answer") {
            settings.answers = scope
        }
        if let node = fields["allow"] { settings.policy.allowed = blocks(of: node, path: "policy.allow") }
        if let node = fields["deny"] { settings.policy.denied = blocks(of: node, path: "policy.deny") }
    }

    /// Reads the most private scope of addresses that answers may have; nil after a mistake.
    mutating func scope(of node: ConfigurationNode, path: String) -> HTTPDNSAddressPolicy.Scope? {
        word(of: node, .scopes, path: path).flatMap {
            ["public": .public, "private": .private, "loopback": .loopback][$0]
        }
    }
}
