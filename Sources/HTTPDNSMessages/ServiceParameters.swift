// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSPrimitives

/// The parameters of a record in service mode.
package struct ServiceParameters: Hashable, Sendable {
    /// The maximum number of protocols that are kept; RFC 9460 sets no limit, and three are in use.
    static let maximumProtocols = 16

    /// The present keys, in ascending order.
    package private(set) var keys: [ServiceParameterKey] = []
    /// The keys in the parameter `mandatory`, in ascending order.
    package private(set) var mandatory: [ServiceParameterKey] = []
    /// The identifiers in the parameter `alpn`, with one Unicode scalar for each octet.
    package private(set) var protocols: [String] = []
    package private(set) var port: UInt16?
    package private(set) var v4Hints: [HTTPDNSAddress] = []
    package private(set) var v6Hints: [HTTPDNSAddress] = []
    /// The values of `ech` and of unknown keys, which are not interpreted.
    private(set) var uninterpreted: [ServiceParameterKey: [UInt8]] = [:]

    /// Creates an empty set of parameters.
    init() {}

    /// Reads parameters to the end of the data.
    /// - Throws: ``DNSMessageError`` when a parameter does not end within the data, keys do not strictly ascend, or a value
    ///   violates the form of its key (RFC 9460 section 2.2).
    init(parsing data: inout DNSMessageReader) throws(DNSMessageError) {
        while data.remaining > 0 {
            let start = data.offset
            let key = ServiceParameterKey(number: try data.readUInt16())
            let length = Int(try data.readUInt16())
            var value = try data.readSection(length)
            if let last = keys.last, key <= last {
                throw DNSMessageError(.badService, at: start, "parameter \(key) after \(last); keys must strictly rise")
            }
            keys.append(key)
            try read(key, from: &value)
        }
    }

    /// Whether the parameters are consistent (RFC 9460 section 2.4.3), and a client that supports
    /// ``ServiceParameterKey/implemented`` can connect with them (RFC 9460 section 8). `ech` is not supported: a record with it
    /// is used without it, unless `ech` is mandatory.
    package var areUsable: Bool {
        mandatory.allSatisfy { ServiceParameterKey.implemented.contains($0) && keys.contains($0) }
            && (!protocols.isEmpty || !excludesDefaultProtocol)
            && port != 0
    }

    /// Whether `no-default-alpn` is present.
    package var excludesDefaultProtocol: Bool { keys.contains(.noDefaultALPN) }

    /// Whether `ech` is present.
    package var offersEncryptedClientHello: Bool { keys.contains(.ech) }

    private mutating func read(
        _ key: ServiceParameterKey,
        from value: inout DNSMessageReader
    ) throws(DNSMessageError) {
        let start = value.offset
        func fault(_ reason: String) -> DNSMessageError {
            DNSMessageError(.badService, at: start, "parameter \(key): \(reason)")
        }
        switch key {
        case .mandatory:
            guard value.remaining > 0, value.remaining.isMultiple(of: 2) else {
                throw fault("\(value.remaining) octets; each of its keys has 2, and there is at least one")
            }
            var last = ServiceParameterKey.mandatory
            while value.remaining > 0 {
                let listed = ServiceParameterKey(number: try value.readUInt16())
                guard listed > last else { throw fault("\(listed) after \(last); its keys must strictly rise") }
                mandatory.append(listed)
                last = listed
            }
        case .alpn:
            guard value.remaining > 0 else { throw fault("no protocol; there must be at least one") }
            while value.remaining > 0 {
                let length = Int(try value.readUInt8())
                guard length > 0, length <= value.remaining else {
                    throw fault("a protocol of \(length) octets, and \(value.remaining) are left")
                }
                let octets = try value.readOctets(length)
                guard protocols.count < Self.maximumProtocols else { continue }
                protocols.append(String(String.UnicodeScalarView(octets.map { Unicode.Scalar($0) })))
            }
        case .noDefaultALPN:
            guard value.remaining == 0 else { throw fault("\(value.remaining) octets; it has no value") }
        case .port:
            guard value.remaining == 2 else { throw fault("\(value.remaining) octets; a port has 2") }
            port = try value.readUInt16()
        case .ipv4Hint:
            v4Hints = try Self.addresses(in: &value, octets: 4, fault: fault)
        case .ipv6Hint:
            v6Hints = try Self.addresses(in: &value, octets: 16, fault: fault)
        default:
            uninterpreted[key] = Array(try value.readOctets(value.remaining))
        }
    }

    /// Returns the addresses, each once, at most ``DNSResponse/maximumAddresses``.
    private static func addresses(
        in value: inout DNSMessageReader,
        octets: Int,
        fault: (String) -> DNSMessageError
    ) throws(DNSMessageError) -> [HTTPDNSAddress] {
        guard value.remaining > 0, value.remaining.isMultiple(of: octets) else {
            throw fault("\(value.remaining) octets; each address has \(octets), and there is at least one")
        }
        var addresses: [HTTPDNSAddress] = []
        while value.remaining > 0, addresses.count < DNSResponse.maximumAddresses {
            guard let address = HTTPDNSAddress(bytes: try value.readOctets(octets)), !addresses.contains(address) else {
                continue
            }
            addresses.append(address)
        }
        return addresses
    }
}

/// The key of a parameter in a record of type SVCB or HTTPS (RFC 9460 section 14.3.2); messages may contain any number.
package struct ServiceParameterKey: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let number: UInt16

    package init(number: UInt16) { self.number = number }

    /// The keys that a client must support to use the record (RFC 9460 section 8).
    package static let mandatory = ServiceParameterKey(number: 0)
    /// The protocols of the service (RFC 9460 section 7.1).
    package static let alpn = ServiceParameterKey(number: 1)
    /// The exclusion of the scheme's default protocol (RFC 9460 section 7.1).
    static let noDefaultALPN = ServiceParameterKey(number: 2)
    /// The port to connect to (RFC 9460 section 7.2).
    package static let port = ServiceParameterKey(number: 3)
    /// The IPv4 addresses of the target (RFC 9460 section 7.3).
    static let ipv4Hint = ServiceParameterKey(number: 4)
    /// The settings of Encrypted ClientHello (RFC 9848), which this library does not support.
    package static let ech = ServiceParameterKey(number: 5)
    /// The IPv6 addresses of the target (RFC 9460 section 7.3).
    static let ipv6Hint = ServiceParameterKey(number: 6)
    /// The path of a DNS-over-HTTPS service as a template (RFC 9461 section 5), which is not interpreted.
    static let dohPath = ServiceParameterKey(number: 7)

    /// The supported keys. A record with any other mandatory key is invalid.
    static let implemented: Set<ServiceParameterKey> = [.alpn, .noDefaultALPN, .port, .ipv4Hint, .ipv6Hint]

    package static func < (left: ServiceParameterKey, right: ServiceParameterKey) -> Bool {
        left.number < right.number
    }

    /// The registered name; `key667` for others (RFC 9460 section 2.1).
    package var description: String {
        switch self {
        case .mandatory: "mandatory"
        case .alpn: "alpn"
        case .noDefaultALPN: "no-default-alpn"
        case .port: "port"
        case .ipv4Hint: "ipv4hint"
        case .ech: "ech"
        case .ipv6Hint: "ipv6hint"
        case .dohPath: "dohpath"
        default: "key\(number)"
        }
    }
}

/// The data of a record of type SVCB or HTTPS (RFC 9460 section 2.2).
package struct ServiceRecord: Hashable, Sendable {
    /// The priority: 0 is alias mode; otherwise lower numbers are preferred.
    package let priority: UInt16
    /// The target name of the record. The root has a special meaning in each mode (RFC 9460 section 2.5).
    package let target: DNSName
    /// The parameters; empty in alias mode.
    package let parameters: ServiceParameters

    /// Reads the data to its end.
    /// - Throws: ``DNSMessageError`` when the record is malformed, which invalidates all such records of its owner (RFC 9460
    ///   section 2.2).
    init(parsing data: inout DNSMessageReader) throws(DNSMessageError) {
        priority = try data.readUInt16()
        target = try data.readUncompressedName()
        // Parameters in alias mode are reserved for a later standard, and are ignored (RFC 9460 section 2.4.2).
        parameters = priority == 0 ? ServiceParameters() : try ServiceParameters(parsing: &data)
    }
}
