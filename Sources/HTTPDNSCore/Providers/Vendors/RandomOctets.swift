/// Octets that nobody can guess, for nonces and the vectors of ciphers.
package enum RandomOctets {
    /// So many of them, from the system.
    package static let system: @Sendable (Int) -> [UInt8] = { count in
        (0..<count).map { _ in UInt8.random(in: .min ... .max) }
    }
}
