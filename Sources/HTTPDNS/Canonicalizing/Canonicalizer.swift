public import HTTPDNSCore
package import HTTPDNSCurl
internal import HTTPDNSPrimitives

extension HTTPDNSRewriter {
    /// Turns the text of a URL into the one form in which it is resolved and sent.
    ///
    /// It is a pure function that knows no mappings, and canonical text stays as it is. libcurl's own parser splits the text,
    /// so the host that is resolved is the host that is dialled.
    public enum Canonicalizer {
        /// Reads a URL in any spelling that all programs read alike.
        ///
        /// Scheme and host become lower case, a host outside ASCII becomes A-labels (RFC 5891), one trailing dot and the
        /// scheme's own port go away. Path and query stay byte for byte, dot segments included; bytes outside ASCII in them
        /// are percent-encoded.
        /// - Throws: ``HTTPDNSClientError`` with code `invalidURL`: another scheme than http and https, spaces and control
        ///   characters, a backslash before the path, number forms of addresses, a host that is no host name (RFC 1123), a
        ///   port outside 1 to 65535.
        public static func canonicalize(_ text: String) throws(HTTPDNSClientError) -> HTTPDNSRewriter.CanonicalURL {
            let parsed: ParsedURL
            do {
                parsed = try ParsedURL(text)
            } catch {
                throw refusal(of: text, because: error.description.onOneLine(limit: 400))
            }
            guard case .name(let name) = parsed.host else { return HTTPDNSRewriter.CanonicalURL(parsed, nameHash: 0) }
            do {
                let host = try HTTPDNSName(name)
                // Lower case without a trailing dot is what the parser gives, so that nothing is left to be changed.
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
                stage: .request,
                message: "the URL \"\(URLText.forErrors(text))\" cannot be requested: \(reason)"
            )
        }
    }
}

extension HTTPDNSRewriter {
    /// A URL in canonical form.
    ///
    /// Two of them are equal when they name the same resource: fragment and user information do not count.
    public struct CanonicalURL: Hashable, Sendable, CustomStringConvertible {
        /// Its host, if it is a name, was read by ``HTTPDNSName/init(_:)``.
        package let parsed: ParsedURL

        private let nameHash: UInt64

        fileprivate init(_ parsed: ParsedURL, nameHash: UInt64) {
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

        /// `http` or `https`.
        public var scheme: String { parsed.scheme.rawValue }
        /// The port, also when it is the scheme's own.
        public var port: UInt16 { parsed.port }
        /// Path and query as they go on the wire; never empty.
        public var target: String { parsed.target }
        /// The part behind `#`, which is never sent; nil when there is none.
        public var fragment: String? { parsed.fragment }
        /// The Host field that belongs to the URL: the port is left out when it is the scheme's own (RFC 9110 section 7.2).
        public var authority: String { parsed.authority }
        /// Whether the text had user information. It is sent to this origin only, as a Basic credential, and never shown.
        public var hasCredential: Bool { parsed.credential != nil }

        /// The text that is sent, without fragment and user information.
        public var description: String { parsed.description }

        /// Compares what is requested.
        public static func == (left: HTTPDNSRewriter.CanonicalURL, right: HTTPDNSRewriter.CanonicalURL) -> Bool {
            left.description == right.description
        }
        /// Hashes what is requested.
        public func hash(into hasher: inout Hasher) { hasher.combine(description) }
    }
}
