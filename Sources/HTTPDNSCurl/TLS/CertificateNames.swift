// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The names in the certificate of a connection's server, read with the OpenSSL that libcurl is linked with.
///
/// libcurl quirk: Certificates are described in full (7.88.1; the same words in 8). CURLOPT_CERTINFO prints all certificates
/// for each handshake, so it is set only on request. The names for an error are read from OpenSSL.
/// Tests: CertificateNamesTests, TransportAgainstNginxTests.
struct CertificateNames {
    private typealias Pointer = UnsafeMutableRawPointer

    /// The name of the subjectAltName extension in OpenSSL (NID_subject_alt_name).
    private static let alternativeNames: Int32 = 85
    /// The maximum length of the printed extension.
    private static let maximumText: Int32 = 16 * 1024

    private let certificate: @convention(c) (Pointer) -> Pointer?
    private let freeCertificate: @convention(c) (Pointer) -> Void
    private let indexOfExtension: @convention(c) (Pointer, Int32, Int32) -> Int32
    private let extensionAt: @convention(c) (Pointer, Int32) -> Pointer?
    private let printExtension: @convention(c) (Pointer, Pointer, UInt, Int32) -> Int32
    private let memory: @convention(c) () -> UnsafeRawPointer?
    private let makeStream: @convention(c) (UnsafeRawPointer?) -> Pointer?
    private let readStream: @convention(c) (Pointer, Pointer?, Int32) -> Int32
    private let freeStream: @convention(c) (Pointer) -> Int32

    /// The functions of OpenSSL; `nil` where libcurl is linked with another TLS library.
    private static let functions = try? CertificateNames(.program)

    private init(_ library: DynamicLibrary) throws(DynamicLibrary.Missing) {
        // OpenSSL before 3.0 has the second one.
        let newer: (@convention(c) (Pointer) -> Pointer?)? = try? library.function("SSL_get1_peer_certificate")
        certificate = if let newer { newer } else { try library.function("SSL_get_peer_certificate") }
        freeCertificate = try library.function("X509_free")
        indexOfExtension = try library.function("X509_get_ext_by_NID")
        extensionAt = try library.function("X509_get_ext")
        printExtension = try library.function("X509V3_EXT_print")
        memory = try library.function("BIO_s_mem")
        makeStream = try library.function("BIO_new")
        readStream = try library.function("BIO_read")
        freeStream = try library.function("BIO_free")
    }

    /// Returns the DNS names and addresses of the certificate's subjectAltName; none without a certificate.
    /// - Parameter connection: OpenSSL's object of the connection.
    static func ofServer(on connection: UnsafeMutableRawPointer) -> [String] {
        functions.map { names(in: $0.alternativeNames(of: connection)) } ?? []
    }

    /// Returns the names in an extension as OpenSSL prints it: `DNS:one.test, IP Address:127.0.0.2`.
    static func names(in text: String) -> [String] {
        text.split(separator: ",").compactMap { entry in
            let parts = entry.split(separator: ":", maxSplits: 1)
            return parts.count == 2 ? String(parts[1]) : nil
        }
    }

    /// Returns the printed extension; empty without one.
    private func alternativeNames(of connection: UnsafeMutableRawPointer) -> String {
        guard let certificate = certificate(connection) else { return "" }
        defer { freeCertificate(certificate) }
        let index = indexOfExtension(certificate, CertificateNames.alternativeNames, -1)
        guard index >= 0, let found = extensionAt(certificate, index), let stream = makeStream(memory()) else {
            return ""
        }
        defer { _ = freeStream(stream) }
        guard printExtension(stream, found, 0, 0) == 1 else { return "" }
        var bytes = [UInt8](repeating: 0, count: Int(CertificateNames.maximumText))
        let count = bytes.withUnsafeMutableBytes { readStream(stream, $0.baseAddress, CertificateNames.maximumText) }
        return String(decoding: bytes.prefix(Int(max(0, count))), as: UTF8.self)
    }
}
