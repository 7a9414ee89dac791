internal import CHTTPDNSCurl

/// The libcurl that this process runs with, which may be newer than the one that it was built against.
package enum CurlLibrary {
    /// Its version: `7.88.1`.
    package static var version: String {
        guard let information = curl_version_info(CURLVERSION_FIRST), let text = information.pointee.version else {
            return "unknown"
        }
        return String(cString: text)
    }

    /// Whether a connection can carry one request only over HTTP/2 in clear text: libcurl 7.88 begins HTTP/2 again for each further one,
    /// inside the streams of the first, and the request fails (`Curl_http`; corrected in 8.0).
    package static let limitsClearTextHTTP2: Bool = {
        guard let information = curl_version_info(CURLVERSION_FIRST) else { return false }
        return (0x075800..<0x080000).contains(information.pointee.version_num)
    }()

    /// Whether it looks for each piece of a body whether it is to take a content coding off (7.88.1), and not once, in the head. See
    /// ``TransportConfiguration/decodesByThePiece``.
    static let decodesByThePiece: Bool = {
        guard let information = curl_version_info(CURLVERSION_FIRST) else { return false }
        return information.pointee.version_num < 0x080000
    }()

    /// Whether it loses a response over HTTP/2 whose stream the server resets (RST_STREAM), when it reads both at once: until 8.0 it looks at
    /// the reset before the response that it has read (`cf_h2_recv`; corrected in 8.1).
    package static let losesResponseBeforeReset: Bool = {
        guard let information = curl_version_info(CURLVERSION_FIRST) else { return false }
        return information.pointee.version_num < 0x080100
    }()
}
