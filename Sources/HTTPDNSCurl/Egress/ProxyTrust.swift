internal import CHTTPDNSCurl
package import HTTPDNSPrimitives

/// The trust settings for an HTTPS proxy. They belong to the egress path, because one loop carries the requests of clients that
/// trust different proxies.
package struct ProxyTrust: Hashable, Sendable {
    private let roots: HTTPDNSTrust.Roots
    private let verification: HTTPDNSTrust.Verification
    private let minimumVersion: HTTPDNSTrust.TLSVersion

    /// Creates trust settings like those for servers. The client's own certificate and key pins are not used with the proxy.
    package init(_ settings: HTTPDNSTrust = HTTPDNSTrust()) {
        roots = settings.roots
        verification = settings.verification
        minimumVersion = settings.minimumVersion
    }

    /// Returns the CA file; `nil` when no certificate is checked.
    /// - Throws: ``TransferFailure`` with code `trustRootsMissing`.
    func authorityFile() throws(TransferFailure) -> String? {
        verification == .chainAndName ? try CertificateBundle.path(for: roots) : nil
    }

    /// - Parameter serverAuthorities: The CA file for servers on the same handle; `nil` for none.
    /// - Throws: ``TransferFailure`` with code `trustRootsMissing`.
    func apply(
        to curl: UnsafeMutableRawPointer,
        besides serverAuthorities: String?,
        _ options: inout OptionResults
    ) throws(TransferFailure) {
        if let authorityFile = try authorityFile() {
            options.set(CURLOPT_PROXY_CAINFO, authorityFile, of: curl)
            if authorityFile != serverAuthorities {
                // The owner of the servers' file does not check this one for changes.
                options.set(CURLOPT_CA_CACHE_TIMEOUT, ProxyTrust.secondsPerDay, of: curl)
            }
        } else {
            options.set(CURLOPT_PROXY_SSL_VERIFYPEER, 0, of: curl)
            options.set(CURLOPT_PROXY_SSL_VERIFYHOST, 0, of: curl)
        }
        options.set(CURLOPT_PROXY_CAPATH, nil, of: curl)
        let version = minimumVersion == .tls13 ? CURL_SSLVERSION_TLSv1_3 : CURL_SSLVERSION_TLSv1_2
        options.set(CURLOPT_PROXY_SSLVERSION, Int(version), of: curl)
    }

    /// The default of CURLOPT_CA_CACHE_TIMEOUT in libcurl.
    private static let secondsPerDay = 86_400
}
