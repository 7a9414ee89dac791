// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNSPrimitives

/// The result of a connection's TLS handshake, read with the OpenSSL that libcurl is linked with.
///
/// libcurl has it only as a line of its trace, which a reused connection does not repeat.
struct TLSConnection {
    private let version: @convention(c) (UnsafeRawPointer) -> UnsafePointer<CChar>?
    private let cipher: @convention(c) (UnsafeRawPointer) -> UnsafeRawPointer?
    private let name: @convention(c) (UnsafeRawPointer) -> UnsafePointer<CChar>?

    /// The functions of OpenSSL; `nil` where libcurl is linked with another TLS library.
    private static let functions = TLSConnection()

    private init?() {
        func find<Function>(_ name: String, as type: Function.Type = Function.self) -> Function? {
            dlsym(nil, name).map { unsafeBitCast($0, to: type) }
        }
        guard let version: @convention(c) (UnsafeRawPointer) -> UnsafePointer<CChar>? = find("SSL_get_version"),
            let cipher: @convention(c) (UnsafeRawPointer) -> UnsafeRawPointer? = find("SSL_get_current_cipher"),
            let name: @convention(c) (UnsafeRawPointer) -> UnsafePointer<CChar>? = find("SSL_CIPHER_get_name")
        else { return nil }
        self.version = version
        self.cipher = cipher
        self.name = name
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
