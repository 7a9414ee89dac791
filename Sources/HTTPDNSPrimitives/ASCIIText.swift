// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

extension UInt8 {
    /// The letter in lower case, and every other byte unchanged.
    package var lowercasedASCII: UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
    }

    package var isDigit: Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= self }

    package var isLetter: Bool { UInt8(ascii: "a")...UInt8(ascii: "z") ~= self | 0x20 }

    /// Whether it is a letter, a digit, or one of the bytes of a text.
    package func isLetterOrDigit(or others: String = "") -> Bool {
        isLetter || isDigit || others.utf8.contains(self)
    }
}

extension StringProtocol {
    /// The text with ASCII letters in lower case.
    package var lowercasedASCII: String { String(decoding: utf8.map(\.lowercasedASCII), as: UTF8.self) }

    /// The text without spaces and tabs at its ends.
    package var trimmed: String { String(decoding: Array(utf8).trimmed, as: UTF8.self) }
}

extension BidirectionalCollection<UInt8> {
    /// The bytes without spaces and tabs at their ends.
    package var trimmed: SubSequence { trimmedBytes }

    fileprivate var trimmedBytes: SubSequence {
        func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        let start = drop(while: isBlank)
        guard let last = start.lastIndex(where: { !isBlank($0) }) else { return self[endIndex...] }
        return start[...last]
    }
}

extension Slice<UnsafeBufferPointer<UInt8>> {
    /// The same for the lines of a response head: generic code of another module is not specialized.
    package var trimmed: Self { trimmedBytes }
}

extension FixedWidthInteger {
    /// Creates the number that consists of digits alone. A sign is no digit, and the initializers of Swift accept one.
    package init?(digits text: some StringProtocol, radix: Int = 10) {
        guard let first = text.utf8.first, first != UInt8(ascii: "+"), first != UInt8(ascii: "-") else { return nil }
        self.init(text, radix: radix)
    }
}
