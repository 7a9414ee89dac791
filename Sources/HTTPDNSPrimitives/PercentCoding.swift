// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// Texts in which `%` and two hexadecimal digits stand for a byte (RFC 3986 section 2.1).
package enum PercentCoding {
    /// Returns the bytes that a text stands for. A percent sign without two digits stays.
    package static func decoded(_ text: some Sequence<UInt8>) -> [UInt8] { decoded(text, isStrict: false) ?? [] }

    /// Returns the bytes that a text stands for; nil for a percent sign without two digits.
    package static func strictlyDecoded(_ text: some Sequence<UInt8>) -> [UInt8]? { decoded(text, isStrict: true) }

    private static func decoded(_ text: some Sequence<UInt8>, isStrict: Bool) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = Array(text)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let high = digit(rest.first), let low = digit(rest.dropFirst().first) {
                bytes.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else if isStrict, byte == UInt8(ascii: "%") {
                return nil
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }

    /// Returns a text that stands for bytes, with digits in upper case.
    /// - Parameter others: The bytes that stay, besides letters and digits.
    package static func encoded(_ bytes: some Sequence<UInt8>, keeping others: String) -> String {
        encoded(bytes) { $0.isLetterOrDigit(or: others) }
    }

    /// Returns a text that stands for bytes, of which some stay.
    package static func encoded(_ bytes: some Sequence<UInt8>, keeping isKept: (UInt8) -> Bool) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(bytes.underestimatedCount)
        for byte in bytes {
            if isKept(byte) {
                text.append(byte)
            } else {
                text += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns the value of a hexadecimal digit; nil for any other byte.
    static func digit(_ byte: UInt8?) -> UInt8? {
        switch byte {
        case .some(let byte) where UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte: byte - UInt8(ascii: "0")
        case .some(let byte) where UInt8(ascii: "a")...UInt8(ascii: "f") ~= byte | 0x20:
            (byte | 0x20) - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
