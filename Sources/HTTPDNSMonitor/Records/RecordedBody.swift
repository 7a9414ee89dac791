// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSPrimitives

extension HTTPDNSTrafficMonitor {
    /// The stored start of a body.
    public struct Body: Hashable, Sendable, Codable {
        /// The `Content-Type`; nil without one.
        public var mediaType: String?
        /// The bytes of the whole body; nil when they are not known.
        public var length: Int64?
        /// The redacted text; nil for a binary body, and for one that is withheld.
        public var text: String?
        /// The bytes of a binary body in base64; nil for a text, and for a body that is withheld. Secrets in them stay, but for
        /// those in the text parts of a multipart form.
        public var base64: String?
        /// Whether the stored bytes are only the start of the body.
        public var isTruncated: Bool
        /// The reason why nothing of the body is stored; nil for a stored body.
        public var withheld: WithheldReason?
    }

    /// The reason why a body is not stored.
    public struct WithheldReason: Hashable, Sendable, Codable, CustomStringConvertible {
        /// A short text from a bounded set.
        public let description: String

        /// The call fulfills ``HTTPDNSTrafficMonitor/Settings/withholdsBodies``.
        public static let rule = WithheldReason(description: "rule")
        /// The bytes are in a content coding, so secrets in them cannot be found.
        public static let coded = WithheldReason(description: "coded")
        /// The bytes of a text are not valid in its charset, so secrets in them cannot be found.
        public static let invalidText = WithheldReason(description: "invalid-text")
        /// An interceptor has replaced the body by a stream or a file.
        public static let notInMemory = WithheldReason(description: "not-in-memory")
        /// A part of the multipart form has the name of a secret, or cannot be searched for secrets.
        public static let secretPart = WithheldReason(description: "secret-part")

        private init(description: String) { self.description = description }

        /// Creates a reason from its text.
        public init(from decoder: any Decoder) throws {
            description = try decoder.singleValueContainer().decode(String.self)
        }

        /// Writes the text.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(description)
        }
    }
}

/// The start of a body on its way to a record: text or binary.
struct BodyText: Sendable {
    /// The stored bytes.
    let start: [UInt8]
    /// The bytes of the whole body; nil when they are not known.
    let length: Int64?
    let mediaType: String?
    /// Whether the bytes are in a content coding.
    let isCoded: Bool

    /// Whether there are more bytes than ``start``.
    private var isTruncated: Bool { length.map { $0 > Int64(start.count) } ?? true }

    /// - Parameter isWithheld: Whether a rule withholds the body.
    func body(isWithheld: Bool, _ redaction: HTTPDNSClient.Redaction) -> HTTPDNSTrafficMonitor.Body {
        var body = HTTPDNSTrafficMonitor.Body(
            mediaType: mediaType.map(redaction.text),
            length: length,
            isTruncated: isTruncated
        )
        if isWithheld {
            body.withheld = .rule
        } else if isCoded {
            body.withheld = .coded
        } else if essence.hasPrefix("multipart/") {
            let parts = redaction.multipart(start, isTruncated: isTruncated)
            body.text = parts.flatMap { UTF8Text.plain(isTruncated ? UTF8Text.wholeCharacters($0) : $0[...]) }
            if body.text == nil { body.base64 = parts.map(Base64.text) }
            if parts == nil { body.withheld = .secretPart }
        } else if let text {
            body.text = redaction.body(text, mediaType: essence)
        } else if UTF8Text.isDeclared(by: essence) {
            body.withheld = .invalidText
        } else {
            body.base64 = Base64.text(start)
        }
        return body
    }

    /// The media type in lower case, without its parameters.
    private var essence: String {
        let essence = mediaType?.split(separator: ";").first ?? ""
        return essence.lowercased().filter { $0 != " " }
    }

    /// The charset in lower case; nil when the media type has none.
    private var charset: String? {
        for parameter in (mediaType ?? "").split(separator: ";").dropFirst() {
            let pair = parameter.split(separator: "=", maxSplits: 1)
            guard pair.count == 2, pair[0].lowercased().filter({ $0 != " " }) == "charset" else { continue }
            return pair[1].lowercased().filter { $0 != "\"" && $0 != " " }
        }
        return nil
    }

    /// The bytes as text; nil for binary bytes.
    private var text: String? {
        switch charset {
        case "iso-8859-1", "latin1", "windows-1252":
            return plain(String(String.UnicodeScalarView(start.map { Unicode.Scalar($0) })))
        case "utf-16", "utf-16be", "utf-16le":
            return plain(utf16Text)
        default:
            return UTF8Text.plain(isTruncated ? UTF8Text.wholeCharacters(start) : start[...])
        }
    }

    /// Returns nil for a text with control characters that no text has.
    private func plain(_ text: String?) -> String? { text.flatMap { UTF8Text.isPlain($0) ? $0 : nil } }

    private var utf16Text: String? {
        var bytes = start[...]
        var isBigEndian = charset != "utf-16le"
        if bytes.starts(with: [0xff, 0xfe]) || bytes.starts(with: [0xfe, 0xff]) {
            isBigEndian = bytes.first == 0xfe
            bytes = bytes.dropFirst(2)
        }
        var units: [UInt16] = []
        while bytes.count >= 2, let first = bytes.popFirst(), let second = bytes.popFirst() {
            units.append(isBigEndian ? UInt16(first) << 8 | UInt16(second) : UInt16(second) << 8 | UInt16(first))
        }
        if isTruncated, let last = units.last, UTF16.isLeadSurrogate(last) { units.removeLast() }
        return String(validating: units, as: UTF16.self)
    }
}
