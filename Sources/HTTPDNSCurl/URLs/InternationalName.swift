internal import CHTTPDNSCurl
internal import Glibc

/// Names with letters outside ASCII, as the A-labels of DNS (RFC 5891), under any locale of the process.
package enum InternationalName {
    /// Returns the A-label form in lower case; `nil` when the name has none. ASCII names are returned in lower case.
    package static func toASCII(_ name: String) -> String? {
        if name.utf8.allSatisfy({ $0 < 0x80 }) { return name.lowercased() }
        guard let handle = curl_url() else { return nil }
        defer { curl_url_cleanup(handle) }
        guard curl_url_set(handle, CURLUPART_HOST, name, 0) == CURLUE_OK else { return nil }
        return aLabels(ofHostIn: handle)
    }

    /// Returns the host of a CURLU handle as A-labels.
    ///
    /// libidn2 reads the host in the encoding of the thread's locale, and a library must not call `setlocale`. The locale is
    /// therefore set only for this thread and this call.
    static func aLabels(ofHostIn handle: OpaquePointer) -> String? {
        guard let locale = utf8Locale else { return nil }
        let previous = uselocale(locale)
        defer { uselocale(previous) }
        var text: UnsafeMutablePointer<CChar>?
        let status = curl_url_get(handle, CURLUPART_HOST, &text, UInt32(CURLU_PUNYCODE))
        // Also after an error: libcurl 7.88 then leaves its copy of a host without A-labels there.
        defer { curl_free(text) }
        guard status == CURLUE_OK, let text else { return nil }
        let name = String(cString: text)
        return name.utf8.allSatisfy { $0 < 0x80 } ? name.lowercased() : nil
    }

    /// Created once and never freed; a locale object is immutable, so every thread may use it.
    private nonisolated(unsafe) static let utf8Locale = newlocale(Int32(LC_CTYPE_MASK), "C.UTF-8", nil)
}
