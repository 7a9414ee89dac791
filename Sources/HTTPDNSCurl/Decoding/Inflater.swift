// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSZlib

/// A decompressor based on zlib, for gzip (RFC 1952) and deflate (RFC 1950, or bare RFC 1951).
///
/// gzip may have several members (RFC 1952 section 2.2) and zeros after the last one, which pad to whole blocks; gzip itself
/// skips them too.
final class Inflater: CodingDecoder {
    /// A content coding that zlib decodes.
    enum Coding {
        case gzip, deflate
    }

    private enum State {
        /// Before the stream. For deflate two bytes are gathered: they show whether there is a zlib header.
        case before([UInt8])
        /// In the stream. The bytes were gathered before it, and are decoded first.
        case inside([UInt8])
        /// After a stream.
        case behind
        /// After a stream without a zlib header. Some servers send zlib's trailer nevertheless, of which this many bytes may
        /// remain.
        case behindBare(Int)
    }

    private let coding: Coding
    // zlib's state contains the address of this structure.
    private let stream: UnsafeMutablePointer<z_stream>
    private var isReady = false
    private var isBare = false
    private var isFirst = true
    private var state = State.before([])

    init(_ coding: Coding) {
        self.coding = coding
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
    }

    deinit {
        if isReady { inflateEnd(stream) }
        stream.deallocate()
    }

    var isAtEnd: Bool {
        switch state {
        case .before, .inside: false
        case .behind, .behindBare: true
        }
    }

    func decode(
        _ input: inout UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) throws(DecodingFault) -> Int {
        var made = 0
        while true {
            switch state {
            case .before(var start):
                guard let first = input.first else { return made }
                start.append(first)
                input = UnsafeRawBufferPointer(rebasing: input.dropFirst())
                if coding == .deflate, start.count < 2 { state = .before(start) } else { try begin(start) }
            case .inside(let start):
                guard made < output.count else { return made }
                let rest = UnsafeMutableRawBufferPointer(rebasing: output[made...])
                guard start.isEmpty else {
                    let (count, used) = try start.withUnsafeBufferPointer { start throws(DecodingFault) in
                        var left = UnsafeRawBufferPointer(start)
                        return (try inflate(&left, into: rest), start.count - left.count)
                    }
                    made += count
                    // No stream ends in the bytes before the last one: its shortest end takes both.
                    if case .inside = state { state = .inside(Array(start.dropFirst(used))) }
                    continue
                }
                made += try inflate(&input, into: rest)
                if case .inside = state, input.isEmpty || made == output.count { return made }
            case .behind:
                guard !input.isEmpty else { return made }
                guard coding == .gzip else { throw .continuesAfterEnd }
                input = UnsafeRawBufferPointer(rebasing: input.drop { $0 == 0 })
                guard !input.isEmpty else { return made }
                _ = inflateReset(stream)
                isFirst = false
                state = .inside([])
            case .behindBare(let left):
                guard input.count <= left else { throw .continuesAfterEnd }
                state = .behindBare(left - input.count)
                input = UnsafeRawBufferPointer(rebasing: input.suffix(0))
                return made
            }
        }
    }

    /// - Parameter start: The stream's first bytes.
    private func begin(_ start: [UInt8]) throws(DecodingFault) {
        // RFC 1950 section 2.2: the method is 8, and the number that both bytes form is a multiple of 31.
        isBare = coding == .deflate && (start[0] & 15 != 8 || (Int(start[0]) << 8 + Int(start[1])) % 31 != 0)
        // zlib's values for the formats: 15 is the largest window, 32 more enables detection of zlib and gzip, negative means
        // no header.
        let status = chttpdnszlib_inflate_init(stream, coding == .gzip ? 15 + 32 : isBare ? -15 : 15)
        guard status == Z_OK else { throw .noMemory }
        isReady = true
        state = .inside(start)
    }

    /// Removes the bytes from `input` that zlib has read, all of them unless the output is full or the stream ends.
    /// - Returns: The number of bytes in the output.
    private func inflate(
        _ input: inout UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) throws(DecodingFault) -> Int {
        // zlib counts in 32 bits; the caller continues with the rest.
        let given = input.prefix(Int(Int32.max))
        stream.pointee.next_in = UnsafeMutablePointer(mutating: input.bindMemory(to: UInt8.self).baseAddress)
        stream.pointee.avail_in = UInt32(given.count)
        stream.pointee.next_out = output.bindMemory(to: UInt8.self).baseAddress
        stream.pointee.avail_out = UInt32(output.count)
        // Neither pointer may outlive the call.
        defer { (stream.pointee.next_in, stream.pointee.next_out) = (nil, nil) }
        let status = CHTTPDNSZlib.inflate(stream, Z_NO_FLUSH)
        input = UnsafeRawBufferPointer(rebasing: input.dropFirst(given.count - Int(stream.pointee.avail_in)))
        let made = output.count - Int(stream.pointee.avail_out)
        switch status {
        case Z_STREAM_END:
            state = isBare ? .behindBare(4) : .behind
        case Z_OK, Z_BUF_ERROR:
            break
        default:
            if !isFirst, stream.pointee.total_out == 0 { throw .continuesAfterEnd }
            throw .corrupt(stream.pointee.msg.map { String(cString: $0) } ?? "zlib failed with \(status)")
        }
        return made
    }
}
