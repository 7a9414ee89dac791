/// An error in the settings of a provider.
public struct HTTPDNSProviderConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The provider's name.
    public var provider: String
    /// The mistake, and the suggested action.
    public var message: String

    /// One line with name and message.
    public var description: String { "provider \"\(provider)\": \(message)" }
}
