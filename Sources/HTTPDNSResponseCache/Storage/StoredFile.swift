// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSZlib
internal import HTTPDNSCore
internal import HTTPTypes

/// The format of the file of a stored response.
///
/// ```
/// magic 8 · version 4 · length of the head 4 · room for the head 4 · length of the body 8 · checksum 4
/// head, then zeros up to its room
/// blocks of the body: at most 65,536 bytes, then their checksum 4
/// ```
///
/// Numbers are little-endian, and checksums are CRC-32 (RFC 1952 section 8). The checksum in front covers what is before it, without the magic,
/// and the head. The room lets a validated response get another head without another file.
struct StoredFile: Hashable, Sendable {
    static let magic = Array("httpdnsr".utf8)
    static let version: UInt32 = 1
    static let prefixLength = 32
    static let blockLength = 65_536
    /// The longest head that is read: far more than the fields of a response can have.
    static let maximumHead = 2 << 20

    /// The name in the folder.
    let name: String
    /// The number of bytes for the head.
    let room: Int
    let bodyLength: Int64

    /// The length of the whole file.
    var length: Int64 { Self.length(room: room, body: bodyLength) }

    static func length(room: Int, body: Int64) -> Int64 {
        let block = Int64(blockLength)
        return Int64(prefixLength + room) + body + (body + block - 1) / block * 4
    }

    /// The offset of the block that has a byte of the body.
    func offset(ofBlock number: Int64) -> Int64 {
        Int64(Self.prefixLength + room) + number * Int64(Self.blockLength + 4)
    }

    /// Returns the room for a head, which may grow a little.
    static func room(for head: [UInt8]) -> Int { (head.count + 256 + 255) / 256 * 256 }

    /// Returns the start of a file: its prefix and its head, filled up to the room.
    static func start(_ head: [UInt8], room: Int, bodyLength: Int64) -> [UInt8] {
        var numbers = ByteWriter()
        numbers.append(version)
        numbers.append(UInt32(head.count))
        numbers.append(UInt32(room))
        numbers.append(UInt64(bitPattern: bodyLength))
        var checksum = CRC32()
        checksum.update(numbers.bytes[...])
        checksum.update(head[...])
        numbers.append(checksum.value)
        return magic + numbers.bytes + head + [UInt8](repeating: 0, count: max(0, room - head.count))
    }

    /// Reads the prefix of a file.
    /// - Returns: The lengths of the head, of its room and of the body, and the checksum; nil for other content.
    static func lengths(_ prefix: [UInt8]) -> (head: Int, room: Int, body: Int64, checksum: UInt32)? {
        var reader = ByteReader(prefix)
        guard reader.read(count: 8) == magic[...], reader.readUInt32() == version, let head = reader.readUInt32(),
            let room = reader.readUInt32(), let body = reader.readUInt64(), let checksum = reader.readUInt32()
        else { return nil }
        guard head <= room, room <= maximumHead, body <= UInt64(Int64.max / 2) else { return nil }
        return (Int(head), Int(room), Int64(body), checksum)
    }

    /// Returns the head of a file; nil when its checksum does not match.
    static func head(prefix: [UInt8], _ bytes: [UInt8], checksum expected: UInt32) -> StoredHead? {
        var checksum = CRC32()
        checksum.update(prefix[8..<prefixLength - 4])
        checksum.update(bytes[...])
        guard checksum.value == expected else { return nil }
        return StoredHead(encoded: bytes)
    }

    /// Returns a block with its checksum.
    static func block(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var checksum = CRC32()
        checksum.update(bytes)
        var writer = ByteWriter()
        writer.bytes.reserveCapacity(bytes.count + 4)
        writer.bytes.append(contentsOf: bytes)
        writer.append(checksum.value)
        return writer.bytes
    }

    /// Returns the bytes of a block without its checksum; nil when it does not match.
    static func content(ofBlock bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard bytes.count > 4 else { return nil }
        let content = bytes.dropLast(4)
        var checksum = CRC32()
        checksum.update(content)
        var reader = ByteReader(Array(bytes.suffix(4)))
        return reader.readUInt32() == checksum.value ? content : nil
    }
}

extension StoredHead {
    /// The bytes in a file.
    var encoded: [UInt8] {
        var writer = ByteWriter()
        for text in [url, partition, reason, version] { writer.append(text) }
        writer.append(UInt32(status))
        writer.append(UInt64(bitPattern: requestTime))
        writer.append(UInt64(bitPattern: responseTime))
        writer.append(UInt32(isForSession ? 1 : 0))
        writer.append(scope.map { UInt32($0.rawValue) } ?? .max)
        writer.append(UInt32(fields.count))
        for field in fields {
            writer.append(field.name.rawName)
            // Bytes outside ASCII stay as they came.
            field.withUnsafeBytesOfValue { writer.append(bytes: Array($0)) }
        }
        writer.append(UInt32(vary.fields.count))
        for field in vary.fields {
            writer.append(field.name)
            writer.append(UInt32(field.value == nil ? 0 : 1))
            writer.append(field.value ?? "")
        }
        return writer.bytes
    }

    /// Reads the bytes of a file; nil when they are no head.
    init?(encoded bytes: [UInt8]) {
        var reader = ByteReader(bytes)
        guard let url = reader.readText(), let partition = reader.readText(), let reason = reader.readText(),
            let version = reader.readText(), let status = reader.readUInt32(), (200...999).contains(status),
            let requestTime = reader.readUInt64(), let responseTime = reader.readUInt64(),
            let flags = reader.readUInt32(), let scope = reader.readUInt32(), let count = reader.readUInt32()
        else { return nil }
        var fields: HTTPFields = [:]
        for _ in 0..<count {
            guard let name = reader.readText().flatMap({ HTTPField.Name($0) }), let value = reader.readBytes() else {
                return nil
            }
            fields.append(HTTPField(name: name, lenientValue: value))
        }
        guard let varyCount = reader.readUInt32() else { return nil }
        var vary: [VaryFields.Field] = []
        for _ in 0..<varyCount {
            guard let name = reader.readText(), let hasValue = reader.readUInt32(), let value = reader.readText() else {
                return nil
            }
            vary.append(VaryFields.Field(name: name, value: hasValue == 1 ? value : nil))
        }
        guard reader.isAtEnd else { return nil }
        self.init(
            url: url,
            partition: partition,
            status: Int(status),
            reason: reason,
            version: version,
            fields: fields,
            vary: VaryFields(vary),
            requestTime: Int64(bitPattern: requestTime),
            responseTime: Int64(bitPattern: responseTime),
            isForSession: flags & 1 == 1,
            scope: scope == .max ? nil : HTTPDNSAddressPolicy.Scope(rawValue: Int(scope))
        )
    }
}

/// The checksum of zlib. It finds accidents; an attacker who alters a file computes it again.
struct CRC32 {
    private var register: UInt = 0

    /// The checksum of all bytes so far.
    var value: UInt32 { UInt32(truncatingIfNeeded: register) }

    mutating func update(_ bytes: ArraySlice<UInt8>) {
        bytes.withUnsafeBufferPointer { register = crc32_z(register, $0.baseAddress, $0.count) }
    }
}

/// A writer of little-endian numbers, and of texts after their length.
struct ByteWriter {
    var bytes: [UInt8] = []

    mutating func append(_ number: some FixedWidthInteger) {
        withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func append(_ text: String) { append(bytes: Array(text.utf8)) }

    mutating func append(bytes other: [UInt8]) {
        append(UInt32(other.count))
        bytes.append(contentsOf: other)
    }
}

/// A reader of what ``ByteWriter`` has written. It returns nil beyond the end.
struct ByteReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func read(count: Int) -> ArraySlice<UInt8>? {
        guard count <= rest.count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    private mutating func readNumber(bytes count: Int) -> UInt64? {
        read(count: count)?.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    mutating func readUInt32() -> UInt32? { readNumber(bytes: 4).map { UInt32(truncatingIfNeeded: $0) } }
    mutating func readUInt64() -> UInt64? { readNumber(bytes: 8) }

    mutating func readBytes() -> ArraySlice<UInt8>? { readUInt32().flatMap { read(count: Int($0)) } }
    mutating func readText() -> String? { readBytes().flatMap { String(validating: $0, as: UTF8.self) } }
}
