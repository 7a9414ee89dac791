/// The layout of a snapshot. `Docs/Architecture.md` has it as a table. Integers are big-endian.
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
