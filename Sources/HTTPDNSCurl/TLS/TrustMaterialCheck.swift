internal import CHTTPDNSCurl
internal import Glibc

/// A test whether libcurl can use a ``TrustMaterial``. It detects authorities that are not PEM, a key of another certificate,
/// and a wrong password.
///
/// libcurl checks them only when it makes a connection. So it gets one, to a socket of this process on 127.0.0.1 that is
/// closed as soon as the certificate is loaded; nothing leaves the machine. The test takes the time to parse the authorities.
enum TrustMaterialCheck {
    /// Runs the test. It blocks.
    /// - Throws: ``TransferFailure`` with code `trustRootsMissing`, `clientCertificateUnusable`, or `transport` when the
    ///   system has no socket for the test.
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
        var options = OptionResults()
        material.apply(to: curl, &options)
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
