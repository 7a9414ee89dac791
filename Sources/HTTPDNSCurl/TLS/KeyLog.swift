internal import CHTTPDNSCurl
internal import Glibc

/// The file of TLS secrets that libcurl writes if the environment has `SSLKEYLOGFILE`.
enum KeyLog {
    /// `SSL_CTX_set_keylog_callback` of the OpenSSL that libcurl is linked with; nil without one.
    private static let setCallback: (@convention(c) (UnsafeMutableRawPointer, UnsafeMutableRawPointer?) -> Void)? =
        dlsym(
            nil,
            "SSL_CTX_set_keylog_callback"
        ).map {
            unsafeBitCast($0, to: (@convention(c) (UnsafeMutableRawPointer, UnsafeMutableRawPointer?) -> Void).self)
        }

    /// Removes the callback that libcurl has set on a TLS context (7.88: `ossl_connect_step1`), before its first handshake.
    static func prevent(on context: UnsafeMutableRawPointer?) {
        guard let context else { return }
        setCallback?(context, nil)
    }
}
