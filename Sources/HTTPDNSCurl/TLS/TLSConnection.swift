// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// Facts of a connection's TLS that libcurl does not report, read with the OpenSSL that libcurl is linked with.
///
/// libcurl has the result of the handshake only as a line of its trace, which a reused connection does not repeat.
struct TLSConnection {
    private let version: @convention(c) (UnsafeRawPointer) -> UnsafePointer<CChar>?
    private let cipher: @convention(c) (UnsafeRawPointer) -> UnsafeRawPointer?
    private let name: @convention(c) (UnsafeRawPointer) -> UnsafePointer<CChar>?
    private let shutdown: @convention(c) (UnsafeRawPointer) -> Int32
    private typealias Bytes = UnsafeMutableRawPointer
    /// SSL_get_sigalgs, which LibreSSL does not have.
    private let signatures: (@convention(c) (Bytes, Int32, Bytes?, Bytes?, Bytes?, Bytes?, Bytes?) -> Int32)?

    /// The functions of OpenSSL; `nil` where libcurl is linked with another TLS library.
    private static let functions = try? TLSConnection(.program)

    private init(_ library: DynamicLibrary) throws(DynamicLibrary.Missing) {
        version = try library.function("SSL_get_version")
        cipher = try library.function("SSL_get_current_cipher")
        name = try library.function("SSL_CIPHER_get_name")
        shutdown = try library.function("SSL_get_shutdown")
        signatures = try? library.function("SSL_get_sigalgs")
    }

    /// Returns whether the server asked for a client certificate: its request names the signatures that it takes (RFC 8446 section
    /// 4.3.2).
    static func asksForCertificate(_ connection: UnsafeMutableRawPointer) -> Bool {
        guard let signatures = functions?.signatures else { return false }
        return signatures(connection, -1, nil, nil, nil, nil, nil) > 0
    }

    /// SSL_RECEIVED_SHUTDOWN, a macro that Swift does not get.
    private static let receivedShutdown: Int32 = 2

    /// Returns whether the peer has ended TLS with close_notify (RFC 8446 section 6.1), which nobody else can send; also true when
    /// that is unknown.
    static func isEndedByPeer(_ connection: UnsafeMutableRawPointer) -> Bool {
        guard let functions else { return true }
        return functions.shutdown(connection) & receivedShutdown != 0
    }

    /// Returns the version and the cipher suite; `nil` before the end of the handshake.
    /// - Parameter connection: OpenSSL's object of the connection.
    static func parameters(of connection: UnsafeMutableRawPointer) -> HTTPDNSTransfer.TLSParameters? {
        guard let functions, let version = functions.version(connection),
            let cipher = functions.cipher(connection), let name = functions.name(cipher)
        else { return nil }
        return HTTPDNSTransfer.TLSParameters(
            version: String(cString: version),
            cipherSuite: String(cString: name)
        )
    }
}
