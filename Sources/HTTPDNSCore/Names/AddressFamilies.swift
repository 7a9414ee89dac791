// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSPrimitives

extension HTTPDNSAddress {
    /// The address families to query and to use.
    public struct Families: OptionSet, Hashable, Sendable, CustomStringConvertible {
        /// Bit 0 is IPv4, bit 1 is IPv6.
        public let rawValue: UInt8

        /// Creates a set from its bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// IPv4 addresses (A).
        public static let v4 = HTTPDNSAddress.Families(rawValue: 1)
        /// IPv6 addresses (AAAA).
        public static let v6 = HTTPDNSAddress.Families(rawValue: 2)
        /// Both families.
        public static let both: HTTPDNSAddress.Families = [.v4, .v6]

        /// Creates the set of one family.
        init(_ family: HTTPDNSAddress.Family) { self = family == .v4 ? .v4 : .v6 }

        /// Returns whether addresses of `family` are in the set.
        public func contains(_ family: HTTPDNSAddress.Family) -> Bool {
            isSuperset(of: HTTPDNSAddress.Families(family))
        }

        /// `IPv4`, `IPv6`, `IPv4 or IPv6`, or `no family`.
        public var description: String {
            switch intersection(.both) {
            case .v4: "IPv4"
            case .v6: "IPv6"
            case .both: "IPv4 or IPv6"
            default: "no family"
            }
        }
    }
}
