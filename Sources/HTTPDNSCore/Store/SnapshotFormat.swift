/// The layout of a snapshot. `Docs/Architecture.md` has it as a table. Integers are big-endian.
enum SnapshotFormat {
    /// The first octets: readable, so that `head` tells what the file is.
    static let magic = Array("httpdns\n".utf8)
    /// Written behind the magic in every version; what follows may differ in others.
    static let version: UInt32 = 1
    /// Magic 8, version 4, count of entries 4, octets behind the header 8, checksum 4.
    static let headerOctets = 28
    /// Where the checksum stands: behind what it covers of the header.
    static let checksumOffset = 24
    /// An entry with a name of one letter and one IPv4 address.
    static let minimumEntryOctets = 33

    /// The checksum of a file: of all octets but its own four.
    static func checksum(of file: [UInt8]) -> UInt32 {
        var checksum = CRC32C()
        checksum.update(file.prefix(checksumOffset))
        checksum.update(file.dropFirst(headerOctets))
        return checksum.value
    }

    /// How a family is written; 0 stands for nothing there.
    static let v4Mark: UInt8 = 4
    static let v6Mark: UInt8 = 6
}

/// Why octets are no snapshot.
enum SnapshotFault: Error, Hashable {
    /// The file does not begin as snapshots do.
    case foreign
    case unsupportedVersion(UInt32)
    /// Where, and what is wrong there.
    case corrupt(offset: Int, String)
}
