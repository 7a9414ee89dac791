// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// Bytes as pairs of hexadecimal digits, the vendors' form of keys, signatures and cipher texts.
package enum Hexadecimal {
    /// Returns the digits, in lower case.
    package static func text(_ octets: some Sequence<UInt8>) -> String { Array(octets).hexadecimal }

    /// Returns the bytes of `text`, in either case; `nil` for an odd number of digits and for any other character.
    package static func octets(_ text: some StringProtocol) -> [UInt8]? {
        var octets: [UInt8] = []
        var upper: UInt8?
        for character in text.utf8 {
            guard let value = value(of: character) else { return nil }
            if let high = upper {
                octets.append(high << 4 | value)
                upper = nil
            } else {
                upper = value
            }
        }
        return upper == nil ? octets : nil
    }

    private static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

/// Unpredictable bytes for nonces and initialization vectors.
package enum RandomOctets {
    /// Returns the given number of bytes from the system.
    package static let system: @Sendable (Int) -> [UInt8] = { count in
        (0..<count).map { _ in UInt8.random(in: .min ... .max) }
    }
}
