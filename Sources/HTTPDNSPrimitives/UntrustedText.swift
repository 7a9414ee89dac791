// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The conversion of text from the network for a one-line message.
package enum UntrustedText {
    /// Returns the text with everything but printable ASCII replaced by `?`, cut to `limit` characters.
    package static func excerpt(_ text: String, limit: Int = 80) -> String {
        var octets: [UInt8] = []
        for scalar in text.unicodeScalars {
            guard octets.count < limit else { return String(decoding: octets, as: UTF8.self) + "..." }
            octets.append((0x20...0x7e).contains(scalar.value) ? UInt8(scalar.value) : UInt8(ascii: "?"))
        }
        return String(decoding: octets, as: UTF8.self)
    }
}
