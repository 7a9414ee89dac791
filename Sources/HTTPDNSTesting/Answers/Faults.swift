// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSPrimitives

extension HTTPDNSStubs.Answer {
    /// Returns an answer that fails a share of the requests, and answers the others as this one does.
    ///
    /// The n-th use of the answer always has the same outcome for the same seed. Copies of the answer count their uses
    /// together.
    /// - Parameters:
    ///   - percent: The share of the requests, from 0 (none) to 100 (all). Other numbers are moved to the nearer limit.
    ///   - seed: The seed of the pseudorandom numbers.
    ///   - error: The error, which reaches the caller as ``error(_:)`` says.
    public func failing(percent: Double, seed: UInt64, with error: some Error) -> HTTPDNSStubs.Answer {
        let faults = FaultSequence(percent: percent, seed: seed)
        return changed(", failing \(percent) %") { use, respond in
            if faults.next() { throw error }
            return try await respond(use)
        }
    }
}

/// A sequence of pseudorandom decisions (SplitMix64, Steele, Lea and Flood 2014).
final class FaultSequence: Sendable {
    private let limit: Double
    private let state: Lock<UInt64>

    init(percent: Double, seed: UInt64) {
        limit = percent / 100
        state = Lock(seed)
    }

    /// Returns whether the next use fails.
    func next() -> Bool {
        let number = state.withLock { state in
            state &+= 0x9e37_79b9_7f4a_7c15
            return state
        }
        var mixed = (number ^ number >> 30) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
        mixed ^= mixed >> 31
        // The upper 53 bits are a fraction below 1.
        return Double(mixed >> 11) / Double(1 << 53 as Int64) < limit
    }
}
