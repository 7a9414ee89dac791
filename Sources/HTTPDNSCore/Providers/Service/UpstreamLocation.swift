// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSCurl
package import HTTPDNSPrimitives

/// The validated location of a service: its URL, and the addresses to connect to.
package struct UpstreamLocation: Sendable {
    /// The URL, normalized.
    package let url: ParsedURL
    /// The endpoints to connect to, in the order to try; at least one.
    package let endpoints: [HTTPDNSEndpoint]
    /// The most public scope among the endpoints, which limits the addresses that the service returns for itself (discovery).
    /// Link-local and other special addresses count as private, since they do not give access to a machine's own addresses.
    package let scope: HTTPDNSAddressPolicy.Scope

    /// - Parameters:
    ///   - text: An https URL; http only for loopback literals.
    ///   - bootstrap: The service's addresses; required unless the URL has a literal.
    ///   - provider: The provider's name, for errors.
    package init(
        url text: String,
        bootstrap: [HTTPDNSAddress],
        provider: String
    ) throws(HTTPDNSProviderConfigurationError) {
        func refusal(_ message: String) -> HTTPDNSProviderConfigurationError {
            HTTPDNSProviderConfigurationError(provider: provider, message: message)
        }
        do throws(URLFailure) {
            url = try ParsedURL(text)
        } catch {
            throw refusal("its url cannot be used: \(error)")
        }
        guard url.credential == nil else {
            throw refusal("its url has a user name or password in it, which the protocol has no use for; remove it")
        }
        guard url.fragment == nil else {
            throw refusal("its url has a fragment, which is never sent; remove the # and what follows")
        }
        endpoints = Self.endpoints(of: url, bootstrap: bootstrap)
        guard let scope = Self.scope(of: endpoints) else {
            throw refusal(
                "its url has the name \(url.hostText), which is never looked up; "
                    + "give the addresses of the service as bootstrap, or put an address in the url"
            )
        }
        guard url.scheme == .https || Self.isLoopbackLiteral(url) && scope == .loopback else {
            throw refusal(
                "its url must begin with https://; http:// is for a loopback address such as http://127.0.0.1"
            )
        }
        self.scope = scope
    }

    /// Returns the URL with parameters after its own query.
    /// - Parameter parameters: `name=value` pairs in the characters that a query may have, joined by `&`.
    func url(adding parameters: String) throws(HTTPDNSProviderError) -> ParsedURL {
        do throws(URLFailure) {
            return try ParsedURL(url, adding: parameters)
        } catch {
            // The error's text is dropped: it may quote the URL, and with it a signature.
            throw HTTPDNSProviderError(code: .unreachable, message: "the query does not fit into the url")
        }
    }

    private static func endpoints(of url: ParsedURL, bootstrap: [HTTPDNSAddress]) -> [HTTPDNSEndpoint] {
        var addresses: [HTTPDNSAddress] = []
        if case .address(let literal) = url.host { addresses.append(literal) }
        for address in bootstrap where !addresses.contains(address) { addresses.append(address) }
        return addresses.map { HTTPDNSEndpoint(address: $0, port: url.port) }
    }

    /// Returns the most public scope among the endpoints; `nil` when there are none.
    private static func scope(of endpoints: [HTTPDNSEndpoint]) -> HTTPDNSAddressPolicy.Scope? {
        endpoints.map { endpoint in
            let scope = HTTPDNSAddressPolicy.Scope(of: endpoint.address)
            return scope == .special ? .private : scope
        }.min()
    }

    private static func isLoopbackLiteral(_ url: ParsedURL) -> Bool {
        guard case .address(let literal) = url.host else { return false }
        return HTTPDNSAddressPolicy.Scope(of: literal) == .loopback
    }
}
