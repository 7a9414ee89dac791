/// The hash of a name, computed once when the name is parsed: its high bits select the shard, its low bits the position.
///
/// It folds eight bytes at a time with a 64 x 64 multiplication. Its keys are random in each process, so that an attacker who
/// chooses names cannot choose their positions.
enum NameHash {
    private static let start = UInt64.random(in: .min ... .max)
    private static let multiplier = UInt64.random(in: .min ... .max) | 1

    /// Returns the hash of a name together with the other parts of a key.
    static func hash(_ name: HTTPDNSName, salt: UInt64) -> UInt64 {
        salt == 0 ? name.nameHash : fold(name.nameHash ^ salt, multiplier)
    }

    static func hash(_ bytes: UnsafeBufferPointer<UInt8>) -> UInt64 {
        let multiplier = multiplier
        let start = start
        var state = start ^ UInt64(truncatingIfNeeded: bytes.count)
        let raw = UnsafeRawBufferPointer(bytes)
        var offset = 0
        while offset + 8 <= raw.count {
            state = fold(state ^ raw.loadUnaligned(fromByteOffset: offset, as: UInt64.self), multiplier)
            offset += 8
        }
        var tail: UInt64 = 0
        while offset < raw.count {
            tail = tail << 8 | UInt64(raw[offset])
            offset += 1
        }
        state = fold(state ^ tail, multiplier)
        return fold(state, multiplier ^ start)
    }

    private static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}
