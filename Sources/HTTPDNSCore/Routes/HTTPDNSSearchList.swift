// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The zones in which names are looked up that are not whole, in the manner of resolv.conf(5).
///
/// A name with at least ``dots`` dots is looked up as it is first, and then in each zone; any other name as it is last. "No such name"
/// and "no address" lead to the next one, and every failure ends the search: a later name could be another service. A name that is
/// written with a trailing dot is looked up as it is alone.
public struct HTTPDNSSearchList: Hashable, Sendable {
    /// The source of the zones.
    public enum Zones: Hashable, Sendable {
        /// The zones themselves, in their order.
        case names([HTTPDNSName])
        /// The zones in a file in the form of resolv.conf(5).
        ///
        /// It is read once a second while there are queries.
        case file(String)
    }

    /// The zones.
    public var zones: Zones
    /// The number of dots from which a name is looked up as it is first; nil means `options ndots` of the file, or 1.
    public var dots: Int?

    /// Creates a list.
    public init(_ zones: Zones, dots: Int? = nil) {
        self.zones = zones
        self.dots = dots
    }

    /// Returns the names to look up for a name, in their order.
    static func names(for host: HTTPDNSName, in zones: [HTTPDNSName], dots: Int) -> [HTTPDNSName] {
        if host.isAbsolute { return [host] }
        let count = host.description.utf8.count { $0 == UInt8(ascii: ".") }
        // A name that is too long in a zone does not exist there.
        let searched = zones.compactMap { try? HTTPDNSName("\(host).\($0)") }
        return count >= dots ? [host] + searched : searched + [host]
    }
}
