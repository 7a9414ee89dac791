// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSPrimitives

/// A rule of the mappings for one host or suffix.
public struct HTTPDNSMapping: Hashable, Sendable {
    /// An address with its share of the requests.
    public struct Target: Hashable, Sendable {
        /// The address to dial.
        public var address: HTTPDNSAddress
        /// The port to dial; nil means the port of the URL.
        public var port: UInt16?
        /// The share of the requests, 1 to 1,000,000, relative to the sum of all weights.
        ///
        /// `nil` means that the rule has no weights: its addresses are tried in the given order. Either all addresses of a rule
        /// have a weight, or none has.
        public var weight: Int?

        /// Creates a target.
        public init(_ address: HTTPDNSAddress, port: UInt16? = nil, weight: Int? = nil) {
            self.address = address
            self.port = port
            self.weight = weight
        }
    }

    /// The effect of a rule.
    public enum Action: Hashable, Sendable {
        /// Dials one of these addresses: in the given order, or, with weights, each first as often as its weight requires.
        ///
        /// Addresses with equal weights get equal shares.
        case addresses([Target])
        /// Dials the addresses of another name, found by that name's own mapping or route.
        ///
        /// Host, SNI and certificate name stay those of the request. With `usesTargetIdentity`, URL, SNI and
        /// certificate name are those of the other name and only the Host field stays.
        case via(HTTPDNSName, usesTargetIdentity: Bool)
        /// Queries the system resolver.
        case system
        /// Resolves the name as if there were no rule.
        ///
        /// These addresses are dialed only when the route's providers, stale answers and the system resolver have no address.
        case lastResort([Target])
    }

    package enum Content: Hashable, Sendable {
        case action(Action)
        /// A factory below got text that it could not parse; ``HTTPDNSMappingStore/apply(_:)`` throws this.
        case invalid(String)
    }

    package var content: Content
    /// The time a resolution from this rule is used before the rule is read again; nil means until the rule changes.
    public var timeToLive: Duration?
    /// The position of the rule in its source.
    public var location: HTTPDNSSourceLocation?

    /// Creates a rule.
    public init(_ action: Action, timeToLive: Duration? = nil, location: HTTPDNSSourceLocation? = nil) {
        content = .action(action)
        self.timeToLive = timeToLive
        self.location = location
    }

    /// The effect of the rule; nil while it holds text that could not be parsed.
    public var action: Action? {
        if case .action(let action) = content { action } else { nil }
    }
}

extension HTTPDNSMapping {
    /// Returns a rule from address texts, tried in this order: `.addresses(["203.0.113.7", "[2001:db8::7]:8443"])`.
    ///
    /// `apply` throws an error for bad text.
    public static func addresses(_ texts: [String]) -> HTTPDNSMapping {
        reading(texts.map { ($0, nil) })
    }

    /// Returns a rule from address texts with weights: `.weighted(["203.0.113.7": 95, "203.0.113.9": 5])`.
    ///
    /// Addresses with equal weights get equal shares. `apply` throws an error for bad text.
    public static func weighted(_ shares: KeyValuePairs<String, Int>) -> HTTPDNSMapping {
        reading(shares.map { ($0.key, $0.value) })
    }

    /// Returns a rule of last resort from address texts.
    ///
    /// The name is resolved as without a rule. These addresses are used when no source has an address. `apply` throws an error
    /// for bad text.
    public static func lastResort(_ texts: [String]) -> HTTPDNSMapping {
        reading(texts.map { ($0, nil) }) { .lastResort($0) }
    }

    /// Returns a rule that uses another name's addresses.
    ///
    /// `apply` throws an error for bad text.
    public static func via(_ name: String) -> HTTPDNSMapping {
        do {
            return HTTPDNSMapping(.via(try HTTPDNSName(name), usesTargetIdentity: false))
        } catch {
            return HTTPDNSMapping(invalid: "via \(error)")
        }
    }

    /// A rule that sends the name to the system resolver.
    public static var system: HTTPDNSMapping { HTTPDNSMapping(.system) }

    private static func reading(
        _ shares: [(text: String, weight: Int?)],
        as action: ([Target]) -> Action = { .addresses($0) }
    ) -> HTTPDNSMapping {
        var targets: [Target] = []
        for (text, weight) in shares {
            do {
                let read = try AddressText(text)
                targets.append(Target(read.address, port: read.port, weight: weight))
            } catch {
                return HTTPDNSMapping(invalid: error.description)
            }
        }
        return HTTPDNSMapping(action(targets))
    }

    private init(invalid reason: String) {
        self.init(.system)
        content = .invalid(reason)
    }
}

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
                    reason: "it is an address; mappings are for names, and a connection to an address needs none"
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

extension HTTPDNSMapping {
    /// The layer that holds a rule.
    public enum Origin: String, Hashable, Sendable, CaseIterable {
        /// The layer from settings or a file, replaced as a whole.
        case base
        /// The layer above it, changed by ``HTTPDNSMappingStore/apply(_:)``.
        case overlay
    }
}

extension HTTPDNSMapping {
    /// An error in a mapping, which makes its whole set unusable.
    public struct Error: Swift.Error, Hashable, Sendable, CustomStringConvertible {
        /// The rule's key as it was written, cut to 80 characters, control characters escaped.
        public var key: String
        /// The mistake, and the values that are allowed.
        public var reason: String
        /// The position of the rule in its source.
        public var location: HTTPDNSSourceLocation?

        /// Creates an error for the rule whose key is `key` in its source.
        package init(key: String, reason: String, location: HTTPDNSSourceLocation? = nil) {
            self.key = key.escaped(limit: 80)
            self.reason = reason
            self.location = location
        }

        /// One line with location, key and reason.
        public var description: String { (location.map { "\($0): " } ?? "") + "mapping \"\(key)\": \(reason)" }
    }
}

/// The order in which the targets of a rule are tried.
enum WeightedOrder {
    /// The maximum weight, so that sums cannot overflow and shares are not rounded to zero.
    static let maximumWeight = 1_000_000

    /// Returns the given order without weights; else a weighted random order without replacement.
    ///
    /// Each position is drawn from the remaining targets, by their share of the remaining weights. Targets with equal weights
    /// are drawn at random too, with equal shares.
    /// - Parameter random: A function that returns a uniform random number below its argument.
    static func arrange(
        _ targets: [HTTPDNSMapping.Target],
        random: (UInt64) -> UInt64
    ) -> [HTTPDNSMapping.Target] {
        guard targets.count > 1, targets.areWeighted else { return targets }
        var left = targets
        var order: [HTTPDNSMapping.Target] = []
        order.reserveCapacity(targets.count)
        while left.count > 1 {
            let sum = left.reduce(0) { $0 + $1.share }
            var ticket = random(sum)
            let chosen =
                left.firstIndex { target in
                    if ticket < target.share { return true }
                    ticket -= target.share
                    return false
                } ?? left.startIndex
            order.append(left.remove(at: chosen))
        }
        return order + left
    }
}

extension [HTTPDNSMapping.Target] {
    /// Whether the targets share the requests by weight. A rule with weights has one for each target.
    package var areWeighted: Bool { first?.weight != nil }
}

extension HTTPDNSMapping.Target {
    /// The weight for the drawing. Clamped, because a set of rules is indexed before it is checked.
    var share: UInt64 { UInt64(clamping: weight ?? 1) }
}
