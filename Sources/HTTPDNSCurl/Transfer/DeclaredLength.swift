// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The length that a response head declares for its body, once or several times. A recipient with another reading finds the
/// next response on the connection at another offset.
///
/// libcurl quirk: Lengths are read like strtol (7.88.1). libcurl reads a `Content-Length` of `12abc` as 12, and of two fields
/// the last. Both are errors (RFC 9110 section 8.6, RFC 9112 section 6.3). Tests: TransportConnectionTests.
struct DeclaredLength {
    enum Violation {
        case notDecimal, differs, tooLarge

        var message: String {
            switch self {
            case .notDecimal: "the response has a Content-Length that is no decimal number (RFC 9110 section 8.6)"
            case .differs: "the response declares two lengths that differ"
            case .tooLarge:
                "the response declares a length above \(Int64.max) bytes, which no body has (RFC 9112 section 6.3)"
            }
        }
    }

    /// The length, at most `Int64.max`; `nil` when there is none.
    private(set) var length: UInt64?

    /// Reads a line of the head, including its end.
    /// - Returns: The rule that the line breaks; `nil` when it breaks none, or is another field.
    mutating func read(_ line: UnsafeRawBufferPointer) -> Violation? {
        guard let value = line.value(of: DeclaredLength.name) else { return nil }
        var member = Member()
        for byte in value {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                guard !member.isClosed else { return .notDecimal }
                // libcurl ignores a larger number, and would take a body that is cut off for the whole.
                let (tenfold, isTooLarge) = (member.number ?? 0).multipliedReportingOverflow(by: 10)
                let (number, overflow) = tenfold.addingReportingOverflow(UInt64(byte - UInt8(ascii: "0")))
                guard !isTooLarge, !overflow, number <= Int64.max else { return .tooLarge }
                member.number = number
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"):
                member.isClosed = member.number != nil
            case UInt8(ascii: ","), UInt8(ascii: "\n"):
                guard let number = member.number else { return .notDecimal }
                if let length, length != number { return .differs }
                length = number
                member = Member()
            default:
                return .notDecimal
            }
        }
        return nil
    }

    /// A number between two commas, as far as it has been read.
    private struct Member {
        var number: UInt64?
        /// Whether white space follows the number.
        var isClosed = false
    }

    private static let name: StaticString = "content-length:"
}
