// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSCore
package import HTTPDNSCurl
internal import HTTPDNSPrimitives

extension HTTPDNSRewriter {
    /// The parser that turns the text of a URL into the one form in which it is resolved and sent.
    ///
    /// It is a pure function without mappings, and canonical text does not change. Since libcurl's own parser splits
    /// the text, the resolved host and the dialed host are the same.
    public enum Canonicalizer {
        /// Parses a URL in any spelling that all programs parse alike.
        ///
        /// Scheme and host become lower case, a host outside ASCII becomes A-labels (RFC 5891), one trailing dot and
        /// the scheme's default port are removed. Path and query stay byte for byte, dot segments included; bytes
        /// outside ASCII in them are percent-encoded.
        /// - Throws: ``HTTPDNSClientError`` with code `invalidURL`: a scheme other than http and https, spaces and
        ///   control characters, a backslash before the path, number forms of addresses, a host that is not a host name
        ///   (RFC 1123), a port outside 1 to 65535.
        public static func canonicalize(_ text: String) throws(HTTPDNSClientError) -> HTTPDNSRewriter.CanonicalURL {
            // Nearly all texts of programs: one scan reads them, checks the host, and hashes it.
            if let url = HTTPDNSRewriter.CanonicalURL(plain: text) { return url }
            return try canonicalizeOther(text)
        }

        private static func canonicalizeOther(
            _ text: String
        ) throws(HTTPDNSClientError) -> HTTPDNSRewriter.CanonicalURL {
            let parsed: ParsedURL
            do {
                parsed = try ParsedURL(text)
            } catch {
                throw refusal(of: text, because: error.description.onOneLine(limit: 400))
            }
            guard case .name(let name) = parsed.host else { return HTTPDNSRewriter.CanonicalURL(parsed, nameHash: 0) }
            do {
                let host = try HTTPDNSName(name)
                // The parser returns lower case without a trailing dot, so nothing is left to change.
                let isSame = host.description == name
                return HTTPDNSRewriter.CanonicalURL(
                    isSame ? parsed : ParsedURL(parsed, host: .name(host.description)),
                    nameHash: host.nameHash
                )
            } catch {
                throw refusal(of: text, because: error.description)
            }
        }

        private static func refusal(of text: String, because reason: String) -> HTTPDNSClientError {
            HTTPDNSClientError(
                code: .invalidURL,
                phase: .request,
                message: "the URL \"\(URLText.forErrors(text))\" cannot be requested: \(reason)"
            )
        }
    }
}

extension HTTPDNSRewriter {
    /// A URL in canonical form.
    ///
    /// Two of them are equal when they identify the same resource: fragment and user information do not count.
    public struct CanonicalURL: Hashable, Sendable, CustomStringConvertible {
        /// The parsed URL. If its host is a name, ``HTTPDNSName/init(_:)`` has validated it.
        package let parsed: ParsedURL

        private let nameHash: UInt64

        /// Creates the URL of a text that is canonical and plain, and whose host is a name; nil for all others.
        init?(plain text: String) {
            var hash: UInt64?
            guard let parsed = ParsedURL(canonical: text, hostHash: &hash, NameHash.hash), let hash else { return nil }
            self.init(parsed, nameHash: hash)
        }

        fileprivate init(_ parsed: consuming ParsedURL, nameHash: UInt64) {
            self.parsed = parsed
            self.nameHash = nameHash
        }

        /// The host, as a validated name or an address.
        public var host: HTTPDNSHost {
            switch parsed.host {
            case .name(let name): .name(HTTPDNSName(canonical: name, hash: nameHash, isAbsolute: parsed.isAbsolute))
            case .address(let address): .address(address)
            }
        }

        /// The host, if it is a name.
        var name: HTTPDNSName? {
            guard case .name(let name) = parsed.host else { return nil }
            return HTTPDNSName(canonical: name, hash: nameHash, isAbsolute: parsed.isAbsolute)
        }

        /// The scheme, `http` or `https`.
        public var scheme: String { parsed.scheme.rawValue }
        /// The port, also when it is the scheme's default.
        public var port: UInt16 { parsed.port }
        /// The path and the query as they are sent; never empty.
        public var target: String { parsed.target }
        /// Whether the text that is sent has a query.
        package var hasQuery: Bool { parsed.hasQuery }
        /// The part after `#`, which is never sent; nil when there is none.
        public var fragment: String? { parsed.fragment }
        /// The Host field of the URL: the port is left out when it is the scheme's default (RFC 9110 section 7.2).
        public var authority: String { parsed.authority }
        /// Whether the text had user information. It is sent to this origin only, as a Basic credential, and never
        /// shown.
        public var hasCredential: Bool { parsed.credential != nil }

        /// The text that is sent, without fragment and user information.
        public var description: String { parsed.description }

        /// Returns whether both identify the same resource.
        public static func == (left: HTTPDNSRewriter.CanonicalURL, right: HTTPDNSRewriter.CanonicalURL) -> Bool {
            left.description == right.description
        }
        /// Hashes the text that is sent.
        public func hash(into hasher: inout Hasher) { hasher.combine(description) }
    }
}

/// The printable form of a URL, without user information.
package enum URLText {
    /// Returns the text of a parsed URL without its user information.
    package static func withoutUserInformation(_ text: String) -> String {
        guard let scheme = text.firstIndex(of: ":"),
            let start = text.utf8.index(scheme, offsetBy: 3, limitedBy: text.utf8.endIndex)
        else { return text }
        let rest = text[start...]
        let end = rest.utf8.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
        guard let at = rest[..<(end ?? rest.endIndex)].utf8.lastIndex(of: UInt8(ascii: "@")) else { return text }
        return String(text[..<start] + text[text.utf8.index(after: at)...])
    }

    /// Returns the printable form of a text that may not even be a URL. It is on one line, truncated, and without its
    /// query and fragment. Anything that could be user information is left out, wherever a broken URL may have it.
    package static func forErrors(_ text: String) -> String {
        let end = text.utf8.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
        let shown = text[..<(end ?? text.endIndex)]
        let scheme = shown[..<startOfAuthority(in: shown)]
        if let at = shown.utf8.lastIndex(of: UInt8(ascii: "@")) {
            return (scheme + "..." + shown[at...]).onOneLine
        }
        // A query with an at-sign may be the rest of a password, or the query of a URL without user information.
        guard let end, text[end...].utf8.contains(UInt8(ascii: "@")), !hasPlainAuthority(shown[scheme.endIndex...])
        else {
            return shown.onOneLine
        }
        return (scheme + "...").onOneLine
    }

    /// Returns the index after the two slashes before an authority; the start of the text without them.
    private static func startOfAuthority(in text: Substring) -> Substring.Index {
        let at = text.utf8.firstIndex(of: UInt8(ascii: "@")) ?? text.endIndex
        guard let slash = text[..<at].utf8.firstIndex(of: UInt8(ascii: "/")),
            text[slash...].utf8.starts(with: "//".utf8)
        else { return text.startIndex }
        return text.utf8.index(slash, offsetBy: 2)
    }

    /// Whether a text begins with a host and a path: a slash ends the host, and what follows a colon before it is a port.
    private static func hasPlainAuthority(_ text: Substring) -> Bool {
        guard let slash = text.utf8.firstIndex(of: UInt8(ascii: "/")) else { return false }
        let authority = text[..<slash].utf8
        let name = authority.lastIndex(of: UInt8(ascii: "]")) ?? authority.startIndex
        guard let colon = authority[name...].firstIndex(of: UInt8(ascii: ":")) else { return true }
        let port = authority[colon...].dropFirst()
        return !port.isEmpty && port.allSatisfy(\.isDigit)
    }
}

extension Substring {
    /// The text as errors show a URL: on one line, truncated, and without secrets in its path.
    fileprivate var onOneLine: String { HTTPDNSClient.Redaction.standard.shown(String(self)).escaped(limit: 120) }
}
