internal import HTTPTypes

/// Header field names from bytes. The usual ones are created once, so that a response head needs no strings for names.
enum FieldNames {
    /// The usual names, by length.
    private static let known: [[(bytes: [UInt8], name: HTTPField.Name)]] = {
        let names: [HTTPField.Name] = [
            .acceptRanges, .accessControlAllowOrigin, .age, .allow, .cacheControl, .connection, .contentDisposition,
            .contentEncoding, .contentLanguage, .contentLength, .contentRange, .contentSecurityPolicy, .contentType,
            .date, .eTag, .expires, .lastModified, .location, .proxyAuthenticate, .retryAfter, .server, .setCookie,
            .strictTransportSecurity, .trailer, .transferEncoding, .vary, .wwwAuthenticate, .xContentTypeOptions,
        ]
        var table: [[(bytes: [UInt8], name: HTTPField.Name)]] = Array(repeating: [], count: 33)
        for name in names { table[name.canonicalName.utf8.count].append((Array(name.canonicalName.utf8), name)) }
        return table
    }()

    /// Returns the name, or `nil` when the bytes are not a token (RFC 9110 section 5.1).
    static func name(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> HTTPField.Name? {
        if bytes.count < known.count {
            for candidate in known[bytes.count] where matches(bytes, candidate.bytes) { return candidate.name }
        }
        return HTTPField.Name(String(decoding: UnsafeBufferPointer(rebasing: bytes), as: UTF8.self))
    }

    private static func matches(_ bytes: Slice<UnsafeBufferPointer<UInt8>>, _ lowercase: [UInt8]) -> Bool {
        var index = bytes.startIndex
        for letter in lowercase {
            let byte = bytes[index]
            guard byte == letter || (UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte && byte | 0x20 == letter) else {
                return false
            }
            index += 1
        }
        return true
    }
}
