internal import HTTPDNSCurl

/// The file and line of trust settings, for errors about their files: `httpdns.yaml:7:3: client.ca_file`.
package struct TrustOrigin: Sendable {
    /// The position of the trust roots.
    package var authorities: String?
    /// The position of the client certificate.
    package var certificate: String?

    package init() {}

    /// Returns the prefix of an error about one of the files.
    func prefix(_ code: TransferFailure.Code) -> String {
        let place = code == .clientCertificateUnusable ? certificate : authorities
        return place.map { "\($0): " } ?? ""
    }
}
