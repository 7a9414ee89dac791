// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSZlib

/// A decompressor based on zlib, for bodies in gzip (RFC 1952) and deflate (RFC 1950, or bare RFC 1951) that arrive in pieces.
///
/// libcurl would decode both too, but it accepts truncated bodies (LibcurlQuirks.md: truncated bodies pass).
final class Inflater {
    /// A content coding that zlib decodes.
    enum Coding {
        case gzip, deflate
    }

    /// The reason why decoding stops.
    enum Fault: Error, Hashable {
        /// The stream is corrupt. The text is zlib's.
        case broken(String)
        /// The bytes after the end are not part of the stream.
        case goesOn
    }

    private enum Place {
        /// The state before the stream. For deflate two bytes are gathered: they show whether there is a zlib header.
        case before([UInt8])
        case inside
        case behind
        /// The state after a stream without a zlib header. Some servers send zlib's trailer nevertheless, of which this many
        /// bytes may remain.
        case behindBare(Int)
    }

    private let coding: Coding
    // zlib's state contains the address of this structure.
    private let stream: UnsafeMutablePointer<z_stream>
    private var isReady = false
    private var isBare = false
    private var isFirst = true
    private var place = Place.before([])

    init(_ coding: Coding) {
        self.coding = coding
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
    }

    deinit {
        if isReady { inflateEnd(stream) }
        stream.deallocate()
    }

    /// Whether the body may end here: after a complete stream, or before the first byte.
    var isAtEnd: Bool {
        switch place {
        case .before(let bytes): bytes.isEmpty
        case .inside: false
        case .behind, .behindBare: true
        }
    }

    /// Decodes bytes.
    /// - Parameters:
    ///   - room: The buffer for decoded bytes.
    ///   - take: Receives each piece, and returns whether to continue.
    /// - Returns: Whether all pieces were accepted.
    /// - Throws: ``Fault``.
    func decode(
        _ bytes: UnsafeRawBufferPointer,
        in room: UnsafeMutableRawBufferPointer,
        _ take: (UnsafeRawBufferPointer) -> Bool
    ) throws(Fault) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            switch place {
            case .before(let start):
                let head = start + rest.prefix((coding == .gzip ? 1 : 2) - start.count)
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(head.count - start.count))
                guard coding == .gzip || head.count == 2 else {
                    place = .before(head)
                    return true
                }
                try begin(head)
                let isTaken = try head.withUnsafeBufferPointer { head throws(Fault) in
                    try decode(UnsafeRawBufferPointer(head), in: room, take)
                }
                guard isTaken else { return false }
            case .inside:
                let (left, isTaken) = try inflate(rest, in: room, take)
                guard isTaken else { return false }
                rest = left
            case .behind:
                // Zeros pad to whole blocks; gzip itself skips them.
                guard coding == .gzip else { throw .goesOn }
                guard let start = rest.firstIndex(where: { $0 != 0 }) else { return true }
                rest = UnsafeRawBufferPointer(rebasing: rest[start...])
                _ = inflateReset(stream)
                isFirst = false
                place = .inside
            case .behindBare(let left):
                guard rest.count <= left else { throw .goesOn }
                place = .behindBare(left - rest.count)
                return true
            }
        }
        return true
    }

    /// - Parameter head: The stream's first bytes.
    private func begin(_ head: [UInt8]) throws(Fault) {
        // RFC 1950 section 2.2: the method is 8, and the number that both bytes form is a multiple of 31.
        isBare = coding == .deflate && (head[0] & 15 != 8 || (Int(head[0]) << 8 + Int(head[1])) % 31 != 0)
        // zlib's values for the formats: 15 is the largest window, 32 more enables detection of zlib and gzip, negative means
        // no header.
        let status = chttpdnszlib_inflate_init(stream, coding == .gzip ? 15 + 32 : isBare ? -15 : 15)
        guard status == Z_OK else { throw .broken("there is no memory for it") }
        isReady = true
        place = .inside
    }

    /// - Returns: The bytes left after the end of a stream, and whether all of its output was accepted.
    private func inflate(
        _ bytes: UnsafeRawBufferPointer,
        in room: UnsafeMutableRawBufferPointer,
        _ take: (UnsafeRawBufferPointer) -> Bool
    ) throws(Fault) -> (left: UnsafeRawBufferPointer, isTaken: Bool) {
        stream.pointee.next_in = bytes.bindMemory(to: UInt8.self).baseAddress
        stream.pointee.avail_in = UInt32(bytes.count)
        // Neither pointer may outlive the call.
        defer { (stream.pointee.next_in, stream.pointee.next_out) = (nil, nil) }
        while true {
            stream.pointee.next_out = room.bindMemory(to: UInt8.self).baseAddress
            stream.pointee.avail_out = UInt32(room.count)
            let status = CHTTPDNSZlib.inflate(stream, Z_NO_FLUSH)
            let made = room.count - Int(stream.pointee.avail_out)
            let left = UnsafeRawBufferPointer(rebasing: bytes.suffix(Int(stream.pointee.avail_in)))
            guard made == 0 || take(UnsafeRawBufferPointer(rebasing: room.prefix(made))) else { return (left, false) }
            switch status {
            case Z_STREAM_END:
                place = isBare ? .behindBare(4) : .behind
                return (left, true)
            case Z_OK, Z_BUF_ERROR:
                // A full buffer may mean that more output is pending.
                if left.isEmpty, made < room.count { return (left, true) }
            default:
                if !isFirst, stream.pointee.total_out == 0 { throw .goesOn }
                throw .broken(stream.pointee.msg.map { String(cString: $0) } ?? "zlib failed with \(status)")
            }
        }
    }
}
