public import HTTPDNSPrimitives

extension AlibabaProvider {
    /// A region of the service, with its identifier and its bootstrap addresses.
    public struct Region: Hashable, Sendable {
        /// The service's identifier for the region, such as `cn`.
        public let identifier: String
        /// The bootstrap addresses, IPv4 and IPv6 in alternation, so that a machine with only one family succeeds at the second
        /// attempt. Each address serves queries and discoveries.
        public let bootstrap: [HTTPDNSAddress]

        /// Mainland China (`cn`).
        public static let mainlandChina = Region(
            "cn",
            [
                "203.107.1.1", "203.107.1.97", "203.107.1.100", "203.119.238.240", "106.11.25.239", "59.82.99.47",
                "2401:b180:7001::31d", "2408:4003:1f40::30a", "2401:b180:2000:20::10", "2401:b180:2000:30::1c",
            ]
        )
        /// Hong Kong (`hk`).
        public static let hongKong = Region(
            "hk",
            ["47.56.234.194", "47.56.119.115", "240b:4000:f10::178", "240b:4000:f10::188"]
        )
        /// Singapore (`sg`).
        public static let singapore = Region(
            "sg",
            ["161.117.200.122", "47.74.222.190", "240b:4000:f10::178", "240b:4000:f10::188"]
        )
        /// Germany (`de`).
        public static let germany = Region(
            "de",
            ["47.89.80.182", "47.246.146.77", "2404:2280:3000::176", "2404:2280:3000::188"]
        )
        /// The United States (`us`).
        public static let unitedStates = Region(
            "us",
            ["47.246.131.175", "47.246.131.141", "2404:2280:4000::2bb", "2404:2280:4000::23e"]
        )
        /// The whole world (`global`). No address of it is published: it needs addresses in the settings.
        public static let global = Region("global", [])

        /// All regions of the service.
        public static let all: [Region] = [.mainlandChina, .hongKong, .singapore, .germany, .unitedStates, .global]

        private init(_ identifier: String, _ addresses: [String]) {
            self.identifier = identifier
            let all = addresses.compactMap { HTTPDNSAddress($0) }
            let (v4, v6) = (all.filter { $0.family == .v4 }, all.filter { $0.family == .v6 })
            bootstrap = (0..<max(v4.count, v6.count)).flatMap {
                v4.dropFirst($0).prefix(1) + v6.dropFirst($0).prefix(1)
            }
        }
    }
}
