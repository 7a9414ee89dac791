internal import HTTPDNSCore

extension SettingsReader {
    /// The limits for queries in flight at one provider: as many as there are local ports.
    package static let queriesInFlight = 1...65_535
    /// The limits for queries per second: no service accepts more from one machine.
    package static let queriesPerSecond = 1...1_000_000

    /// Reads a provider's `limits`; missing keys keep their defaults.
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
