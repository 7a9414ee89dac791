internal import Foundation
internal import HTTPDNS

/// The effect of `--cacert`, also for the providers of a configuration file.
///
/// Those are created while the file is read, so the file of authorities is set as the system's (`SSL_CERT_FILE`) for this run.
/// A provider with its own authorities in the configuration keeps them.
enum TrustFlag {
    /// Applies the flag. Call it before the configuration is read and before any thread is started that reads the environment.
    static func apply(_ path: String?) throws(CommandFailure) {
        guard let path else { return }
        let hint = "name a PEM file with the certificates of the authorities"
        guard !path.isEmpty else { throw .usage("--cacert names no file", hint: hint) }
        guard access(path, R_OK) == 0 else { throw .usage("--cacert \(path): \(SystemError.text(errno))", hint: hint) }
        setenv("SSL_CERT_FILE", path, 1)
    }
}

extension HTTPDNSClient.Configuration {
    /// Applies `--cacert` to origins, also to those with their own trust settings, unless these name other authorities than the
    /// common ones.
    mutating func trustOnly(_ authorities: String) {
        for (pattern, trust) in trustByHost where trust.roots == trustRoots {
            trustByHost[pattern]?.roots = .file(authorities)
        }
        trustRoots = .file(authorities)
    }
}
