// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// A decoder of snapshots: it returns the answers, or the error in the bytes. Either all of a file is used or no part of it.
///
/// Every step consumes bytes and none is read twice. So time and memory are linear in the length of the file, whatever lengths
/// it declares.
struct SnapshotDecoder {
    private let file: [UInt8]
    private var offset = 0

    /// Returns the answers in the order of the file.
    static func decode(_ file: [UInt8]) throws(SnapshotFault) -> [HTTPDNSStoredResolution] {
        var decoder = SnapshotDecoder(file: file)
        let count = try decoder.readHeader()
        var resolutions: [HTTPDNSStoredResolution] = []
        resolutions.reserveCapacity(count)
        for _ in 0..<count { resolutions.append(try decoder.readEntry()) }
        guard decoder.offset == file.count else {
            throw .corrupt(
                offset: decoder.offset,
                "\(file.count - decoder.offset) bytes are left behind the last entry"
            )
        }
        return resolutions
    }

    private init(file: [UInt8]) { self.file = file }

    /// - Returns: The number of entries; the file is long enough for them.
    private mutating func readHeader() throws(SnapshotFault) -> Int {
        guard file.starts(with: SnapshotFormat.magic) else {
            // An empty file, or one that was truncated in the magic.
            if SnapshotFormat.magic.starts(with: file) { throw fault("the header is cut off") }
            throw .foreign
        }
        offset = SnapshotFormat.magic.count
        let version = try read(UInt32.self)
        guard version == SnapshotFormat.version else { throw .unsupportedVersion(version) }
        let count = try read(UInt32.self)
        let length = try read(UInt64.self)
        let checksum = try read(UInt32.self)
        let actual = UInt64(file.count - offset)
        guard length == actual else { throw fault("\(length) bytes belong behind the header, and there are \(actual)") }
        guard checksum == SnapshotFormat.checksum(of: file) else { throw fault("the checksum does not match") }
        guard UInt64(count) <= actual / UInt64(SnapshotFormat.minimumEntryOctets) else {
            throw fault("\(count) entries cannot stand in \(actual) bytes")
        }
        return Int(count)
    }

    private mutating func readEntry() throws(SnapshotFault) -> HTTPDNSStoredResolution {
        let receivedAt = try read(Int64.self)
        let timeToLive = Duration.nanoseconds(try read(Int64.self))
        let families = HTTPDNSAddress.Families(rawValue: try read(UInt8.self))
        guard !families.isEmpty, HTTPDNSAddress.Families.both.isSuperset(of: families) else {
            throw fault("\(families.rawValue) is no set of address families")
        }
        let scope = try readScope()
        guard let host = try readName() else { throw fault("an entry has no name") }
        let canonicalName = try readName()
        let route = try readText()
        let provider = try readText()
        let subnet = try readSubnet()
        let count = try read(UInt16.self)
        guard count > 0 else { throw fault("an entry has no address") }
        var addresses: [HTTPDNSAddress] = []
        for _ in 0..<count {
            guard let address = try readAddress(), families.contains(address.family) else {
                throw fault("an address is not of the families asked for")
            }
            addresses.append(address)
        }
        return HTTPDNSStoredResolution(
            host: host,
            families: families,
            route: route,
            clientSubnet: subnet,
            addresses: addresses,
            provider: provider,
            providerScope: scope,
            canonicalName: canonicalName,
            receivedAt: receivedAt,
            timeToLive: timeToLive
        )
    }

    private mutating func readScope() throws(SnapshotFault) -> HTTPDNSAddressPolicy.Scope? {
        let octet = try read(UInt8.self)
        guard octet > 0 else { return nil }
        guard let scope = HTTPDNSAddressPolicy.Scope(rawValue: Int(octet) - 1) else {
            throw fault("\(octet) is no address scope")
        }
        return scope
    }

    /// Reads a name, which must be in canonical spelling; nil for one of length zero.
    private mutating func readName() throws(SnapshotFault) -> HTTPDNSName? {
        let octets = try readOctets(Int(try read(UInt8.self)))
        guard !octets.isEmpty else { return nil }
        // Letters outside ASCII are in no canonical name, and mapping them is expensive.
        guard octets.allSatisfy({ $0 < 0x80 }) else { throw fault("a name has bytes outside ASCII") }
        let text = String(decoding: octets, as: UTF8.self)
        guard let name = try? HTTPDNSName(text), name.description == text else {
            throw fault("\"\(text.escaped(limit: 80))\" is no canonical host name")
        }
        return name
    }

    private mutating func readText() throws(SnapshotFault) -> String {
        let octets = try readOctets(Int(try read(UInt16.self)))
        guard let text = String(validating: octets, as: UTF8.self) else { throw fault("a text is not UTF-8") }
        return text
    }

    private mutating func readSubnet() throws(SnapshotFault) -> HTTPDNSAddressBlock? {
        guard let address = try readAddress() else { return nil }
        let length = try read(UInt8.self)
        guard let block = HTTPDNSAddressBlock(address, prefixLength: Int(length)), block.address == address else {
            throw fault("\(address)/\(length) is no block of addresses")
        }
        return block
    }

    /// Reads an address; nil for the mark of a missing one.
    private mutating func readAddress() throws(SnapshotFault) -> HTTPDNSAddress? {
        let mark = try read(UInt8.self)
        switch mark {
        case 0: return nil
        case SnapshotFormat.v4Mark: return HTTPDNSAddress(bytes: try readOctets(4))
        case SnapshotFormat.v6Mark: return HTTPDNSAddress(bytes: try readOctets(16))
        default: throw fault("\(mark) is no mark of an address")
        }
    }

    private mutating func read<Value: FixedWidthInteger>(_: Value.Type) throws(SnapshotFault) -> Value {
        try readOctets(Value.bitWidth / 8).reduce(0) { $0 << 8 | Value(truncatingIfNeeded: $1) }
    }

    private mutating func readOctets(_ count: Int) throws(SnapshotFault) -> ArraySlice<UInt8> {
        guard count <= file.count - offset else {
            throw fault("\(count) bytes are needed and \(file.count - offset) are left")
        }
        defer { offset += count }
        return file[offset..<offset + count]
    }

    private func fault(_ reason: String) -> SnapshotFault { .corrupt(offset: offset, reason) }
}
