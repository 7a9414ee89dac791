// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// An encoder of answers as a snapshot.
struct SnapshotEncoder {
    private var file: [UInt8] = []
    private var count: UInt32 = 0

    /// Returns a snapshot with as many of `resolutions` as fit, the first ones first.
    ///
    /// Answers that are invalid, or that the format cannot hold, are left out.
    /// - Parameter maximumBytes: The maximum size of the whole file, if it is enough for a header.
    static func encode(_ resolutions: [HTTPDNSStoredResolution], maximumBytes: Int) -> [UInt8] {
        var encoder = SnapshotEncoder()
        for resolution in resolutions { encoder.append(resolution, maximumBytes: maximumBytes) }
        return encoder.finish()
    }

    private init() {
        file = SnapshotFormat.magic
        append(SnapshotFormat.version)
        file += Array(repeating: 0, count: SnapshotFormat.headerOctets - file.count)
    }

    private mutating func append(_ resolution: HTTPDNSStoredResolution, maximumBytes: Int) {
        let start = file.count
        guard isStorable(resolution), count < .max else { return }
        append(resolution.receivedAt)
        append(resolution.timeToLive.wholeNanoseconds)
        file.append(resolution.families.rawValue)
        file.append(resolution.providerScope.map { UInt8($0.rawValue) + 1 } ?? 0)
        append(name: resolution.host)
        if let canonicalName = resolution.canonicalName { append(name: canonicalName) } else { file.append(0) }
        append(text: resolution.route)
        append(text: resolution.provider)
        if let subnet = resolution.clientSubnet {
            append(subnet.address)
            file.append(UInt8(subnet.prefixLength))
        } else {
            file.append(0)
        }
        append(UInt16(resolution.addresses.count))
        for address in resolution.addresses { append(address) }
        guard file.count <= maximumBytes else {
            file.removeSubrange(start...)
            return
        }
        count += 1
    }

    /// Returns whether an answer can be written: content that ``SnapshotDecoder`` would refuse must not be written.
    private func isStorable(_ resolution: HTTPDNSStoredResolution) -> Bool {
        !resolution.families.isEmpty && HTTPDNSAddress.Families.both.isSuperset(of: resolution.families)
            && (1...Int(UInt16.max)).contains(resolution.addresses.count)
            && resolution.addresses.allSatisfy { resolution.families.contains($0.family) }
            && resolution.route.utf8.count <= UInt16.max && resolution.provider.utf8.count <= UInt16.max
    }

    private mutating func finish() -> [UInt8] {
        replace(at: SnapshotFormat.magic.count + 4, with: count)
        replace(at: SnapshotFormat.magic.count + 8, with: UInt64(file.count - SnapshotFormat.headerOctets))
        replace(at: SnapshotFormat.checksumOffset, with: SnapshotFormat.checksum(of: file))
        return file
    }

    private mutating func replace(at offset: Int, with value: some FixedWidthInteger) {
        withUnsafeBytes(of: value.bigEndian) { file.replaceSubrange(offset..<offset + $0.count, with: $0) }
    }

    private mutating func append(_ value: some FixedWidthInteger) {
        withUnsafeBytes(of: value.bigEndian) { file += $0 }
    }

    /// Appends a name. A host name has at most 253 bytes.
    private mutating func append(name: HTTPDNSName) {
        file.append(UInt8(name.description.utf8.count))
        file += name.description.utf8
    }

    private mutating func append(text: String) {
        append(UInt16(text.utf8.count))
        file += text.utf8
    }

    private mutating func append(_ address: HTTPDNSAddress) {
        file.append(address.family == .v4 ? SnapshotFormat.v4Mark : SnapshotFormat.v6Mark)
        file += address.bytes
    }
}

/// The layout of a snapshot. `Docs/Architecture/SnapshotFormat.md` has it as a table. Integers are big-endian.
enum SnapshotFormat {
    /// The first bytes: readable, so that `head` shows the type of the file.
    static let magic = Array("httpdns\n".utf8)
    /// The version, after the magic in every version. The rest may differ in others.
    static let version: UInt32 = 1
    /// The length of the header: magic 8, version 4, count of entries 4, bytes after the header 8, checksum 4.
    static let headerOctets = 28
    /// The offset of the checksum: after the part of the header that it covers.
    static let checksumOffset = 24
    /// The length of an entry with a name of one letter and one IPv4 address.
    static let minimumEntryOctets = 33

    /// Returns the checksum of a file: of all bytes except its own four.
    static func checksum(of file: [UInt8]) -> UInt32 {
        var checksum = CRC32C()
        checksum.update(file.prefix(checksumOffset))
        checksum.update(file.dropFirst(headerOctets))
        return checksum.value
    }

    /// The marks of a family in the file; 0 means that there is none.
    static let v4Mark: UInt8 = 4
    static let v6Mark: UInt8 = 6
}

/// An error in the bytes of a snapshot.
enum SnapshotFault: Error, Hashable {
    /// The file does not begin with the magic of snapshots.
    case foreign
    case unsupportedVersion(UInt32)
    /// The offset and the description of the error.
    case corrupt(offset: Int, String)
}

/// CRC-32C (Castagnoli; RFC 3720 appendix B.4): the polynomial 0x1EDC6F41, reflected, all ones before and after.
///
/// It detects every change of up to three bits in data shorter than 2^31 bits, and all but one in 2^32 of other changes. It
/// protects against accidents only: an attacker who alters a file recomputes it.
struct CRC32C {
    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in
            value & 1 == 1 ? value >> 1 ^ 0x82f6_3b78 : value >> 1
        }
    }

    private var register: UInt32 = .max

    init() {}

    /// The checksum of all bytes so far.
    var value: UInt32 { ~register }

    mutating func update(_ octets: ArraySlice<UInt8>) {
        register = octets.withUnsafeBufferPointer { octets in
            Self.table.withUnsafeBufferPointer { table in
                octets.reduce(register) { register, octet in
                    register >> 8 ^ table[Int(UInt8(truncatingIfNeeded: register) ^ octet)]
                }
            }
        }
    }
}
