// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// Unpredictable bytes for nonces and initialization vectors.
package enum RandomOctets {
    /// Returns the given number of bytes from the system.
    package static let system: @Sendable (Int) -> [UInt8] = { count in
        (0..<count).map { _ in UInt8.random(in: .min ... .max) }
    }
}
