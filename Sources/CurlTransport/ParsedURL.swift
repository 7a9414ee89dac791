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
    /// The canonical text without fragment and user information.
    package let description: String

    package struct Credential: Hashable, Sendable, CustomStringConvertible {
        package let user: String
        package let password: String
        package var description: String { "(redacted)" }
    }

    package init(_ text: String) throws(URLFailure) {
        fatalError("seam")
    }

    /// The host as it stands in the URL: an IPv6 address has brackets.
    package var hostText: String {
        switch host {
        case .name(let name): name
        case .address(let address): address.bracketed
        }
    }

    /// The Host field's value: the port is left out when it is the scheme's default (RFC 9110 section 7.2).
    package var authority: String {
        port == scheme.defaultPort ? hostText : "\(hostText):\(port)"
    }
}

/// Why a text is not a URL that can be requested.
package struct URLFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        case forbiddenByte, unsupportedScheme, missingHost, malformed, addressForm, port, internationalName
    }
    package var code: Code
    /// One line: what was found, what is allowed.
    package var description: String
}

/// Names with letters outside ASCII, as the A-labels that DNS knows (RFC 5891), under any locale of the process.
package enum InternationalName {
    /// The A-label form in lower case; nil when the name has none. ASCII names come back in lower case.
    package static func toASCII(_ name: String) -> String? {
        fatalError("seam")
    }
}
