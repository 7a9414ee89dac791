internal import HTTPDNSPrimitives

extension HTTPDNSMapping {
    /// The key of a rule: a name or suffix, for one port or for all.
    public struct Key: Hashable, Sendable, CustomStringConvertible {
        /// The names; never ``HTTPDNSRoute/Pattern/any``.
        public var pattern: HTTPDNSRoute.Pattern
        /// The port of the URL that the rule applies to; nil means all ports.
        public var port: UInt16?

        /// Creates a key.
        public init(_ pattern: HTTPDNSRoute.Pattern, port: UInt16? = nil) {
            self.pattern = pattern
            self.port = port
        }

        /// Parses `name` or `*.suffix`, either with `:port`.
        /// - Throws: ``HTTPDNSMapping/Error``.
        public init(_ text: String) throws(HTTPDNSMapping.Error) {
            if text.utf8.contains(UInt8(ascii: "/")) {
                let rest = text.firstRange(of: "://").map { text[$0.upperBound...] } ?? text[...]
                // The text before an at-sign may be a password.
                let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
                let name = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
                throw HTTPDNSMapping.Error(
                    key: text.contains("@") ? "...@\(name)" : text,
                    reason: "it is a URL or path; write the name alone" + (name.isEmpty ? "" : ", \(name)")
                )
            }
            if HTTPDNSAddress(text) != nil || text.hasPrefix("[")
                || HTTPDNSAddress(String(text.prefix { $0 != ":" })) != nil
            {
                throw HTTPDNSMapping.Error(
                    key: text,
                    reason: "it is an address; mappings are for names, and addresses are dialled as is"
                )
            }
            var name = text[...]
            if let colon = text.lastIndex(of: ":"), !text[..<colon].contains(":"), !text[colon...].hasPrefix("://") {
                guard let port = PortNumber.read(text[text.index(after: colon)...]) else {
                    throw HTTPDNSMapping.Error(key: text, reason: "its port is not a number from 1 to 65535")
                }
                self.port = port
                name = text[..<colon]
            }
            do {
                pattern = try HTTPDNSRoute.Pattern(String(name))
            } catch {
                throw HTTPDNSMapping.Error(key: text, reason: error.reason)
            }
            if pattern == .any { throw HTTPDNSMapping.Error(key: text, reason: HTTPDNSMapping.Key.anyRefusal) }
        }

        /// The text form.
        public var description: String { port.map { "\(pattern):\($0)" } ?? pattern.description }

        static let anyRefusal = "\"*\" would map every name; give a name or a suffix such as *.shop.example"
    }
}
