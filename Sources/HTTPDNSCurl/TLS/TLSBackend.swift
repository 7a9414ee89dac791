// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl
package import HTTPDNSPrimitives

/// The TLS library that libcurl uses.
///
/// libcurl quirk: Options can be ignored (any version; tested with OpenSSL 3.0). Other TLS libraries ignore options, so TLS is
/// used only with OpenSSL, LibreSSL, BoringSSL, AWS-LC and quictls. Key pins, a client certificate or a minimum version refuse
/// the settings, otherwise the first TLS connection is refused. Tests: TLSBackendTests.
package struct TLSBackend: Hashable, Sendable, CustomStringConvertible {
    /// The backend of the libcurl in use; `nil` when it has no TLS.
    package static let current = TLSBackend(
        (curl_version_info(CURLVERSION_FIRST)?.pointee.ssl_version).map { String(cString: $0) }
    )

    /// Name and version, such as `OpenSSL/3.0.19`.
    package let description: String

    /// Reads libcurl's text, such as `OpenSSL/3.0.19`. A libcurl with several TLS libraries has those that are not in use in
    /// parentheses: `(GnuTLS/3.7.9) OpenSSL/3.0.19`.
    package init?(_ text: String?) {
        let inUse = text?.split(separator: " ").first { !$0.hasPrefix("(") }
        guard let inUse else { return nil }
        description = String(inUse)
    }

    /// Whether it is OpenSSL, or a variant with its interface, so that it honors all options of ``HTTPDNSTrust``.
    package var honorsAllOptions: Bool {
        let name = description.prefix { $0 != "/" }
        return ["OpenSSL", "LibreSSL", "BoringSSL", "AWS-LC", "quictls"].contains { $0 == name }
    }

    /// The hint of the error for a backend that may ignore settings.
    package static let hint = "install a libcurl with OpenSSL (Debian and Ubuntu: the package libcurl4)"

    /// Returns the settings that differ from the defaults and that a backend may ignore, for an error; `nil` when there are none.
    package static func refusal(of settings: HTTPDNSTrust, with backend: TLSBackend? = .current) -> String? {
        guard backend?.honorsAllOptions != true else { return nil }
        var options: [String] = []
        if settings.hasPins { options.append("public-key pins") }
        if settings.clientCertificate != nil { options.append("the client certificate") }
        if settings.minimumVersion > .tls12 { options.append("TLS \(settings.minimumVersion) as the minimum") }
        if settings.maximumVersion < .tls13 { options.append("TLS \(settings.maximumVersion) as the maximum") }
        if !settings.ciphers.isEmpty || !settings.ciphersTLS13.isEmpty { options.append("the ciphers") }
        if !settings.curves.isEmpty { options.append("the curves") }
        return options.isEmpty ? nil : text(backend) + ", which may ignore: " + options.joined(separator: ", ")
    }

    /// Refuses TLS with a backend that may ignore settings. All of them write a file of TLS secrets (SSLKEYLOGFILE), and only
    /// OpenSSL lets the client prevent it.
    /// - Throws: ``TransferFailure`` with code `trustUnsupported`.
    static func check(_ settings: HTTPDNSTrust?, with backend: TLSBackend? = .current) throws(TransferFailure) {
        guard backend?.honorsAllOptions != true else { return }
        let reason =
            settings.flatMap { refusal(of: $0, with: backend) }
            ?? (backend == nil ? text(backend) : "\(text(backend)), whose options have no tests")
        throw TransferFailure(code: .trustUnsupported, phase: .tls, message: reason)
    }

    private static func text(_ backend: TLSBackend?) -> String {
        "libcurl \(CurlLibrary.version) \(backend.map { "uses \($0) for TLS" } ?? "has no TLS")"
    }
}
