extension HTTPDNSRoute {
    /// The names that a route or a mapping covers.
    public enum Pattern: Hashable, Sendable, CustomStringConvertible {
        /// Exactly this name.
        case exact(HTTPDNSName)
        /// Every name below this one, at any depth, but not the name itself: `*.shop.example`.
        case suffix(HTTPDNSName)
        /// Every name except the internal ones: `*`. For routes only.
        case any

        /// Parses `name`, `*.suffix` or `*`.
        /// - Throws: ``HTTPDNSName/Error``.
        public init(_ text: String) throws(HTTPDNSName.Error) {
            if text == "*" {
                self = .any
                return
            }
            guard text.hasPrefix("*.") else {
                self = .exact(try HTTPDNSName(text))
                return
            }
            do {
                self = .suffix(try HTTPDNSName(String(text.dropFirst(2))))
            } catch {
                throw HTTPDNSName.Error(text: text, reason: error.reason)
            }
        }

        /// The name of the pattern, or the one that all of its names are below.
        package var zone: HTTPDNSName? {
            switch self {
            case .exact(let name), .suffix(let name): name
            case .any: nil
            }
        }

        /// Returns whether the pattern covers a name, internal or not.
        package func contains(_ host: HTTPDNSName) -> Bool {
            switch self {
            case .exact(let name): name == host
            case .suffix(let zone): host.isBelow(zone)
            case .any: true
            }
        }

        /// The text form.
        public var description: String {
            switch self {
            case .exact(let name): name.description
            case .suffix(let name): "*.\(name)"
            case .any: "*"
            }
        }
    }
}
