// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

extension HTTPDNSRoute {
    /// The share of the queries that a route applies to while it is being introduced.
    ///
    /// The route applies to queries within the rollout; all others are resolved by the system resolver, as if the action
    /// of the route were ``HTTPDNSRoute/Action/system``. Mappings precede every route, and apply to all queries.
    ///
    /// The rollout is sticky: a key within it stays within while the percentage grows, in this process and in every other one.
    public struct Rollout: Hashable, Sendable {
        /// The unit that is drawn for the rollout.
        public enum Stickiness: String, Hashable, Sendable, CaseIterable {
            /// The process: one draw for each resolver, for all of its routes.
            case process
            /// The key of the query (``HTTPDNSResolver/Query/rolloutKey``), such as a user's number.
            ///
            /// A query without a key uses its host name: all requests to a host are then treated the same, in every process.
            case key
        }

        /// The share in percent, 0 to 100, to two decimals.
        public var percent: Double
        /// The unit that is drawn.
        public var by: Stickiness

        /// Creates a rollout. A resolver refuses a percentage outside 0 to 100, or with more than two decimals.
        public init(percent: Double, by stickiness: Stickiness = .process) {
            self.percent = percent
            by = stickiness
        }
    }
}

extension HTTPDNSRoute.Rollout {
    /// The number of positions in a rollout: hundredths of a percent.
    static let places: UInt64 = 10_000

    /// The number of positions within the rollout.
    var share: UInt64 { UInt64(max(0, min(percent * 100, 10_000)).rounded()) }

    /// The mistake in the rollout; nil when it is valid.
    var fault: String? {
        guard percent.isFinite, (0...100).contains(percent) else {
            return "its rollout is \(percent) percent; a percentage is 0 to 100"
        }
        guard (percent * 100 - (percent * 100).rounded()).magnitude < 1e-6 else {
            return "its rollout is \(percent) percent; two decimals are the finest step"
        }
        return nil
    }
}

/// The position of a key in a rollout, which takes positions in ascending order.
///
/// It is the same in every process and every release: FNV-1a with 64 bits over the pattern's text, a zero byte and the key's
/// text in UTF-8, mixed by the finalizer of MurmurHash3 (FNV's own low bits depend too little on the last bytes), modulo
/// 10,000. The pattern is included, so that different routes do not begin with the same keys.
enum RolloutPlace {
    static func of(_ key: String, in pattern: HTTPDNSRoute.Pattern) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        func add(_ text: String) {
            for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        }
        add(pattern.description)
        hash = hash &* 0x0000_0100_0000_01b3
        add(key)
        hash = (hash ^ hash >> 33) &* 0xff51_afd7_ed55_8ccd
        hash = (hash ^ hash >> 33) &* 0xc4ce_b9fe_1a85_ec53
        return (hash ^ hash >> 33) % HTTPDNSRoute.Rollout.places
    }
}
