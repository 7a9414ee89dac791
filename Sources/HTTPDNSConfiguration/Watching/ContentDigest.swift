/// A digest that distinguishes contents of a file without keeping them: 128 bits, by a hash with keys of this process.
struct ContentDigest: Hashable, Sendable {
    private let high: Int
    private let low: Int

    init(_ bytes: [UInt8]) {
        func hash(_ salt: UInt8) -> Int {
            var hasher = Hasher()
            hasher.combine(salt)
            bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
            return hasher.finalize()
        }
        high = hash(0)
        low = hash(1)
    }
}
