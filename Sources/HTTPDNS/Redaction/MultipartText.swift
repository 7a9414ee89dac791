// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The parts of a multipart body (RFC 2046 section 5.1), perhaps without its end. Its bytes are those of the preamble and the
/// parts, one after the other.
struct MultipartText {
    struct Part {
        /// The line between two parts, with the end of the line before it.
        let delimiter: ArraySlice<UInt8>
        /// The header fields, with the empty line behind them.
        let head: ArraySlice<UInt8>
        let content: ArraySlice<UInt8>
        let mediaType: String
        /// The name of a form field; nil without one.
        let name: String?
        /// Whether the content is in a coding.
        let isCoded: Bool
        /// Whether the content is declared as a text.
        let isText: Bool
    }

    let preamble: ArraySlice<UInt8>
    let parts: [Part]

    /// - Returns: Nil for bytes without a line that begins with two hyphens, which a first part has.
    init?(_ bytes: [UInt8]) {
        var starts: [Int] = []
        var delimiter: ArraySlice<UInt8> = []
        var line = 0
        while line < bytes.count {
            let end = bytes[line...].firstIndex(of: 0x0a) ?? bytes.count
            if delimiter.isEmpty, bytes[line..<end].starts(with: Self.hyphens) {
                delimiter = Self.trimmed(bytes[line..<end])
                guard delimiter.count > 2, delimiter.count <= 200 else { return nil }
            }
            if !delimiter.isEmpty, bytes[line..<end].starts(with: delimiter) { starts.append(line) }
            line = end + 1
        }
        guard let first = starts.first else { return nil }
        preamble = bytes[..<first]
        parts = starts.indices.map { number in
            // The end of the line before a delimiter belongs to it.
            let next = number + 1 < starts.count ? Self.lineEnd(bytes, before: starts[number + 1]) : bytes.count
            let start = number == 0 ? first : Self.lineEnd(bytes, before: starts[number])
            return Self.part(bytes, start, line: starts[number], next)
        }
    }

    private static let hyphens = [UInt8](repeating: UInt8(ascii: "-"), count: 2)

    private static func part(_ bytes: [UInt8], _ start: Int, line: Int, _ end: Int) -> Part {
        let head = min(end, (bytes[line...].firstIndex(of: 0x0a) ?? bytes.count - 1) + 1)
        var (content, fields) = (head, [String: String]())
        while content < end {
            let next = min(end, (bytes[content...].firstIndex(of: 0x0a) ?? bytes.count - 1) + 1)
            let text = trimmed(bytes[content..<next])
            content = next
            guard !text.isEmpty else { break }
            guard let colon = text.firstIndex(of: UInt8(ascii: ":")) else { continue }
            let name = String(decoding: text[..<colon], as: UTF8.self).lowercased().filter { $0 != " " }
            fields[name] = String(decoding: text[(colon + 1)...], as: UTF8.self)
        }
        let type = fields["content-type"].map { $0.prefix { $0 != ";" }.lowercased().filter { $0 != " " } } ?? ""
        let disposition = fields["content-disposition"] ?? ""
        let transfer = fields["content-transfer-encoding"]?.lowercased().filter { $0 != " " } ?? "binary"
        return Part(
            delimiter: bytes[start..<head],
            head: bytes[head..<content],
            content: bytes[content..<end],
            mediaType: type,
            name: name(in: disposition),
            isCoded: fields["content-encoding"] != nil || !["7bit", "8bit", "binary"].contains(transfer),
            isText: type.isEmpty ? !disposition.contains("filename") : UTF8Text.isDeclared(by: type)
        )
    }

    private static func name(in disposition: String) -> String? {
        for parameter in disposition.split(separator: ";").dropFirst() {
            let pair = parameter.split(separator: "=", maxSplits: 1)
            guard pair.count == 2, pair[0].lowercased().filter({ $0 != " " && $0 != "*" }) == "name" else { continue }
            return String(pair[1])
        }
        return nil
    }

    /// Returns the index of the end of the line before a line.
    private static func lineEnd(_ bytes: [UInt8], before line: Int) -> Int {
        guard line > 0 else { return line }
        return line > 1 && bytes[line - 2] == 0x0d ? line - 2 : line - 1
    }

    private static func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        line.lastIndex { $0 > 0x20 }.map { line[line.startIndex...$0] } ?? []
    }
}
