internal import HTTPDNSCurl

/// Where trust settings are written, for errors about their files: `httpdns.yaml:7:3: client.ca_file`.
package struct TrustOrigin: Sendable {
    /// The place of the authorities.
    package var authorities: String?
    /// The place of the client's own certificate.
    package var certificate: String?

    package init() {}

    /// What precedes an error about one of the files.
    func prefix(_ code: TransferFailure.Code) -> String {
        let place = code == .clientCertificateUnusable ? certificate : authorities
        return place.map { "\($0): " } ?? ""
    }
}
