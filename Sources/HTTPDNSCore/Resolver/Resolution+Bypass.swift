extension HTTPDNSResolver.Resolution {
    /// The reason that mappings or providers were skipped and the system resolver was used.
    public struct Bypass: Hashable, Sendable, CustomStringConvertible {
        private let reason: BypassReason

        init(_ reason: BypassReason) { self.reason = reason == .internalName ? .noRoute : reason }

        /// The request set ``HTTPDNSResolver/Query/bypass``.
        public static var request: Bypass { Bypass(.request) }
        /// A mapping rule for the name is a bypass.
        public static var mapping: Bypass { Bypass(.mapping) }
        /// The route of the name is a bypass.
        public static var route: Bypass { Bypass(.route) }
        /// No route covers the name.
        public static var noRoute: Bypass { Bypass(.noRoute) }
        /// The ``HTTPDNSResolver/KillSwitch`` has turned the name off.
        public static var switchedOff: Bypass { Bypass(.switchedOff) }
        /// The query is outside its route's ``HTTPDNSRoute/Rollout``.
        public static var heldBack: Bypass { Bypass(.heldBack) }
        /// The route is in ``HTTPDNSRoute/Mode/shadow`` mode.
        public static var shadow: Bypass { Bypass(.shadow) }

        /// A short identifier for logs and JSON.
        public var description: String {
            switch reason {
            case .request: "request"
            case .mapping: "mapping"
            case .route: "route"
            case .noRoute, .internalName: "no-route"
            case .switchedOff: "switched-off"
            case .heldBack: "held-back"
            case .shadow: "shadow"
            }
        }
    }
}
