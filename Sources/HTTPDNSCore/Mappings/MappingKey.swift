internal import HTTPDNSPrimitives

/// The key of a rule: a name or suffix, for one port or for all.
public struct MappingKey: Hashable, Sendable, CustomStringConvertible {
    /// The names; never ``HostPattern/any``.
    public var pattern: HostPattern
    /// The URL's port that the rule is for; nil means all.
    public var port: UInt16?

    /// Creates a key.
    public init(_ pattern: HostPattern, port: UInt16? = nil) {
        self.pattern = pattern
        self.port = port
    }

    /// Reads `name`, `*.suffix`, either with `:port`.
    /// - Throws: ``MappingError``.
    public init(_ text: String) throws(MappingError) {
        if text.utf8.contains(UInt8(ascii: "/")) {
            let rest = text.firstRange(of: "://").map { text[$0.upperBound...] } ?? text[...]
            // What stands before an at-sign may be a password.
            let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
            let name = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
            throw MappingError(
                key: text.contains("@") ? "...@\(name)" : text,
                reason: "it is a URL or path; write the name alone" + (name.isEmpty ? "" : ", \(name)")
            )
        }
        if HTTPDNSAddress(text) != nil || text.hasPrefix("[")
            || HTTPDNSAddress(String(text.prefix { $0 != ":" })) != nil
        {
            throw MappingError(
                key: text,
                reason: "it is an address; mappings are for names, and addresses are dialled as is"
            )
        }
        var name = text[...]
        if let colon = text.lastIndex(of: ":"), !text[..<colon].contains(":"), !text[colon...].hasPrefix("://") {
            guard let port = PortNumber.read(text[text.index(after: colon)...]) else {
                throw MappingError(key: text, reason: "its port is not a number from 1 to 65535")
            }
            self.port = port
            name = text[..<colon]
        }
        do {
            pattern = try HostPattern(String(name))
        } catch {
            throw MappingError(key: text, reason: error.reason)
        }
        if pattern == .any { throw MappingError(key: text, reason: MappingKey.anyRefusal) }
    }

    /// The text form.
    public var description: String { port.map { "\(pattern):\($0)" } ?? pattern.description }

    static let anyRefusal = "\"*\" would map every name; give a name or a suffix such as *.shop.example"
}
