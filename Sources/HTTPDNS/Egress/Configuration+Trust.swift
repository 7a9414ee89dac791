package import HTTPDNSCurl
package import HTTPDNSPrimitives

extension HTTPDNSClient.Configuration {
    /// Returns the trust settings for a host: those of ``trustByHost``, or ``trust``.
    /// - Parameter name: The name in the certificate, in lower case.
    package func trust(forHost name: String) -> HTTPDNSTrust {
        HostTable(trustByHost)[ParsedURL.Host.name(name)] ?? trust
    }
}
