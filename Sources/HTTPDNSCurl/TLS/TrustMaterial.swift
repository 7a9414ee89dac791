// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl
internal import Glibc
internal import HTTPDNSPrimitives

/// The trust material for libcurl from one reading of the files behind ``HTTPDNSTrust``: all connections of one loop use the
/// same. The authorities are a private copy of the file. A certificate that was replaced a moment before its key would fail all
/// connections in between.
///
/// libcurl quirk: Certificate files are opened each time (7.88.1). libcurl opens certificate and key for each connection, so
/// they are read once and passed as bytes. An empty password keeps OpenSSL from asking on the terminal.
/// Tests: CertificateRotationTests, ClientCertificateTests.
///
/// Safe to share: nothing in it changes between its init and its deinit.
final class TrustMaterial: @unchecked Sendable {
    /// The maximum size of a file in bytes, larger than any chain, key or password.
    private static let maximumFile = 1 << 20
    private static let maximumPassword = 4096

    let settings: HTTPDNSTrust
    /// The authorities; nil when no certificate is checked.
    let authorities: Authorities?
    private let certificate: UnsafeMutableRawBufferPointer?
    private let key: UnsafeMutableRawBufferPointer?
    private let password: String

    /// Reads the files. It blocks during the disk access.
    /// - Throws: ``TransferFailure`` with code `trustRootsMissing`, `clientCertificateUnusable` or `trustUnsupported`.
    init(_ settings: HTTPDNSTrust) throws(TransferFailure) {
        try TLSBackend.check(settings)
        self.settings = settings
        authorities =
            settings.verification == .chainAndName
            ? try Authorities.copy(of: CertificateBundle.path(for: settings.roots)) : nil
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
        case .closure(let closure):
            return closure.text()
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
            message: "the CA file \(authorities?.file ?? "") is not PEM"
        )
    }

    /// Sets the options that are the same for all hosts.
    func apply(
        withCertificate: Bool = true,
        _ options: inout EasyOptions
    ) {
        if let authorities {
            authorities.apply(path: CURLOPT_CAINFO, bytes: CURLOPT_CAINFO_BLOB, &options)
        } else {
            options.set(CURLOPT_SSL_VERIFYPEER, 0)
            options.set(CURLOPT_SSL_VERIFYHOST, 0)
        }
        // A null CAPATH keeps libcurl's cache of parsed roots in use.
        options.set(CURLOPT_CAPATH, nil)
        options.set(CURLOPT_SSLVERSION, settings.versionOption)
        if let list = settings.ciphers.optionText { options.set(CURLOPT_SSL_CIPHER_LIST, list) }
        if let list = settings.ciphersTLS13.optionText { options.set(CURLOPT_TLS13_CIPHERS, list) }
        if let list = settings.curves.optionText { options.set(CURLOPT_SSL_EC_CURVES, list) }
        guard withCertificate, let certificate, let key else { return }
        options.set(CURLOPT_SSLCERT_BLOB, certificate)
        options.set(CURLOPT_SSLKEY_BLOB, key)
        options.set(CURLOPT_KEYPASSWD, password)
    }

    /// Returns the value for CURLOPT_PINNEDPUBLICKEY; `nil` when any key is accepted.
    func pinText(for host: String) -> String? {
        guard settings.hasPins else { return nil }
        let pins = settings.pins(for: host)
        return pins.isEmpty ? nil : pins.map(\.description).joined(separator: ";")
    }
}

extension HTTPDNSTrust {
    /// The value for CURLOPT_SSLVERSION: the oldest version, and in the upper 16 bits the newest (CURL_SSLVERSION_MAX_...).
    var versionOption: Int {
        let oldest = Int(minimumVersion == .tls13 ? CURL_SSLVERSION_TLSv1_3 : CURL_SSLVERSION_TLSv1_2)
        // Without the upper bits the newest version of the TLS library is allowed.
        return maximumVersion == .newest ? oldest : oldest | Int(CURL_SSLVERSION_TLSv1_2) << 16
    }
}

extension [String] {
    /// The names as libcurl and OpenSSL read them; `nil` without any, which leaves the default.
    var optionText: String? { isEmpty ? nil : joined(separator: ":") }
}

extension TransferFailure {
    /// Returns the failure for CURLE_SSL_CIPHER: the TLS library has none of the suites, or lacks a curve.
    /// - Parameter curlText: libcurl's text, which has the list: `failed setting cipher list: AES128-SHA`.
    static func tlsSettingsRefused(curlText: String) -> TransferFailure {
        TransferFailure(
            code: .tlsSettingsRefused,
            phase: .tls,
            message: "this machine's TLS library refuses the ciphers or curves of the settings: \(curlText)"
        )
    }
}

/// A test whether libcurl can use a ``TrustMaterial``. It detects authorities that are not PEM, a key of another certificate, a
/// wrong password, and cipher suites and curves that the TLS library does not have. The connection ends when the certificate is
/// loaded. The test takes the time to parse the authorities.
///
/// libcurl quirk: Files are checked when connecting (7.88.1). libcurl finds an unusable file only when it connects, so a
/// connection to a socket of this process tests it. Tests: ClientCertificateTests, TrustedTransportTests.
enum TrustMaterialCheck {
    /// Runs the test. It blocks.
    /// - Throws: ``TransferFailure`` with code `trustRootsMissing`, `clientCertificateUnusable`, `tlsSettingsRefused`, or
    ///   `transport` when the system has no socket for the test.
    static func run(_ material: TrustMaterial) throws(TransferFailure) {
        var (listener, error) = openSocket(AF_INET, TrustMaterialCheck.stream, 0)
        guard listener >= 0 else { throw TransferFailure.noDescriptor(error) }
        defer { if listener >= 0 { _ = closeSocket(listener) } }
        let port = TrustMaterialCheck.listen(listener)
        guard let port, let curl = curl_easy_init() else {
            throw TransferFailure(
                code: .transport,
                phase: .tls,
                message: "no socket on 127.0.0.1 to try certificates on"
            )
        }
        defer { curl_easy_cleanup(curl) }
        let text = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
        text.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        defer { text.deallocate() }
        _ = ccurl_set_string(curl, CURLOPT_URL, "https://127.0.0.1:\(port)/")
        _ = ccurl_set_string(curl, CURLOPT_PROXY, "")
        _ = ccurl_set_long(curl, CURLOPT_NOSIGNAL, 1)
        // Loopback responds immediately or not at all.
        _ = ccurl_set_long(curl, CURLOPT_TIMEOUT_MS, 10_000)
        _ = ccurl_set_string(curl, CURLOPT_ERRORBUFFER, text)
        var options = EasyOptions(curl)
        material.apply(&options)
        try options.check()
        _ = ccurl_set_tls_context_function(curl) { _, _, pointer in
            // Certificate and key are loaded. The ClientHello that follows meets a closed socket, and the authorities are
            // read after it was written.
            if let listener = pointer?.assumingMemoryBound(to: Int32.self), listener.pointee >= 0 {
                _ = closeSocket(listener.pointee)
                listener.pointee = -1
            }
            return CURLE_OK
        }
        let code = withUnsafeMutablePointer(to: &listener) { pointer in
            _ = ccurl_set_pointer(curl, CURLOPT_SSL_CTX_DATA, pointer)
            return curl_easy_perform(curl)
        }
        switch code {
        case CURLE_SSL_CERTPROBLEM: throw material.certificateFailure(curlText: String(cString: text))
        case CURLE_SSL_CACERT_BADFILE: throw material.authorityFailure
        case CURLE_SSL_CIPHER: throw TransferFailure.tlsSettingsRefused(curlText: String(cString: text))
        // Everything was loaded, because only then is the socket closed.
        case _ where listener < 0: return
        default:
            throw TransferFailure(
                code: .transport,
                phase: .tls,
                message: "certificates could not be tried: \(String(cString: curl_easy_strerror(code)))"
            )
        }
    }

    private static var stream: Int32 {
        Int32(SOCK_STREAM.rawValue)
    }

    /// - Returns: The port that the system chose; `nil` on failure.
    private static func listen(_ descriptor: Int32) -> UInt16? {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        return withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, length) == 0 && systemListen(descriptor, 1) == 0
                    && getsockname(descriptor, address, &length) == 0
            }
                ? UInt16(bigEndian: address.pointee.sin_port) : nil
        }
    }
}

/// Calls the system's `listen`: the functions above hide its own name.
private func systemListen(_ descriptor: Int32, _ backlog: Int32) -> Int32 {
    listen(descriptor, backlog)
}

/// The machine's trusted certificate authorities as one PEM file (libcurl quirk "A directory of authorities").
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
