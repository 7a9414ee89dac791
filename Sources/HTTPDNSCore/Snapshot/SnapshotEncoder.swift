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
