internal import CCurl
package import HTTPDNSPrimitives

/// An absolute http or https URL in the one form in which libcurl gets it (CURLU): scheme and host in lower case, host as
/// A-labels without a trailing dot, no user information, no default port, path as it is.
package struct ParsedURL: Hashable, Sendable, CustomStringConvertible {
    package enum Scheme: String, Hashable, Sendable {
        case http, https
        package var defaultPort: UInt16 { self == .http ? 80 : 443 }
    }

    package enum Host: Hashable, Sendable {
        /// A name, lower-case A-labels, no trailing dot. Its rules are HTTPDNS's `HostName`'s to check.
        case name(String)
        case address(IPAddress)
    }

    package struct Credential: Hashable, Sendable, CustomStringConvertible {
        package let user: String
        package let password: String
        package var description: String { "(redacted)" }
    }

    package let scheme: Scheme
    package let host: Host
    /// The port, also when it is the scheme's default.
    package let port: UInt16
    /// Path and query as they go on the wire, never empty.
    package let target: String
    /// The part behind `#`; never sent.
    package let fragment: String?
    /// User and password, percent-decoded, when the text had them. They are not in `description`.
    package let credential: Credential?
    /// The canonical text without fragment and user information, made when it is asked for.
    package var description: String { ParsedURL.text(scheme: scheme, host: host, port: port, target: target) }

    /// Reads a URL.
    ///
    /// libcurl's own parser splits the text, so that the host which is resolved is the host which is dialled. What it
    /// would guess or silently mend is refused before or after it: other schemes, `http:/one.test`, spaces and control
    /// characters, a backslash before the path, number forms of addresses, zone identifiers, port 0.
    package init(_ text: String) throws(URLFailure) {
        let shape = try URLShape(of: text)
        guard let handle = curl_url() else { throw URLFailure(.malformed, "out of memory") }
        defer { curl_url_cleanup(handle) }
        let code = curl_url_set(handle, CURLUPART_URL, text, UInt32(CURLU_PATH_AS_IS | CURLU_URLENCODE))
        guard code == CURLUE_OK else { throw ParsedURL.failure(code) }

        scheme = shape.scheme
        host = try ParsedURL.host(in: handle, of: text, shape: shape)
        port = try ParsedURL.port(in: handle, shape: shape)
        let path = ParsedURL.part(CURLUPART_PATH, of: handle) ?? "/"
        let query = shape.hasQuery ? ParsedURL.part(CURLUPART_QUERY, of: handle) : nil
        target = query.map { "\(path)?\($0)" } ?? path
        fragment = shape.hasFragment ? ParsedURL.part(CURLUPART_FRAGMENT, of: handle) : nil
        if shape.hasUserInformation {
            credential = Credential(
                user: try ParsedURL.decoded(CURLUPART_USER, of: handle),
                password: try ParsedURL.decoded(CURLUPART_PASSWORD, of: handle)
            )
        } else {
            credential = nil
        }
    }

    /// The URL with another host in the place of its own: an address form, or the identity of a `via` rule.
    package init(_ url: ParsedURL, host: Host) {
        scheme = url.scheme
        self.host = host
        port = url.port
        target = url.target
        fragment = url.fragment
        credential = url.credential
    }

    /// The host as it stands in the URL: an IPv6 address has brackets.
    package var hostText: String { ParsedURL.text(host) }

    /// The Host field's value: the port is left out when it is the scheme's default (RFC 9110 section 7.2).
    package var authority: String {
        port == scheme.defaultPort ? hostText : "\(hostText):\(port)"
    }

    private static func text(_ host: Host) -> String {
        switch host {
        case .name(let name): name
        case .address(let address): address.bracketed
        }
    }

    private static func text(scheme: Scheme, host: Host, port: UInt16, target: String) -> String {
        let hostText = text(host)
        var result = ""
        result.reserveCapacity(16 + hostText.utf8.count + target.utf8.count)
        result += scheme == .http ? "http://" : "https://"
        result += hostText
        if port != scheme.defaultPort {
            result += ":"
            result += String(port)
        }
        result += target
        return result
    }

    private static func host(in handle: OpaquePointer, of url: String, shape: URLShape) throws(URLFailure) -> Host {
        guard var text = part(CURLUPART_HOST, of: handle), !text.isEmpty else {
            throw URLFailure(.missingHost, "the URL has no host")
        }
        if text.utf8.first == UInt8(ascii: "[") {
            guard part(CURLUPART_ZONEID, of: handle) == nil,
                let address = IPAddress(String(text.dropFirst().dropLast()))
            else {
                throw URLFailure(
                    .addressForm,
                    "\(shape.hostText(in: url).prefix(80)) is not an IPv6 address; zone identifiers are not allowed"
                )
            }
            return .address(address)
        }
        if text.utf8.contains(where: { $0 >= 0x80 }) {
            guard let labels = InternationalName.aLabels(ofHostIn: handle) else {
                throw URLFailure(.internationalName, "the host has no A-label form (RFC 5891)")
            }
            text = labels
        } else if text.utf8.contains(where: { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 }) {
            text = text.lowercased()
        }
        if text.utf8.last == UInt8(ascii: ".") {
            text.removeLast()
            guard !text.isEmpty, text.utf8.last != UInt8(ascii: ".") else {
                throw URLFailure(.missingHost, "the host has an empty label")
            }
        }
        if let address = IPAddress(text) {
            // libcurl reads 0x7f.1, 0177.0.0.1 and 2130706433 as 127.0.0.1; filters that see the text do not.
            guard shape.hostText(in: url) == text else {
                throw URLFailure(
                    .addressForm,
                    "\(shape.hostText(in: url)) is an unusual spelling of \(address); write the address in full"
                )
            }
            return .address(address)
        }
        return .name(text)
    }

    private static func port(in handle: OpaquePointer, shape: URLShape) throws(URLFailure) -> UInt16 {
        guard shape.mayHavePort, let text = part(CURLUPART_PORT, of: handle) else { return shape.scheme.defaultPort }
        guard let port = UInt16(text), port > 0 else {
            throw URLFailure(.port, "port \(text) does not exist; ports are 1 to 65535")
        }
        return port
    }

    private static func part(_ part: CURLUPart, of handle: OpaquePointer, flags: UInt32 = 0) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_get(handle, part, &text, flags) == CURLUE_OK, let text else { return nil }
        defer { curl_free(text) }
        return String(cString: text)
    }

    /// A part of the user information, percent-decoded; libcurl decodes no control characters.
    private static func decoded(_ part: CURLUPart, of handle: OpaquePointer) throws(URLFailure) -> String {
        guard self.part(part, of: handle) != nil else { return "" }
        guard let text = self.part(part, of: handle, flags: UInt32(CURLU_URLDECODE)) else {
            throw URLFailure(.forbiddenByte, "the user information has a percent-encoded control character")
        }
        return text
    }

    private static func failure(_ code: CURLUcode) -> URLFailure {
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
