// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import HTTPDNSPrimitives

/// Untrusted text in a form that is safe for a terminal: a server must not move the cursor, and an error has one line.
enum PrintableText {
    static func line(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        return text.unicodeScalars.reduce(into: "") { line, scalar in
            switch scalar {
            case "\n": line += "\\n"
            case "\r": line += "\\r"
            case "\t": line += "\\t"
            case let scalar where isControl(scalar): line += "\\u{\(String(scalar.value, radix: 16))}"
            default: line.unicodeScalars.append(scalar)
            }
        }
    }

    /// Returns whether a scalar is C0, DEL, C1, or a mark that changes the reading direction or breaks lines.
    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7f..<0xa0, 0x2028...0x2029, 0x202a...0x202e, 0x2066...0x2069: true
        default: false
        }
    }
}

/// Arguments quoted for a POSIX shell, for printed commands that are meant to be pasted.
enum ShellText {
    static func quoted(_ argument: String) -> String {
        let plain = !argument.isEmpty && argument.utf8.allSatisfy(isPlain)
        return plain ? argument : alwaysQuoted(argument)
    }

    static func alwaysQuoted(_ argument: String) -> String {
        "'" + argument.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }

    private static func isPlain(_ byte: UInt8) -> Bool { byte.isLetterOrDigit(or: "_-.:/,@+%=") }
}
#endif
