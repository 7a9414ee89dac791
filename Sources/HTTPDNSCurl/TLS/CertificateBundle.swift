internal import Glibc
internal import HTTPDNSPrimitives

/// The file with the machine's trusted certificate authorities, as one PEM file.
///
/// libcurl gets that one file and no directory: with a directory it parses all roots again for each TLS connection (16 ms
/// instead of 0.8 ms, libcurl 7.88.1).
enum CertificateBundle {
    /// The paths of the bundle on different distributions.
    static let knownPaths = [
        "/etc/ssl/certs/ca-certificates.crt",  // Debian, Ubuntu, Arch, Gentoo
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // RHEL 7 and later, Fedora, Amazon Linux
        "/etc/pki/tls/certs/ca-bundle.crt",  // RHEL 6
        "/etc/ssl/ca-bundle.pem",  // SUSE
        "/etc/ssl/cert.pem",  // Alpine, macOS
    ]

    /// Returns the file for libcurl.
    /// - Throws: ``TransferFailure`` that names the file, or the paths at which none was found.
    static func path(
        for roots: HTTPDNSTrust.Roots,
        environment: (String) -> String? = { name in getenv(name).map { String(cString: $0) } },
        isReadable: (String) -> Bool = { access($0, R_OK) == 0 }
    ) throws(TransferFailure) -> String {
        switch roots.source {
        case .file(let path):
            guard isReadable(path) else { throw missing("the CA file \(path) cannot be read") }
            return path
        case .system:
            if let path = environment("SSL_CERT_FILE"), !path.isEmpty {
                guard isReadable(path) else { throw missing("SSL_CERT_FILE names \(path), which cannot be read") }
                return path
            }
            guard let path = knownPaths.first(where: isReadable) else {
                throw missing(
                    "no CA certificates were found: SSL_CERT_FILE is not set and none of "
                        + knownPaths.joined(separator: ", ") + " exists; install the package ca-certificates"
                )
            }
            return path
        }
    }

    private static func missing(_ message: String) -> TransferFailure {
        TransferFailure(code: .trustRootsMissing, phase: .tls, message: message)
    }
}
