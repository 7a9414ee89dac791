package import HTTPDNSCurl
package import HTTPDNSPrimitives

extension HTTPDNSClient.Configuration {
    /// Whom the client believes at a host: ``trustByHost``, or ``trust``.
    /// - Parameter name: The name that its certificate is for, in lower case.
    package func trust(forHost name: String) -> HTTPDNSTrust {
        HostTable(trustByHost)[ParsedURL.Host.name(name)] ?? trust
    }
}
