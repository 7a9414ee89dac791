internal import CHTTPDNSCurl
package import HTTPDNSPrimitives

/// Which certificates an HTTPS proxy is believed by. It belongs to the way, for one loop carries the requests of clients that
/// believe different proxies.
package struct ProxyTrust: Hashable, Sendable {
    private let roots: HTTPDNSTrust.Roots
    private let verification: HTTPDNSTrust.Verification
    private let minimumVersion: HTTPDNSTrust.TLSVersion

    /// As servers are believed. The client's own certificate and pinned keys are not for the proxy.
    package init(_ settings: HTTPDNSTrust = HTTPDNSTrust()) {
        roots = settings.roots
        verification = settings.verification
        minimumVersion = settings.minimumVersion
    }

    /// The CA file; nil when no certificate is checked.
    /// - Throws: ``TransferFailure`` with code `trustRootsMissing`.
    func authorityFile() throws(TransferFailure) -> String? {
        verification == .chainAndName ? try CertificateBundle.path(for: roots) : nil
    }

    /// - Parameter serverAuthorities: The CA file that servers are believed by on the same handle; nil for none.
    /// - Throws: ``TransferFailure`` with code `trustRootsMissing`.
    func apply(
        to curl: UnsafeMutableRawPointer,
        besides serverAuthorities: String?,
        _ options: inout OptionResults
    ) throws(TransferFailure) {
        if let authorityFile = try authorityFile() {
            options.set(CURLOPT_PROXY_CAINFO, authorityFile, of: curl)
            if authorityFile != serverAuthorities {
                // Who looks after the servers' file does not look after this one.
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

    /// libcurl's default for CURLOPT_CA_CACHE_TIMEOUT.
    private static let secondsPerDay = 86_400
}
