internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

extension UpstreamLocation {
    /// Returns a URL at the service with a path of the protocol.
    /// - Parameters:
    ///   - path: Begins with `/`; in the characters that a path may have.
    ///   - parameters: `name=value` pairs in the characters that a query may have.
    func url(path: String, _ parameters: [(name: String, value: String)]) throws(HTTPDNSProviderError) -> ParsedURL {
        let query = parameters.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
        do throws(URLFailure) {
            return try ParsedURL("\(url.scheme)://\(url.authority)\(path)?\(query)")
        } catch {
            // The error's text is dropped: it may quote the URL, and with it a signature.
            throw HTTPDNSProviderError(code: .unreachable, message: "the query does not fit into the url")
        }
    }

    /// Creates the location of a vendor's service. The vendor's protocol defines the paths.
    static func vendor(
        url: String,
        bootstrap: [HTTPDNSAddress],
        provider: String
    ) throws(HTTPDNSProviderConfigurationError) -> UpstreamLocation {
        let location = try UpstreamLocation(url: url, bootstrap: bootstrap, provider: provider)
        guard location.url.target == "/" else {
            throw HTTPDNSProviderConfigurationError(
                provider: provider,
                message:
                    "its url has a path or a query, which the vendor's protocol has of its own; end it with the port"
            )
        }
        return location
    }
}
