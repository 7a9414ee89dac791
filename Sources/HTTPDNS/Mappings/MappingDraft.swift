extension HostMappings {
    /// A set being changed, see ``MappingStore/apply(_:)``.
    public struct Draft: Sendable {
        package var rules: [MappingKey: HostMapping]
        package var errors: [MappingError]

        init(_ rules: [MappingKey: HostMapping]) {
            self.rules = rules
            errors = []
        }

        /// The rule for a key such as `img.shop.example`, `*.shop.example` or `img.shop.example:8443`; nil removes it.
        ///
        /// Keys are canonicalized, so `IMG.shop.example.` is the same rule. A key that cannot be read gives nil here, and
        /// setting it makes ``MappingStore/apply(_:)`` throw.
        public subscript(key: String) -> HostMapping? {
            get {
                guard let key = try? MappingKey(key) else { return nil }
                return rules[key]
            }
            set {
                do {
                    rules[try MappingKey(key)] = newValue
                } catch {
                    errors.append(error)
                }
            }
        }

        /// The rule for a key that is already read; nil removes it.
        public subscript(key: MappingKey) -> HostMapping? {
            get { rules[key] }
            set { rules[key] = newValue }
        }

        /// Removes every rule.
        public mutating func removeAll() { rules = [:] }
    }
}
