// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

extension String {
    /// Returns the text in a form that is safe between quotation marks in an error, a log or a terminal.
    ///
    /// Control characters, line separators, direction marks, backslash and quotation mark are escaped, and text beyond `limit`
    /// characters is cut.
    package func escaped(limit: Int) -> String {
        if utf8.count <= limit, utf8.allSatisfy(String.isPlain) { return self }
        return shown(limit: limit) { $0.displayText }
    }

    /// Returns a message on one line, as ``escaped(limit:)`` but with its backslashes and quotation marks unchanged.
    ///
    /// So a message that passes through it several times is escaped once.
    package func onOneLine(limit: Int) -> String {
        if utf8.count <= limit, utf8.allSatisfy({ (0x20...0x7e).contains($0) }) { return self }
        return shown(limit: limit) { $0 == "\\" || $0 == "\"" ? String($0) : $0.displayText }
    }

    private func shown(limit: Int, _ text: (Unicode.Scalar) -> String) -> String {
        var result = ""
        var count = 0
        for scalar in unicodeScalars {
            guard count < limit else { return result + "..." }
            let piece = text(scalar)
            result += piece
            // Counts scalars and not characters: one character can consist of a thousand combining marks.
            count += piece.unicodeScalars.count
        }
        return result
    }

    /// Returns whether a byte is printable ASCII that needs no escape: nearly all names consist of such bytes.
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "\\"), UInt8(ascii: "\""): false
        case 0x20...0x7e: true
        default: false
        }
    }
}

extension Unicode.Scalar {
    /// The scalar itself, or its escape if it could break a line or change the meaning of one.
    package var displayText: String {
        switch self {
        case "\n": "\\n"
        case "\r": "\\r"
        case "\t": "\\t"
        case "\\": "\\\\"
        case "\"": "\\\""
        default: isHiddenOrControl ? "\\u{\(String(value, radix: 16))}" : String(self)
        }
    }

    private var isHiddenOrControl: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: true
        case .spaceSeparator: self != " "
        default: false
        }
    }
}
