/// Why a provider cannot be made from its settings.
public struct HTTPDNSProviderConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The provider's name.
    public var provider: String
    /// What is wrong and what to do.
    public var message: String

    /// One line with both.
    public var description: String { "provider \"\(provider)\": \(message)" }
}
