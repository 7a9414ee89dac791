internal import HTTPDNSCore

extension SettingsReader {
    /// The bounds of queries under way at one provider: as many as there are local ports.
    package static let queriesInFlight = 1...65_535
    /// The bounds of queries a second: no service takes more from one machine.
    package static let queriesPerSecond = 1...1_000_000

    /// A provider's `limits`; what is not written stays at the default.
    mutating func readLimits(_ node: ConfigurationNode, path: String) -> HTTPDNSResolver.Configuration.ProviderLimits? {
        guard !node.isEmpty, let fields = fields(of: node, .limits, path: path) else { return nil }
        var limits = HTTPDNSResolver.Configuration.ProviderLimits()
        if let node = fields["in_flight"],
            let number = number(of: node, in: Self.queriesInFlight, path: "\(path).in_flight")
        {
            limits.maximumInFlight = number
        }
        if let node = fields["per_second"],
            let number = number(of: node, in: Self.queriesPerSecond, path: "\(path).per_second")
        {
            limits.queriesPerSecond = Double(number)
        }
        return limits
    }
}
