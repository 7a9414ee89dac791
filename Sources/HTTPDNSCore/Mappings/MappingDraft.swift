extension HTTPDNSMappings {
    /// A set being changed, see ``HTTPDNSMappingStore/apply(_:)``. What it changes is the overlay; what it reads are the
    /// rules that count.
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
        /// Setting nil takes away what the overlay says about the key, so that the rule of the base, if there is one, counts
        /// again; see ``hide(_:)-(String)`` to be rid of that too. Keys are canonicalized, so `IMG.shop.example.` is the
        /// same rule. A key that cannot be read gives nil here, and setting it makes ``HTTPDNSMappingStore/apply(_:)`` throw.
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

        /// The rule for a key that is already read; setting nil takes away what the overlay says about it.
        public subscript(key: HTTPDNSMapping.Key) -> HTTPDNSMapping? {
            get { overlay[key] ?? (hidden.contains(key) ? nil : base.rules[key]) }
            set {
                overlay[key] = newValue
                hidden.remove(key)
            }
        }

        /// Takes a rule out, the base's too, until the key is set again: to a rule, or to nil for the base's. A base that
        /// comes later is hidden as well.
        public mutating func hide(_ key: String) {
            do {
                hide(try HTTPDNSMapping.Key(key))
            } catch {
                errors.append(error)
            }
        }

        /// As ``hide(_:)-(String)``, for a key that is already read.
        public mutating func hide(_ key: HTTPDNSMapping.Key) {
            overlay[key] = nil
            hidden.insert(key)
        }

        /// Takes the whole overlay away: the rules of the base count, all of them and nothing else.
        public mutating func removeAll() {
            overlay = [:]
            hidden = []
        }
    }
}
