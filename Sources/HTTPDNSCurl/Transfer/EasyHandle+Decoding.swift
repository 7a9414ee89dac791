// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl

// Content codings. gzip and deflate are always decoded here (LibcurlQuirks.md: truncated bodies pass).
extension EasyHandle {
    /// Sets whether content codings are requested, and by libcurl's choice decoded.
    func setRequestsCodings(_ requests: Bool) {
        requestsCodings = requests
        guard requests else { return set(CURLOPT_ACCEPT_ENCODING, nil) }
        if loop.configuration.decodesByThePiece { return set(CURLOPT_ACCEPT_ENCODING, "") }
        set(CURLOPT_ACCEPT_ENCODING, "deflate, gzip")
        set(CURLOPT_HTTP_CONTENT_DECODING, 0)
    }

    /// Begins decoding after the head. From here on libcurl ignores a coding that is decoded here (LibcurlQuirks.md: decoding is
    /// decided per piece).
    func beginDecoding() {
        guard transfer?.request.decodes == true, let coding = declaredCoding.inflated else { return }
        if loop.configuration.decodesByThePiece { set(CURLOPT_HTTP_CONTENT_DECODING, 0) }
        inflater = Inflater(coding)
    }

    /// Resets decoding before the handle's next transfer.
    func endDecoding() {
        declaredCoding = DeclaredCoding()
        guard inflater != nil else { return }
        inflater = nil
        if loop.configuration.decodesByThePiece { set(CURLOPT_HTTP_CONTENT_DECODING, 1) }
    }

    /// Decodes bytes of the body.
    /// - Returns: Whether that succeeded, and more may follow.
    func decode(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let inflater else {
            guard declaredCoding.isUnknown, !loop.configuration.decodesByThePiece, transfer?.request.decodes == true
            else { return takeBody(bytes) }
            failure = EasyHandle.undecodable(
                "the response has another content coding than gzip or deflate, or several; libcurl \(CurlLibrary.version) "
                    + "takes off no others here, and none was asked for"
            )
            return false
        }
        do {
            return try inflater.decode(bytes, in: loop.decodingRoom.bytes) { takeBody($0) }
        } catch {
            failure =
                switch error {
                case .broken(let words):
                    EasyHandle.undecodable("the answer's content coding cannot be taken off: \(words)")
                case .goesOn: EasyHandle.undecodable(EasyHandle.goesOn)
                }
            return false
        }
    }

    /// Whether decoding has made the body so much longer that it seems intended to exhaust memory or disk.
    var isDecodingTooMuch: Bool {
        guard declaredCoding.isDeclared, maximumBodyBytes == .max, bodyBytes > TransferLimits.uncheckedDecodedBytes,
            transfer?.request.decodes == true
        else { return false }
        let (received, overflow) = receivedBodyBytes.multipliedReportingOverflow(
            by: TransferLimits.maximumDecodingRatio
        )
        return !overflow && bodyBytes > received
    }

    static let decodesTooLong = TransferFailure(
        code: .responseTooLarge,
        phase: .body,
        message: "the decoded body is over \(TransferLimits.maximumDecodingRatio) times as long as what the server sent"
    )

    /// The failure of a body that has ended in the middle of its coding.
    var cutShort: TransferFailure? {
        guard inflater?.isAtEnd == false else { return nil }
        return EasyHandle.undecodable("the answer ends in the middle of its content coding")
    }

    /// The message for data after the end of the coding, which libcurl also treats as an error.
    static let goesOn = "the answer goes on behind the end of its content coding"

    private static func undecodable(_ message: String) -> TransferFailure {
        TransferFailure(code: .undecodable, phase: .body, message: message)
    }
}

/// The content codings that a head declares, as far as this module decodes them.
struct DeclaredCoding {
    private enum Content {
        case none
        case one(Inflater.Coding)
        /// Codings that only libcurl knows, or several codings.
        case others
    }

    private var content = Content.none

    /// Whether the body has a coding that ``Inflater`` does not know, or several.
    var isUnknown: Bool {
        if case .others = content { true } else { false }
    }

    /// The single coding that this module decodes; `nil` for none, for one of libcurl's, and for several.
    var inflated: Inflater.Coding? {
        if case .one(let coding) = content { coding } else { nil }
    }

    /// Whether the head declares any coding.
    var isDeclared: Bool { if case .none = content { false } else { true } }

    /// Reads a line of the head, including its end.
    mutating func read(_ line: UnsafeRawBufferPointer) {
        guard let value = line.value(of: DeclaredCoding.name) else { return }
        guard case .none = content else { return content = .others }
        let text = value.drop { $0 <= 0x20 }.prefix { $0 > 0x20 && $0 != UInt8(ascii: ",") }
        let isAlone = value[text.endIndex...].allSatisfy { $0 <= 0x20 }
        switch isAlone ? String(decoding: text, as: UTF8.self).lowercased() : "" {
        case "gzip", "x-gzip": content = .one(.gzip)
        case "deflate": content = .one(.deflate)
        case "identity": break
        default: content = .others
        }
    }

    private static let name: StaticString = "content-encoding:"
}

/// The length that a response head declares for its body, once or several times.
///
/// libcurl reads a `Content-Length` as `strtol` reads a number: `12abc` and `+12` are 12, `0xC` is 0. Of two fields it uses the
/// last. Both are errors (RFC 9110 section 8.6, RFC 9112 section 6.3): a recipient with another reading finds the next response
/// on the connection at another offset.
struct DeclaredLength {
    enum Violation {
        case notDecimal, differs
    }

    /// The length; `nil` when there is none. A larger number becomes the largest `UInt64`, which no response reaches.
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
                // libcurl does not accept an overflowing number as a length.
                let (tenfold, isTooLarge) = (member.number ?? 0).multipliedReportingOverflow(by: 10)
                let (number, overflow) = tenfold.addingReportingOverflow(UInt64(byte - UInt8(ascii: "0")))
                member.number = isTooLarge || overflow ? .max : number
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

/// The buffer for a loop's decoded bodies: at most one chunk, which is copied out before the next one.
final class DecodeBuffer {
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: EasyHandle.maximumChunk, alignment: 16)

    deinit { bytes.deallocate() }
}
