// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

extension [UInt8] {
    /// Creates the bytes of a text of hexadecimal digits, as tools print a message.
    package init(hexadecimal text: String) {
        let digits = Array<UInt8>(text.utf8)
        self = stride(from: 0, to: digits.count, by: 2).compactMap {
            UInt8(String(decoding: digits[$0..<($0 + 2)], as: UTF8.self), radix: 16)
        }
    }
}
