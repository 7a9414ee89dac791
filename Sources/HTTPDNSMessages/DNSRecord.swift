// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSPrimitives

/// A resource record of class IN that is used to resolve a host.
package struct DNSRecord: Hashable, Sendable {
    package enum Content: Hashable, Sendable {
        /// A or AAAA, by the address's family.
        case address(HTTPDNSAddress)
        /// CNAME: the owner is an alias of this name.
        case alias(DNSName)
        /// SOA: the time for which a negative answer may be cached, in seconds (RFC 2308 section 4).
        case startOfAuthority(minimum: UInt32)
        /// SRV.
        case server(ServerRecord)
        /// SVCB or HTTPS.
        case service(ServiceRecord)
        /// A malformed SVCB or HTTPS record, which invalidates all such records of its owner (RFC 9460 section 2.2).
        case malformedService(DNSMessageError)
    }

    package let owner: DNSName
    /// The time to live as in the message, in seconds. See ``DNSTimeToLive``.
    package let timeToLive: UInt32
    package let content: Content

    package init(owner: DNSName, timeToLive: UInt32, content: Content) {
        self.owner = owner
        self.timeToLive = timeToLive
        self.content = content
    }
}

/// The interpretation of the 32 bits of a time to live.
package enum DNSTimeToLive {
    /// The maximum time to live of a record, 7 days (RFC 8767 section 4).
    package static let maximumSeconds: UInt32 = 604_800

    /// Returns the time to live in seconds. A value with the upper bit set is a large number, not a negative one (RFC 8767
    /// section 4, which replaces RFC 2181's zero).
    package static func seconds(_ value: UInt32) -> UInt32 { min(value, maximumSeconds) }
}

/// The type of a resource record (RFC 1035 section 3.2.2); messages may contain any number.
package struct DNSRecordType: Hashable, Sendable, CustomStringConvertible {
    package let number: UInt16

    package init(number: UInt16) { self.number = number }

    /// Creates the type of the address records of `family`.
    package init(of family: HTTPDNSAddress.Family) { self = family == .v4 ? .a : .aaaa }

    /// An IPv4 address (RFC 1035 section 3.4.1).
    package static let a = DNSRecordType(number: 1)
    /// A name server of a zone (RFC 1035 section 3.3.11).
    package static let ns = DNSRecordType(number: 2)
    /// The canonical name of an alias (RFC 1035 section 3.3.1).
    package static let cname = DNSRecordType(number: 5)
    /// The start of a zone of authority (RFC 1035 section 3.3.13).
    package static let soa = DNSRecordType(number: 6)
    /// The name of an address (RFC 1035 section 3.3.12).
    package static let ptr = DNSRecordType(number: 12)
    /// A mail server (RFC 1035 section 3.3.9).
    package static let mx = DNSRecordType(number: 15)
    /// Text (RFC 1035 section 3.3.14).
    package static let txt = DNSRecordType(number: 16)
    /// An IPv6 address (RFC 3596).
    package static let aaaa = DNSRecordType(number: 28)
    /// The location of a service (RFC 2782).
    package static let srv = DNSRecordType(number: 33)
    /// The pseudo record that carries EDNS (RFC 6891).
    package static let opt = DNSRecordType(number: 41)
    /// The binding of a service to its endpoints (RFC 9460 section 2).
    package static let svcb = DNSRecordType(number: 64)
    /// The binding of a service for the schemes `https` and `http` (RFC 9460 section 9).
    package static let https = DNSRecordType(number: 65)

    /// The authorities that may issue certificates (RFC 8659).
    package static let caa = DNSRecordType(number: 257)

    /// Whether records of the type have the form of SVCB ("SVCB-compatible", RFC 9460 section 6).
    package var bindsServices: Bool { self == .svcb || self == .https }

    private static let mnemonics: [DNSRecordType: String] = [
        .a: "A", .ns: "NS", .cname: "CNAME", .soa: "SOA", .ptr: "PTR", .mx: "MX", .txt: "TXT", .aaaa: "AAAA",
        .srv: "SRV",
        .opt: "OPT", .svcb: "SVCB", .https: "HTTPS", .caa: "CAA",
    ]

    /// The mnemonic of the types that this codec reads; `TYPE99` for others (RFC 3597 section 5).
    package var description: String { Self.mnemonics[self] ?? "TYPE\(number)" }

    /// Reads a mnemonic, or the form `TYPE99`, in any case of letters.
    package init?(_ text: String) {
        let text = text.uppercased()
        if let type = Self.mnemonics.first(where: { $0.value == text })?.key {
            self = type
        } else if text.hasPrefix("TYPE"), let number = UInt16(digits: text.dropFirst(4)) {
            self.init(number: number)
        } else {
            return nil
        }
    }
}
