internal import CHTTPDNSCurl

/// The libcurl in use, which may be newer than the one at build time.
package enum CurlLibrary {
    /// The version, such as `7.88.1`.
    package static var version: String {
        guard let information = curl_version_info(CURLVERSION_FIRST), let text = information.pointee.version else {
            return "unknown"
        }
        return String(cString: text)
    }

    /// Whether a connection can carry only one request over HTTP/2 in clear text. libcurl 7.88 starts HTTP/2 again for each
    /// further request, inside the streams of the first, and the request fails (`Curl_http`; corrected in 8.0).
    package static let limitsClearTextHTTP2: Bool = {
        guard let information = curl_version_info(CURLVERSION_FIRST) else { return false }
        return (0x075800..<0x080000).contains(information.pointee.version_num)
    }()

    /// Whether libcurl checks for each piece of a body whether to decode it (7.88.1), and not once, in the head. See
    /// ``TransportConfiguration/decodesByThePiece``.
    static let decodesByThePiece: Bool = {
        guard let information = curl_version_info(CURLVERSION_FIRST) else { return false }
        return information.pointee.version_num < 0x080000
    }()

    /// Whether libcurl loses an HTTP/2 response whose stream the server resets (RST_STREAM), when it reads both together. Until
    /// 8.0 it handles the reset before the response that it has read (`cf_h2_recv`; corrected in 8.1).
    package static let losesResponseBeforeReset: Bool = {
        guard let information = curl_version_info(CURLVERSION_FIRST) else { return false }
        return information.pointee.version_num < 0x080100
    }()
}
