// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// Zeros by brotli (RFC 7932), 16 MiB in 13 bytes: a block has one command, which writes five zeros and copies the rest from four bytes
/// before. Each of its alphabets has one symbol, so that symbols take no bits.
struct BrotliZeros {
    /// The longest block that six nibbles can name.
    static let blockLength = 1 << 24

    private var bytes: [UInt8] = []
    private var bitCount = 0

    static func bytes(blocks: Int) -> [UInt8] {
        var zeros = BrotliZeros()
        // Section 9.1: a window of 16 MiB.
        zeros.write(0b1111, bits: 4)
        for _ in 0..<blocks { zeros.writeBlock() }
        // The last block, and empty.
        zeros.write(0b11, bits: 2)
        return zeros.bytes
    }

    /// Sections 9.2 and 9.3.
    private mutating func writeBlock() {
        // Not the last one; its length in six nibbles; not uncompressed.
        write(0, bits: 1)
        write(2, bits: 2)
        write(BrotliZeros.blockLength - 1, bits: 24)
        write(0, bits: 1)
        // One type of each kind of block, no direct distances, context mode 0, one tree for literals and one for distances.
        write(0, bits: 3)
        write(0, bits: 6)
        write(0, bits: 2)
        write(0, bits: 2)
        // Section 3.4, codes of one symbol: the literal 0; insert 5 and copy by code 23 (section 5); the last distance, 4 at the start.
        writeCode(symbol: 0, bits: 8)
        writeCode(symbol: 384 + (5 << 3) + 7, bits: 10)
        writeCode(symbol: 0, bits: 6)
        // The command's extra bits: copy code 23 begins at 2118.
        write(BrotliZeros.blockLength - 5 - 2118, bits: 24)
    }

    private mutating func writeCode(symbol: Int, bits: Int) {
        write(1, bits: 2)
        write(0, bits: 2)
        write(symbol, bits: bits)
    }

    /// The lowest bit goes first.
    private mutating func write(_ value: Int, bits: Int) {
        for bit in 0..<bits {
            if bitCount % 8 == 0 { bytes.append(0) }
            bytes[bytes.count - 1] |= UInt8(value >> bit & 1) << UInt8(bitCount % 8)
            bitCount += 1
        }
    }
}
