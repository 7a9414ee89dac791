extension HTTPDNSMappings {
    /// A set of mappings under change, see ``HTTPDNSMappingStore/apply(_:)``.
    ///
    /// Writes change the overlay; reads return the rules in effect.
    public struct Draft: Sendable {
        private let base: RuleLayer
        private(set) var overlay: [HTTPDNSMapping.Key: HTTPDNSMapping]
        private(set) var hidden: Set<HTTPDNSMapping.Key>
        private(set) var errors: [HTTPDNSMapping.Error] = []

        init(_ mappings: HTTPDNSMappings) {
            base = mappings.index.base
            overlay = mappings.index.overlay.rules
            hidden = mappings.index.overlay.hidden
        }

        /// The rule for a key such as `img.shop.example`, `*.shop.example` or `img.shop.example:8443`.
        ///
        /// Setting nil removes the overlay's rule for the key, so that the rule of the base, if there is one, is in effect
        /// again. ``hide(_:)-(String)`` removes that one too. Keys are canonicalized: `IMG.shop.example.` is the same rule. A
        /// key that cannot be parsed gives nil here, and setting it makes ``HTTPDNSMappingStore/apply(_:)`` throw.
        public subscript(key: String) -> HTTPDNSMapping? {
            get {
                guard let key = try? HTTPDNSMapping.Key(key) else { return nil }
                return self[key]
            }
            set {
                do {
                    self[try HTTPDNSMapping.Key(key)] = newValue
                } catch {
                    errors.append(error)
                }
            }
        }

        /// The rule for a parsed key. Setting nil removes the overlay's rule for it.
        public subscript(key: HTTPDNSMapping.Key) -> HTTPDNSMapping? {
            get { overlay[key] ?? (hidden.contains(key) ? nil : base.rules[key]) }
            set {
                overlay[key] = newValue
                hidden.remove(key)
            }
        }

        /// Removes the rule for a key, the base's too, until the key is set again: to a rule, or to nil for the base's.
        ///
        /// The rule stays hidden when the base is replaced.
        public mutating func hide(_ key: String) {
            do {
                hide(try HTTPDNSMapping.Key(key))
            } catch {
                errors.append(error)
            }
        }

        /// Removes the rule for a parsed key, as ``hide(_:)-(String)`` does.
        public mutating func hide(_ key: HTTPDNSMapping.Key) {
            overlay[key] = nil
            hidden.insert(key)
        }

        /// Removes the whole overlay, so that exactly the rules of the base are in effect.
        public mutating func removeAll() {
            overlay = [:]
            hidden = []
        }
    }
}
