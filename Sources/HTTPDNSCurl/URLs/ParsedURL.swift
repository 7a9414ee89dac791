// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl
internal import Glibc
package import HTTPDNSPrimitives

/// An absolute http or https URL in the single form that libcurl gets (CURLU): scheme and host in lower case, host as A-labels
/// without a trailing dot, no user information, no default port, path unchanged.
package struct ParsedURL: Hashable, Sendable, CustomStringConvertible {
    package enum Scheme: String, Hashable, Sendable {
        case http, https
        package var defaultPort: UInt16 { self == .http ? 80 : 443 }
    }

    package enum Host: Hashable, Sendable {
        /// A name in lower-case A-labels without a trailing dot. HTTPDNS's `HTTPDNSName` checks its rules.
        case name(String)
        case address(HTTPDNSAddress)

        /// The name, or the address without brackets.
        var plainText: String {
            switch self {
            case .name(let name): name
            case .address(let address): address.description
            }
        }

        /// The host as it is in a URL: an IPv6 address has brackets.
        var text: String {
            switch self {
            case .name(let name): name
            case .address(let address): address.bracketed
            }
        }
    }

    package struct Credential: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible,
        CustomReflectable
    {
        package let user: String
        package let password: String
        package var description: String { "(redacted)" }
        package var debugDescription: String { description }
        package var customMirror: Mirror { Mirror(self, children: []) }
    }

    /// The parts of a text that are not sent; most texts have none.
    private final class UnsentParts: Hashable, Sendable {
        let fragment: String?
        let credential: Credential?
        let isAbsolute: Bool

        init(fragment: String?, credential: Credential?, isAbsolute: Bool) {
            self.fragment = fragment
            self.credential = credential
            self.isAbsolute = isAbsolute
        }

        static func == (left: UnsentParts, right: UnsentParts) -> Bool {
            left.fragment == right.fragment && left.credential == right.credential
                && left.isAbsolute == right.isAbsolute
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(fragment)
            hasher.combine(credential)
            hasher.combine(isAbsolute)
        }
    }

    package let scheme: Scheme
    package let host: Host
    /// The port, including the scheme's default.
    package let port: UInt16
    /// The canonical text without fragment and user information.
    package private(set) var description: String
    /// The number of bytes of `description` before the path.
    private let targetStart: Int
    private let unsent: UnsentParts?

    /// The path and query as they are sent, never empty.
    package var target: String { String(Substring(description.utf8.dropFirst(targetStart))) }
    /// Whether there is a query, also an empty one.
    package var hasQuery: Bool { description.utf8.contains(UInt8(ascii: "?")) }
    /// The part after `#`; never sent.
    package var fragment: String? { unsent?.fragment }
    /// The percent-decoded user and password, if the text had them. They are not in `description`.
    package var credential: Credential? { unsent?.credential }
    /// Whether the host was written with a trailing dot, which is not sent: resolvers apply no search list to such a name.
    package var isAbsolute: Bool { unsent?.isAbsolute ?? false }

    /// Parses a URL.
    ///
    /// libcurl's own parser splits the text, so that the resolved host is the host that is connected to. Text that it would
    /// guess about or silently correct is refused before or after it: other schemes, `http:/one.test`, spaces and control
    /// characters, a backslash before the path, number forms of addresses, zone identifiers, port 0.
    ///
    /// A canonical and plain text is split directly (``CanonicalURLScan``), with the same result.
    package init(_ text: String) throws(URLFailure) {
        if let url = ParsedURL(canonical: text) { self = url } else { self = try ParsedURL(byCurl: text) }
    }

    /// Creates the URL of a canonical and plain text; `nil` for all others.
    package init?(canonical text: String) {
        var hash: UInt64?
        self.init(canonical: text, hostHash: &hash) { _ in 0 }
    }

    /// Creates the URL as ``init(canonical:)`` does.
    /// - Parameters:
    ///   - hostHash: Becomes the hash of the host, if that is a canonical name by the rules of hosts and need not be checked
    ///     again.
    ///   - hash: A function that returns the hash of a name.
    package init?(
        canonical text: String,
        hostHash: inout UInt64?,
        _ hash: (UnsafeBufferPointer<UInt8>) -> UInt64
    ) {
        var text = text
        let parts = text.withUTF8 { bytes -> (CanonicalURLScan, String)? in
            guard let scan = CanonicalURLScan(bytes) else { return nil }
            let host = UnsafeBufferPointer(rebasing: bytes[scan.host])
            if scan.hasHostName { hostHash = hash(host) }
            return (scan, String(decoding: host, as: UTF8.self))
        }
        guard let (scan, name) = parts else { return nil }
        scheme = scan.scheme
        host = .name(name)
        port = scan.port
        description = text
        targetStart = scan.targetStart
        unsent = nil
    }

    /// Parses a URL as ``init(_:)`` does, with libcurl's parser for any text.
    package init(byCurl text: String) throws(URLFailure) {
        let shape = try URLShape(of: text)
        guard let handle = curl_url() else { throw URLFailure(.malformed, "out of memory") }
        defer { curl_url_cleanup(handle) }
        let code = curl_url_set(handle, CURLUPART_URL, text, UInt32(CURLU_PATH_AS_IS | CURLU_URLENCODE))
        guard code == CURLUE_OK else { throw ParsedURL.failure(code) }

        let (host, isAbsolute) = try ParsedURL.host(in: handle, of: text, shape: shape)
        let port = try ParsedURL.port(in: handle, shape: shape)
        let path = ParsedURL.part(CURLUPART_PATH, of: handle) ?? "/"
        let query = shape.hasQuery ? ParsedURL.part(CURLUPART_QUERY, of: handle, flags: ParsedURL.keepsEmptyParts) : nil
        let fragment = shape.hasFragment ? ParsedURL.part(CURLUPART_FRAGMENT, of: handle) : nil
        var credential: Credential?
        if shape.hasUserInformation {
            credential = Credential(
                user: try ParsedURL.decoded(CURLUPART_USER, of: handle),
                password: try ParsedURL.decoded(CURLUPART_PASSWORD, of: handle)
            )
        }
        self.init(
            scheme: shape.scheme,
            host: host,
            port: port,
            target: query.map { "\(path)?\($0)" } ?? path,
            unsent: fragment == nil && credential == nil && !isAbsolute
                ? nil : UnsentParts(fragment: fragment, credential: credential, isAbsolute: isAbsolute)
        )
    }

    /// Creates the URL with another host: an address form, or the identity of a `via` rule.
    package init(_ url: ParsedURL, host: Host) {
        self.init(scheme: url.scheme, host: host, port: url.port, target: url.target, unsent: url.unsent)
    }

    /// Creates the URL with parameters after its own query, as ``init(_:)`` does of the whole text.
    /// - Parameter parameters: `name=value` pairs, joined by `&`.
    package init(_ url: ParsedURL, adding parameters: String) throws(URLFailure) {
        var parameters = "\(url.hasQuery ? "&" : "?")\(parameters)"
        // libcurl's parser leaves these characters as they are, and costs ten times as much.
        let isPlain = parameters.withUTF8 { $0.allSatisfy { 0x21...0x7e ~= $0 && $0 != UInt8(ascii: "#") } }
        guard isPlain, url.unsent == nil else {
            self = try ParsedURL(url.description + parameters)
            return
        }
        self = url
        description += parameters
    }

    private init(scheme: Scheme, host: Host, port: UInt16, target: String, unsent: UnsentParts?) {
        let hostText = host.text
        var text = ""
        text.reserveCapacity(16 + hostText.utf8.count + target.utf8.count)
        text += scheme == .http ? "http://" : "https://"
        text += hostText
        if port != scheme.defaultPort {
            text += ":"
            text += String(port)
        }
        targetStart = text.utf8.count
        text += target
        description = text
        self.scheme = scheme
        self.host = host
        self.port = port
        self.unsent = unsent
    }

    /// Scheme, host, port and target follow from the text.
    package static func == (left: ParsedURL, right: ParsedURL) -> Bool {
        left.description == right.description && left.unsent == right.unsent
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(description)
        hasher.combine(unsent)
    }

    /// The host as it is in the URL: an IPv6 address has brackets.
    package var hostText: String { host.text }

    /// The Host field's value: the port is left out when it is the scheme's default (RFC 9110 section 7.2).
    package var authority: String {
        port == scheme.defaultPort ? hostText : "\(hostText):\(port)"
    }

    private static func host(
        in handle: OpaquePointer,
        of url: String,
        shape: URLShape
    ) throws(URLFailure) -> (Host, isAbsolute: Bool) {
        guard var text = part(CURLUPART_HOST, of: handle), !text.isEmpty else {
            throw URLFailure(.missingHost, "the URL has no host")
        }
        if text.utf8.first == UInt8(ascii: "[") {
            guard part(CURLUPART_ZONEID, of: handle) == nil,
                let address = HTTPDNSAddress(String(text.dropFirst().dropLast()))
            else {
                throw URLFailure(
                    .addressForm,
                    "\(shape.hostText(in: url).prefix(80)) is not an IPv6 address; zone identifiers are not allowed"
                )
            }
            return (.address(address), false)
        }
        if text.utf8.contains(where: { $0 >= 0x80 }) {
            guard let labels = InternationalName.aLabels(ofHostIn: handle) else {
                throw URLFailure(.internationalName, "the host has no A-label form (RFC 5891)")
            }
            text = labels
        } else if text.utf8.contains(where: { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 }) {
            text = text.lowercased()
        }
        let isAbsolute = text.utf8.last == UInt8(ascii: ".")
        if isAbsolute {
            text.removeLast()
            guard !text.isEmpty, text.utf8.last != UInt8(ascii: ".") else {
                throw URLFailure(.missingHost, "the host has an empty label")
            }
        }
        if let address = HTTPDNSAddress(text) {
            // libcurl quirk: URLs are guessed (7.88.1). libcurl's parser accepts text that other programs read differently
            // (`0x7f.1`, `2130706433`, `http:/one.test`). It is refused. Tests: ParsedURLTests.
            guard shape.hostText(in: url) == text else {
                throw URLFailure(
                    .addressForm,
                    "\(shape.hostText(in: url)) is an unusual spelling of \(address); write the address in full"
                )
            }
            return (.address(address), false)
        }
        return (.name(text), isAbsolute)
    }

    private static func port(in handle: OpaquePointer, shape: URLShape) throws(URLFailure) -> UInt16 {
        guard shape.mayHavePort, let text = part(CURLUPART_PORT, of: handle) else { return shape.scheme.defaultPort }
        guard let port = UInt16(text), port > 0 else {
            throw URLFailure(.port, "port \(text) does not exist; ports are 1 to 65535")
        }
        return port
    }

    /// CURLU_GET_EMPTY of 8.8 and later, which the headers of 7.88 lack (libcurl quirk "Empty queries are dropped"). Older
    /// versions ignore the flag, and always return an empty query.
    private static let keepsEmptyParts: UInt32 = 1 << 14

    private static func part(_ part: CURLUPart, of handle: OpaquePointer, flags: UInt32 = 0) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_get(handle, part, &text, flags) == CURLUE_OK, let text else { return nil }
        defer { curl_free(text) }
        return String(cString: text)
    }

    /// Returns a percent-decoded part of the user information; libcurl decodes no control characters.
    private static func decoded(_ part: CURLUPart, of handle: OpaquePointer) throws(URLFailure) -> String {
        guard self.part(part, of: handle) != nil else { return "" }
        guard let text = self.part(part, of: handle, flags: UInt32(CURLU_URLDECODE)) else {
            throw URLFailure(.forbiddenByte, "the user information has a percent-encoded control character")
        }
        return text
    }

    static func failure(_ code: CURLUcode) -> URLFailure {
        switch code {
        case CURLUE_BAD_PORT_NUMBER:
            URLFailure(.port, "the port is not a number from 1 to 65535")
        case CURLUE_NO_HOST, CURLUE_BAD_HOSTNAME:
            URLFailure(.missingHost, "the host is missing or has characters that no host name has")
        case CURLUE_BAD_IPV6:
            URLFailure(.addressForm, "the IPv6 address in brackets is malformed")
        case CURLUE_UNSUPPORTED_SCHEME, CURLUE_BAD_SCHEME:
            URLFailure(.unsupportedScheme, "only http and https URLs can be requested")
        default:
            URLFailure(.malformed, "the URL is malformed: \(String(cString: curl_url_strerror(code)))")
        }
    }
}

extension ParsedURL {
    /// Returns the URL of a reference found in a response of this URL (RFC 3986 section 5.2, RFC 9110 section 10.2.2):
    /// absolute, or relative to scheme, host or path. Dot segments are removed, spaces and bytes outside ASCII percent-encoded.
    /// The fragment is inherited if the reference has none.
    ///
    /// The parser that splits the reference also determines the host to connect to. A number form of an address becomes that
    /// address, so that address policies see it.
    package func following(_ reference: String) throws(URLFailure) -> ParsedURL {
        try ParsedURL.checkReference(reference)
        // libcurl quirk: A lone fragment is a path (7.88). libcurl reads a reference that is only a fragment as a path. It is
        // appended to the base URL instead. Tests: ReferenceTests.
        if reference.utf8.first == UInt8(ascii: "#") { return try ParsedURL(byCurl: description + reference) }
        guard let handle = curl_url() else { throw URLFailure(.malformed, "out of memory") }
        defer { curl_url_cleanup(handle) }
        var code = curl_url_set(handle, CURLUPART_URL, description, UInt32(CURLU_PATH_AS_IS))
        // A relative reference inherits the trailing dot with the host.
        if code == CURLUE_OK, isAbsolute { code = curl_url_set(handle, CURLUPART_HOST, "\(hostText).", 0) }
        if code == CURLUE_OK { code = curl_url_set(handle, CURLUPART_URL, reference, UInt32(CURLU_URLENCODE)) }
        guard code == CURLUE_OK else { throw ParsedURL.failure(code) }
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_get(handle, CURLUPART_URL, &text, ParsedURL.keepsEmptyParts) == CURLUE_OK, let text else {
            throw URLFailure(.malformed, "the reference leads to no URL")
        }
        defer { curl_free(text) }
        var target = String(cString: text)
        if ParsedURL.hasEmptyQuery(reference), !target.utf8.contains(UInt8(ascii: "?")) {
            // libcurl before 8.8 drops it.
            target.insert("?", at: target.firstIndex(of: "#") ?? target.endIndex)
        }
        let inherited = target.utf8.contains(UInt8(ascii: "#")) ? nil : fragment
        return try ParsedURL(byCurl: inherited.map { "\(target)#\($0)" } ?? target)
    }

    /// Whether a reference has a query without a character, which differs from having none (RFC 3986 section 6.2.3).
    private static func hasEmptyQuery(_ reference: String) -> Bool {
        let hierarchy = reference.utf8.prefix { $0 != UInt8(ascii: "#") }
        return hierarchy.firstIndex(of: UInt8(ascii: "?")) == hierarchy.indices.last
            && hierarchy.last == UInt8(ascii: "?")
    }

    /// Refuses references that libcurl would guess about, and schemes that it knows and the client does not.
    private static func checkReference(_ reference: String) throws(URLFailure) {
        let bytes = reference.utf8
        if let byte = bytes.first(where: { $0 < 0x20 || $0 == 0x7f }) {
            throw URLFailure(.forbiddenByte, "it holds the control character 0x\(String(byte, radix: 16))")
        }
        let end = bytes.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? bytes.endIndex
        if bytes[..<end].contains(UInt8(ascii: "\\")) {
            throw URLFailure(.forbiddenByte, "it has a backslash; programs disagree about where that leads")
        }
        guard let colon = bytes[..<end].firstIndex(of: UInt8(ascii: ":")), isScheme(bytes[..<colon]) else { return }
        let scheme = reference[..<colon].lowercased()
        guard scheme == "http" || scheme == "https" else {
            throw URLFailure(.unsupportedScheme, "its scheme is neither http nor https")
        }
        guard bytes[bytes.index(after: colon)...].starts(with: "//".utf8) else {
            throw URLFailure(.malformed, "its scheme is not followed by //")
        }
    }

    /// Returns whether the text before a colon is a scheme (RFC 3986 section 3.1), and not part of a path.
    private static func isScheme(_ text: Substring.UTF8View) -> Bool {
        guard let first = text.first, first.isLetter else { return false }
        return text.allSatisfy { $0.isLetterOrDigit(or: "+-.") }
    }
}

/// The reason why a text is not a URL that can be requested.
package struct URLFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        /// A space, a control character, or a backslash before the path.
        case forbiddenByte
        /// Neither http nor https, or no scheme at all.
        case unsupportedScheme
        case missingHost
        case malformed
        /// A number form of an address that programs read differently: `0x7f.1`, `2130706433`, a zone identifier.
        case addressForm
        case port
        /// A host outside ASCII that has no A-label form.
        case internationalName
    }

    package var code: Code
    /// The reason in one line, with the allowed form. It never contains user information.
    package var description: String

    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}

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

    /// Returns the host of a CURLU handle as A-labels. The locale is set only for this thread: a library must not call
    /// `setlocale`.
    ///
    /// libcurl quirk: Names depend on the locale (7.88). libidn2 reads a host in the encoding of the thread's locale, which is
    /// set during the call. Tests: InternationalNameTests.
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
