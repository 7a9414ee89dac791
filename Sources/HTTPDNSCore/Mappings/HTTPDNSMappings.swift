// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The immutable set of all rules, numbered by generation.
///
/// A set in use has two layers: the base, from settings or a file, and the overlay, which ``HTTPDNSMappingStore/apply(_:)``
/// changes. The overlay's rule for a key wins over the base's. Among keys, the most specific one decides (``rule(for:port:)``),
/// in whichever layer it is.
public struct HTTPDNSMappings: Sendable {
    /// The generation of the set. It grows with every change of a resolver's settings or mappings; 1 is the first set.
    public internal(set) var generation: UInt64 = 1
    /// The generation of the base. It grows with every change of the base; 1 is the first.
    public internal(set) var baseGeneration: UInt64 = 1
    /// The generation of the overlay. It grows with every change of the overlay; 0 means that there is none yet.
    public internal(set) var overlayGeneration: UInt64 = 0
    /// The rules, indexed for lookup.
    let index: RuleIndex

    /// Creates a set of rules without an overlay. The store that holds the set assigns the generations.
    /// - Throws: ``HTTPDNSMapping/Error`` for a rule that holds text which could not be parsed, `*` as a pattern, port 0, no
    ///   address, a repeated address, a weight outside 1 to 1,000,000, a negative time to live, or `via` rules in a circle or
    ///   in a chain of more than 8. If several rules are bad, the error names the first one by key.
    public init(_ rules: [HTTPDNSMapping.Key: HTTPDNSMapping] = [:]) throws(HTTPDNSMapping.Error) {
        index = RuleIndex(base: RuleLayer(rules, .base))
        try HTTPDNSMappings.check(rules.lazy.map { ($0.key, $0.value) }, in: index)
    }

    /// The rules in effect: those of the overlay, and those of the base that the overlay neither replaces nor hides.
    ///
    /// Once there is an overlay, each call merges both layers.
    public var rules: [HTTPDNSMapping.Key: HTTPDNSMapping] { index.rules }

    /// Returns the rule for a name on a port: exact with port, exact, then the longest suffix (with port before without).
    public func rule(for host: HTTPDNSName, port: UInt16) -> (key: HTTPDNSMapping.Key, mapping: HTTPDNSMapping)? {
        index.rule(for: host, port: port).map { ($0.key, $0.mapping) }
    }

    /// Returns the layer that has the rule for a key.
    package func origin(of key: HTTPDNSMapping.Key) -> HTTPDNSMapping.Origin {
        index.overlay.rules[key] == nil ? .base : .overlay
    }

    /// Returns the rule of the base that a rule of the overlay replaces.
    package func replaced(by key: HTTPDNSMapping.Key) -> HTTPDNSMapping? {
        index.overlay.rules[key] == nil ? nil : index.base.rules[key]
    }

    /// Returns the same overlay on another base.
    /// - Throws: ``HTTPDNSMapping/Error`` when both together have `via` rules in a circle or in too long a chain.
    func rebased(on other: HTTPDNSMappings) throws(HTTPDNSMapping.Error) -> HTTPDNSMappings {
        let base = other.index.overlay.isEmpty ? other.index.base : RuleLayer(other.rules, .base)
        var set = HTTPDNSMappings(generations: self, RuleIndex(base: base, overlay: index.overlay))
        set.baseGeneration += 1
        if !index.overlay.isEmpty { try set.checkComposition() }
        return set
    }

    /// Returns the same base under another overlay.
    /// - Throws: As ``init(_:)``.
    func overlaid(with draft: Draft) throws(HTTPDNSMapping.Error) -> HTTPDNSMappings {
        let overlay = RuleLayer(draft.overlay, .overlay, hiding: draft.hidden)
        var set = HTTPDNSMappings(generations: self, RuleIndex(base: index.base, overlay: overlay))
        set.overlayGeneration += 1
        try set.checkComposition()
        return set
    }

    private init(generations: HTTPDNSMappings, _ index: RuleIndex) {
        generation = generations.generation
        baseGeneration = generations.baseGeneration
        overlayGeneration = generations.overlayGeneration
        self.index = index
    }

    /// Checks the composition of both layers. The base alone has been checked: an overlay can only break its `via` rules.
    private func checkComposition() throws(HTTPDNSMapping.Error) {
        try HTTPDNSMappings.check(index.overlay.rules.lazy.map { ($0.key, $0.value) }, in: index)
        try HTTPDNSMappings.check(index.base.viaKeys.lazy.compactMap { key in index[key].map { (key, $0) } }, in: index)
    }

    private static func check(
        _ rules: some Sequence<(HTTPDNSMapping.Key, HTTPDNSMapping)>,
        in index: RuleIndex
    ) throws(HTTPDNSMapping.Error) {
        let errors = rules.compactMap { key, mapping in
            WorkPace.pauseIfDue()
            return HTTPDNSMappings.fault(of: key, mapping, in: index).map {
                HTTPDNSMapping.Error(key: key.description, reason: $0, location: mapping.location)
            }
        }
        if let first = errors.min(by: { $0.key < $1.key }) { throw first }
    }

    /// Frees mappings, mostly the last reference to their rules, rule by rule with the pauses of ``WorkPace``.
    package static func free(_ mappings: consuming HTTPDNSMappings?) {
        var rules = mappings?.index.base.indexed ?? []
        mappings = nil
        while rules.popLast() != nil { WorkPace.pauseIfDue() }
    }

    private static func fault(of key: HTTPDNSMapping.Key, _ mapping: HTTPDNSMapping, in index: RuleIndex) -> String? {
        if key.pattern == .any { return HTTPDNSMapping.Key.anyRefusal }
        if let refusal = key.pattern.zone?.refusalOfRules { return refusal }
        if key.port == 0 { return "port 0 cannot be connected to; ports are 1 to 65535" }
        if let life = mapping.timeToLive, life < .zero { return "its time to live is negative" }
        switch mapping.content {
        case .invalid(let reason): return reason
        case .action(.system): return nil
        case .action(.via(let target, _)): return ViaChain.fault(from: key, to: target, in: index)
        case .action(.addresses(let targets)), .action(.lastResort(let targets)): return fault(of: targets)
        }
    }

    private static func fault(of targets: [HTTPDNSMapping.Target]) -> String? {
        if targets.isEmpty { return "it has no address; give one at least, or system, or via" }
        var seen: Set<AddressAndPort> = []
        for target in targets {
            if target.port == 0 { return "port 0 of \(target.address) cannot be connected to; ports are 1 to 65535" }
            guard targets.count == 1 || seen.insert(AddressAndPort(address: target.address, port: target.port)).inserted
            else {
                return "it lists \(target.address) twice; give it once, with a weight for a larger share"
            }
            guard let weight = target.weight else {
                if targets.contains(where: { $0.weight != nil }) {
                    return "\(target.address) has no weight, and another address has one; give each a weight, or none"
                }
                continue
            }
            guard (1...WeightedOrder.maximumWeight).contains(weight) else {
                return "the weight of \(target.address) is \(weight), and weights are 1 to 1000000; "
                    + "leave the address out to send nothing there"
            }
        }
        return nil
    }

    private struct AddressAndPort: Hashable {
        var address: HTTPDNSAddress
        var port: UInt16?
    }
}

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

/// The mappings in use.
///
/// Reading ``current`` takes one lock while a reference is retained; reading ``generation`` takes none.
///
/// There are two layers. The **base** comes from the settings or their file and is replaced as a whole
/// (``replaceBase(with:)``, `reload`). The **overlay** holds the changes made by ``apply(_:)``, and stays when the base is
/// replaced. For one key the overlay's rule wins over the base's. Among keys, the most specific one decides, in whichever
/// layer it is.
public final class HTTPDNSMappingStore: Sendable {
    private let live: LiveSettingsBox

    init(_ live: LiveSettingsBox) { self.live = live }

    /// The set in use.
    public var current: HTTPDNSMappings { live.current.mappings }

    /// The generation in use.
    ///
    /// It grows with every change of either layer, and with every reload that changes other settings of a resolver. It is one
    /// atomic read, and never runs ahead of ``current``.
    public var generation: UInt64 { live.word.generation }

    /// Changes the overlay: all of the change or nothing.
    ///
    /// The next request uses the change; transfers in flight keep their endpoints. The cost grows with the overlay, not with
    /// the base.
    ///
    /// `change` runs on the caller's thread with no lock held. If another change is published first, it runs again on the
    /// resulting rules, so it must change nothing but its draft. A change without effect counts as a change.
    /// - Returns: The generation from which on the change holds, one more than the previous one.
    /// - Throws: ``HTTPDNSMapping/Error``, the errors of `change`, or ``HTTPDNSResolver/ConfigurationError`` after the
    ///   shutdown of the resolver or its client. Nothing has changed then.
    @discardableResult
    public func apply(_ change: (inout HTTPDNSMappings.Draft) throws -> Void) throws -> UInt64 {
        while true {
            if live.isClosed { throw HTTPDNSResolver.ConfigurationError.shutDown }
            let present = live.current
            var draft = HTTPDNSMappings.Draft(present.mappings)
            try change(&draft)
            if let error = draft.errors.first { throw error }
            let changed = try present.mappings.overlaid(with: draft)
            if let generation = install(changed, after: present) { return generation }
        }
    }

    /// Replaces the base; the overlay stays on it.
    /// - Parameter base: The new base. Its rules are already indexed, so that replacing costs little, whatever their number.
    /// - Returns: The generation from which on the base holds, one more than the previous one.
    /// - Throws: ``HTTPDNSMapping/Error`` when base and overlay together have `via` rules in a circle or in a chain of more
    ///   than 8; ``HTTPDNSResolver/ConfigurationError`` after the shutdown of the resolver or its client. Nothing has changed
    ///   then.
    @discardableResult
    public func replaceBase(with base: HTTPDNSMappings) throws -> UInt64 {
        while true {
            if live.isClosed { throw HTTPDNSResolver.ConfigurationError.shutDown }
            let present = live.current
            let changed = try present.mappings.rebased(on: base)
            if let generation = install(changed, after: present) { return generation }
        }
    }

    private func install(_ mappings: HTTPDNSMappings, after present: LiveSettings) -> UInt64? {
        live.install(mappings: mappings, resolving: present.resolving, after: present)?.mappings.generation
    }
}
