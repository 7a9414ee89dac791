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
