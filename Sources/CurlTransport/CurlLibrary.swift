internal import CCurl

/// The libcurl that this process runs with, which may be newer than the one that it was built against.
package enum CurlLibrary {
    /// Its version: `7.88.1`.
    package static var version: String {
        guard let information = curl_version_info(CURLVERSION_FIRST), let text = information.pointee.version else {
            return "unknown"
        }
        return String(cString: text)
    }
}
