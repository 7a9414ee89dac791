internal import CHTTPDNSCurl
internal import Glibc
internal import HTTPDNSPrimitives

/// The trust material for libcurl from one reading of the files behind ``HTTPDNSTrust``: all connections of one loop use the
/// same.
///
/// The certificate and its key are read once and passed as bytes (CURLOPT_SSLCERT_BLOB). libcurl would open files for each
/// connection, and a certificate that was replaced a moment before its key would fail all connections in between. The
/// authorities stay a file: libcurl parses bytes again for each connection.
///
/// Safe to share: nothing in it changes between its init and its deinit.
final class TrustMaterial: @unchecked Sendable {
    /// The maximum size of a file in bytes, larger than any chain, key or password.
    private static let maximumFile = 1 << 20
    private static let maximumPassword = 4096

    let settings: HTTPDNSTrust
    /// The CA file; nil when no certificate is checked.
    let authorityFile: String?
    /// Whether the creator watches the files for changes. Otherwise libcurl reads the CA file again once a day (its default).
    private let isWatched: Bool
    private let certificate: UnsafeMutableRawBufferPointer?
    private let key: UnsafeMutableRawBufferPointer?
    private let password: String

    /// Reads the files. It blocks during the disk access.
    /// - Throws: ``TransferFailure`` with code `trustRootsMissing` or `clientCertificateUnusable`.
    init(_ settings: HTTPDNSTrust, isWatched: Bool = false) throws(TransferFailure) {
        self.settings = settings
        self.isWatched = isWatched
        authorityFile =
            settings.verification == .chainAndName ? try CertificateBundle.path(for: settings.roots) : nil
        guard let own = settings.clientCertificate else {
            (certificate, key, password) = (nil, nil, "")
            return
        }
        let certificateBytes = try TrustMaterial.read(own.certificateFile, "client certificate")
        let keyBytes = try own.keyFile.map { path throws(TransferFailure) in
            try TrustMaterial.read(path, "client certificate's key")
        }
        password = try TrustMaterial.read(own.keyPassword)
        certificate = TrustMaterial.copy(certificateBytes)
        key = TrustMaterial.copy(keyBytes ?? certificateBytes)
    }

    deinit {
        certificate?.deallocate()
        key?.deallocate()
    }

    private static func copy(_ bytes: [UInt8]) -> UnsafeMutableRawBufferPointer {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        copy.copyBytes(from: bytes)
        return copy
    }

    private static func read(_ path: String, _ what: String) throws(TransferFailure) -> [UInt8] {
        let bytes: [UInt8]
        do {
            bytes = try SmallFile.read(path, maximum: maximumFile)
        } catch {
            throw unusable("the \(what) \(path) cannot be read: \(error.reason)")
        }
        guard !bytes.isEmpty else { throw unusable("the \(what) \(path) is empty") }
        return bytes
    }

    /// Reads the password; without one it is the empty text. With none at all OpenSSL would ask for one on the terminal, and
    /// block the loop.
    private static func read(_ place: HTTPDNSTrust.KeyPassword?) throws(TransferFailure) -> String {
        switch place?.place {
        case nil:
            return ""
        case .environment(let name):
            guard let value = getenv(name).map({ String(cString: $0) }), !value.isEmpty else {
                throw unusable("the key's password: the environment variable \(name) is not set")
            }
            return value
        case .file(let path):
            var bytes: [UInt8]
            do {
                bytes = try SmallFile.read(path, maximum: maximumPassword)
            } catch {
                throw unusable("the file of the key's password, \(path), cannot be read: \(error.reason)")
            }
            while let last = bytes.last, last == 0x0a || last == 0x0d { bytes.removeLast() }
            guard let text = String(validating: bytes, as: UTF8.self), !text.isEmpty else {
                throw unusable("the file of the key's password, \(path), is empty or not UTF-8")
            }
            return text
        }
    }

    static func unusable(_ message: String) -> TransferFailure {
        TransferFailure(code: .clientCertificateUnusable, phase: .tls, message: message)
    }

    /// Returns the failure for libcurl's error about certificate or key; its own text names no file, because it got bytes.
    func certificateFailure(curlText: String) -> TransferFailure {
        guard let own = settings.clientCertificate else {
            return TransferFailure(code: .tlsFailed, phase: .tls, message: curlText)
        }
        if curlText.contains("private key") {
            return TrustMaterial.unusable(
                "the key in \(own.keyFile ?? own.certificateFile) does not belong to the certificate in "
                    + "\(own.certificateFile), or is no PEM key, or its password is "
                    + (own.keyPassword == nil ? "missing" : "wrong")
            )
        }
        return TrustMaterial.unusable("there is no PEM certificate in \(own.certificateFile)")
    }

    var authorityFailure: TransferFailure {
        TransferFailure(
            code: .trustRootsMissing,
            phase: .tls,
            message: "the CA file \(authorityFile ?? "") is not PEM"
        )
    }

    /// Sets the options that are the same for all hosts.
    func apply(
        to curl: UnsafeMutableRawPointer,
        withCertificate: Bool = true,
        _ options: inout OptionResults
    ) {
        if let authorityFile {
            options.set(CURLOPT_CAINFO, authorityFile, of: curl)
            if isWatched { options.set(CURLOPT_CA_CACHE_TIMEOUT, -1, of: curl) }
        } else {
            options.set(CURLOPT_SSL_VERIFYPEER, 0, of: curl)
            options.set(CURLOPT_SSL_VERIFYHOST, 0, of: curl)
        }
        // A null CAPATH keeps libcurl's cache of parsed roots in use.
        options.set(CURLOPT_CAPATH, nil, of: curl)
        let version = settings.minimumVersion == .tls13 ? CURL_SSLVERSION_TLSv1_3 : CURL_SSLVERSION_TLSv1_2
        options.set(CURLOPT_SSLVERSION, Int(version), of: curl)
        guard withCertificate, let certificate, let key else { return }
        options.set(CURLOPT_SSLCERT_BLOB, certificate, of: curl)
        options.set(CURLOPT_SSLKEY_BLOB, key, of: curl)
        options.set(CURLOPT_KEYPASSWD, password, of: curl)
    }

    /// Returns the value for CURLOPT_PINNEDPUBLICKEY; `nil` when any key is accepted.
    func pinText(for host: String) -> String? {
        guard settings.hasPins else { return nil }
        let pins = settings.pins(for: host)
        return pins.isEmpty ? nil : pins.map(\.description).joined(separator: ";")
    }
}
