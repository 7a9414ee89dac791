internal import CHTTPDNSCurl
internal import HTTPTypes

/// The encoding of a request's header fields as lines for libcurl (CURLOPT_HTTPHEADER).
enum HeaderLines {
    /// - Throws: ``TransferFailure`` with code `invalidRequest` for CR, LF or NUL in a value.
    static func list(
        _ fields: HTTPFields,
        host: String?,
        hasBody: Bool,
        saysEmpty: Bool = false
    ) throws(TransferFailure) -> UnsafeMutablePointer<curl_slist>? {
        var list: UnsafeMutablePointer<curl_slist>?
        var line: [UInt8] = []
        line.reserveCapacity(128)
        var cookies: [UInt8] = []
        do {
            if let host { try append("Host", host.utf8, to: &list, line: &line) }
            for field in fields {
                if field.name == .cookie {
                    // One Cookie line (RFC 6265 section 5.4), also where each HTTP/2 style field holds one pair.
                    if !cookies.isEmpty { cookies += "; ".utf8 }
                    field.withUnsafeBytesOfValue { cookies += $0 }
                    continue
                }
                try field.withUnsafeBytesOfValue { value throws(TransferFailure) in
                    try append(field.name.rawName, value, to: &list, line: &line)
                }
            }
            if !cookies.isEmpty { try append("Cookie", cookies, to: &list, line: &line) }
            // Otherwise libcurl waits up to a second for a 100 (Continue) before it sends a long body.
            if hasBody { list = curl_slist_append(list, "Expect:") }
            if saysEmpty { list = curl_slist_append(list, "Content-Length: 0") }
        } catch {
            curl_slist_free_all(list)
            throw error
        }
        return list
    }

    private static func append(
        _ name: String,
        _ value: some Collection<UInt8>,
        to list: inout UnsafeMutablePointer<curl_slist>?,
        line: inout [UInt8]
    ) throws(TransferFailure) {
        line.removeAll(keepingCapacity: true)
        line += name.utf8
        // For libcurl `Name;` is a field with an empty value; `Name:` would remove the field.
        if value.isEmpty {
            line.append(UInt8(ascii: ";"))
        } else {
            line.append(UInt8(ascii: ":"))
            line.append(UInt8(ascii: " "))
            line += value
        }
        guard !line.contains(where: { $0 == 0 || $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }) else {
            throw TransferFailure(
                code: .invalidRequest,
                phase: .queue,
                message: "the header field \(name) holds a CR, LF or NUL byte"
            )
        }
        line.append(0)
        list = line.withUnsafeBytes { curl_slist_append(list, $0.bindMemory(to: CChar.self).baseAddress) }
    }
}
