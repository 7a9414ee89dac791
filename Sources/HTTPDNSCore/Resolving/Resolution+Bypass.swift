extension HTTPDNSResolver.Resolution {
    /// Why mappings or providers were passed over, and the system resolver was asked.
    public struct Bypass: Hashable, Sendable, CustomStringConvertible {
        private let reason: BypassReason

        init(_ reason: BypassReason) { self.reason = reason == .internalName ? .noRoute : reason }

        /// The request asked for it (``HTTPDNSResolver/Query/bypass``).
        public static var request: Bypass { Bypass(.request) }
        /// A rule of the mappings says so.
        public static var mapping: Bypass { Bypass(.mapping) }
        /// The name's route says so.
        public static var route: Bypass { Bypass(.route) }
        /// No route covers the name.
        public static var noRoute: Bypass { Bypass(.noRoute) }
        /// The ``HTTPDNSResolver/KillSwitch`` has the name off.
        public static var switchedOff: Bypass { Bypass(.switchedOff) }
        /// The question is outside its route's ``HTTPDNSRoute/Rollout``.
        public static var heldBack: Bypass { Bypass(.heldBack) }
        /// The route is in ``HTTPDNSRoute/Mode/shadow`` mode.
        public static var shadow: Bypass { Bypass(.shadow) }

        /// A short word for logs and JSON.
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
